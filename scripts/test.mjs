// Runs every test: first those that judge how soon something is repaired or cut, with nothing
// beside them, and then the others in lanes at once. In each lane one file comes after the other.
// `tap` alone would run what is serial by itself.
import { spawn, spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tap = join(root, 'node_modules', '.bin', 'tap')
/** What they say depends on what else the machine does. */
const ALONE = ['test/faults/kill.ts', 'test/faults/revocation.ts']
/**
 * Folders and files of each lane; the last one has all that no other has. Each takes about as long.
 * With fewer lanes the processors of a machine with two stand still a third of the time.
 */
const LANES = [
  {
    name: 'browsers, and those that mostly wait',
    places: [
      'test/browser',
      'test/clients/sandbox.ts',
      'test/clients/solana-py.ts',
      'test/faults/relay-once.ts',
      'test/processes/attack.ts',
      'test/processes/backpressure.ts',
      'test/processes/drain.ts',
      'test/processes/pubsub.ts',
      'test/processes/subscription-churn.ts',
      'test/server/websocket/server-socket.ts',
      'test/upstream/client.ts',
      'test/websocket/stopped-readers.ts',
    ],
  },
  {
    name: 'services',
    places: [
      'test/cli',
      'test/edge',
      'test/ingest',
      'test/processes',
      'test/server',
      'test/storage',
      'test/submission',
      'test/upstream',
      'test/websocket',
    ],
  },
  { name: 'faults and clients', places: ['test/clients', 'test/faults', 'test/pubsub'] },
  { name: 'the others', places: ['test'] },
]
/**
 * They build outside readers and clients for minutes, or are nothing but long faults: `npm run
 * soak`.
 */
const SOAK_ONLY = [
  'test/clients/rust.ts',
  'test/clients/snapshots.ts',
  'test/faults/cancel-bootstrap.ts',
  'test/faults/copy-full-disk.ts',
]
const isOf = (places, file) => places.some(place => file === place || file.startsWith(`${place}/`))

const { stdout } = spawnSync(tap, ['list'], { cwd: root, encoding: 'utf8' })
const files = stdout.split('\n').filter(line => line.startsWith('test/') && !isOf(SOAK_ONLY, line))
if (files.length === 0) {
  process.stderr.write('slotline: no tests were found\n')
  process.exit(1)
}

/** The files that took longest are named at the end, this many a lane. */
const SLOWEST_SHOWN = 8
/** What is said of a failure is shown again at the end, this many lines of each. */
const FAILURE_LINES = 40

/**
 * What a lane said, with whether all of its tests passed. It is shown at once, or left to the
 * caller.
 */
const runLane = (name, chosen, isShown) =>
  new Promise(resolve => {
    const started = Date.now()
    const child = spawn(tap, ['run', '--disable-coverage', '--jobs=1', ...chosen], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const keep = chunk => {
      output += chunk
      if (isShown) process.stdout.write(chunk)
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    child.on('close', code => {
      const seconds = Math.round((Date.now() - started) / 1000)
      resolve({ name, count: chosen.length, seconds, output, hasPassed: code === 0 })
    })
  })

/** The failures within TAP: the file, the failed line, and what is said below it. */
const failuresIn = output => {
  const lines = output.split('\n')
  const found = []
  let file = ''
  for (const [at, line] of lines.entries()) {
    file = /^# Subtest: (test\/.*)/.exec(line)?.[1] ?? file
    if (!/^\s*not ok /.test(line)) continue
    const after = lines.slice(at + 1, at + 1 + FAILURE_LINES)
    const end = after.findIndex(text => text.trim() === '...')
    const detail = after[0]?.trim() === '---' ? after.slice(0, end < 0 ? undefined : end) : []
    found.push([`${file}: ${line.trim()}`, ...detail].join('\n'))
  }
  return found
}

/** The files that took longest, in seconds. */
const slowestIn = output =>
  [...output.matchAll(/^(?:not )?ok \d+ - (test\/\S+) # time=([\d.]+)ms/gm)]
    .map(([, file, time]) => ({ file, seconds: Math.round(Number(time) / 1000) }))
    .sort((one, other) => other.seconds - one.seconds)
    .slice(0, SLOWEST_SHOWN)
    .map(({ file, seconds }) => `${file} ${seconds} s`)

/** Each file is of the first that has it. */
const left = new Set(files)
const choose = places => {
  const chosen = Array.from(left).filter(file => isOf(places, file))
  for (const file of chosen) left.delete(file)
  return chosen
}
const lanes = [await runLane('alone', choose(ALONE), true)]
const running = LANES.map(({ name, places }, index) => runLane(name, choose(places), index === 0))
lanes.push(...(await Promise.all(running)))
for (const { output } of lanes.slice(2)) process.stdout.write(output)
for (const { name, count, seconds, output, hasPassed } of lanes) {
  process.stdout.write(
    `# ${name}: ${count} files, ${hasPassed ? 'passed' : 'FAILED'}, ${seconds} s\n`,
  )
  process.stdout.write(`#   longest: ${slowestIn(output).join(', ')}\n`)
}
for (const { output } of lanes)
  for (const failure of failuresIn(output)) process.stdout.write(`${failure}\n`)
process.exitCode = lanes.every(({ hasPassed }) => hasPassed) ? 0 : 1
