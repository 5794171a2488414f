// Runs every test, in two lanes at once. In each, one file comes after the other: in the first those that open sockets
// and start services, in the second those that compute, and those of services that mind no neighbour. `tap` alone would
// run what is serial by itself.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tap = join(root, 'node_modules', '.bin', 'tap')
const { serial } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).tap
/** Browsers, commands and kills: they wait for what comes, and look at no time. */
const PATIENT = [
  'test/browser',
  'test/sandbox',
  'test/access-commands.ts',
  'test/clients',
  'test/dashboard',
  'test/faults/kill-bootstrap.ts',
  'test/faults/kill-indexer.ts',
  'test/native-memory.ts',
  'test/store-commands.ts',
]
/** They build outside readers and clients for minutes: `npm run soak`. */
const SOAK_ONLY = ['test/clients/rust.ts', 'test/clients/snapshots.ts']
const isOf = (places, file) => places.some(place => file === place || file.startsWith(`${place}/`))
const isSerial = file => isOf(serial, file) && !isOf(PATIENT, file)

const { stdout } = spawnSync(tap, ['list'], { cwd: root, encoding: 'utf8' })
const files = stdout.split('\n').filter(line => line.startsWith('test/') && !isOf(SOAK_ONLY, line))
if (files.length === 0) {
  process.stderr.write('slotline: no tests were found\n')
  process.exit(1)
}

/** Answers whether all of its tests passed. What they say is shown at once, or kept until the end. */
const runLane = (name, chosen, isShown) =>
  new Promise(resolve => {
    const started = Date.now()
    const child = spawn(tap, ['run', '--disable-coverage', '--jobs=1', ...chosen], {
      cwd: root,
      stdio: ['ignore', isShown ? 'inherit' : 'pipe', isShown ? 'inherit' : 'pipe'],
    })
    let output = ''
    const keep = chunk => (output += chunk)
    child.stdout?.setEncoding('utf8').on('data', keep)
    child.stderr?.setEncoding('utf8').on('data', keep)
    child.on('close', code => {
      const seconds = Math.round((Date.now() - started) / 1000)
      resolve({ name, count: chosen.length, seconds, output, hasPassed: code === 0 })
    })
  })

const lanes = await Promise.all([
  runLane('services', files.filter(isSerial), true),
  runLane(
    'beside them',
    files.filter(file => !isSerial(file)),
    false,
  ),
])
for (const { output } of lanes) process.stdout.write(output)
for (const { name, count, seconds, hasPassed } of lanes)
  process.stdout.write(
    `# ${name}: ${count} files, ${hasPassed ? 'passed' : 'FAILED'}, ${seconds} s\n`,
  )
process.exitCode = lanes.every(({ hasPassed }) => hasPassed) ? 0 : 1
