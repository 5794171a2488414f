// Runs every test but those of test/soak/, and reports failures and the slowest files at the end.
// The folder of a test says how it runs: those of test/alone/ with nothing beside them, and two
// groups side by side, the folders that mirror src/ and the others, which start the whole service.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tap = join(root, 'node_modules', '.bin', 'tap')
const SLOWEST_SHOWN = 12
/** Lines of a failure that are shown again at the end. */
const FAILURE_LINES = 40
const JOBS_PER_GROUP = 2

const usageDir = mkdtempSync(join(tmpdir(), 'slotline-test-'))
const usageFile = join(usageDir, 'usage')

const folderOf = file => file.split('/').slice(1, -1)[0] ?? ''
const groupOf = file => {
  const folder = folderOf(file)
  if (folder === 'alone' || folder === 'soak') return folder
  return existsSync(join(root, 'src', folder)) ? 'rooms' : 'service'
}

const listTests = () => {
  const { stdout } = spawnSync(tap, ['list'], { cwd: root, encoding: 'utf8' })
  return stdout.split('\n').filter(line => line.startsWith('test/'))
}

const runGroup = (name, files, jobs, isShown) =>
  new Promise(resolve => {
    const started = Date.now()
    const imports = ['tsx/esm', join(root, 'scripts', 'record-usage.mjs')]
    const args = imports.map(module => `--node-arg=--import=${module}`)
    const child = spawn(tap, ['run', '--disable-coverage', `--jobs=${jobs}`, ...args, ...files], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, SLOTLINE_TEST_USAGE: usageFile },
    })
    let output = ''
    const read = chunk => {
      output += chunk
      if (isShown) process.stdout.write(chunk)
    }
    child.stdout.setEncoding('utf8').on('data', read)
    child.stderr.setEncoding('utf8').on('data', read)
    child.on('close', code => {
      const seconds = Math.round((Date.now() - started) / 1000)
      resolve({ name, count: files.length, seconds, output, hasPassed: code === 0 })
    })
  })

/** The failures within TAP: the file, the failed line, and the diagnostics below it. */
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

/** Processor time by file: one that starts others that outlive it counts without them. */
const readUsage = () => {
  if (!existsSync(usageFile)) return new Map()
  const lines = readFileSync(usageFile, 'utf8').trim().split('\n')
  return new Map(lines.map(line => line.split(' ')))
}

const timesOf = output =>
  [...output.matchAll(/^(?:not )?ok \d+ - (test\/\S+) # time=([\d.]+)ms/gm)].map(
    ([, file, time]) => ({ file, seconds: Number(time) / 1000 }),
  )

const writeSlowest = groups => {
  const usage = readUsage()
  const times = groups
    .flatMap(({ output }) => timesOf(output))
    .map(({ file, seconds }) => ({ file, seconds, cpuSeconds: Number(usage.get(file) ?? 0) }))
  const total = times.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
  process.stdout.write(`# ${Math.round(total)} s of processor time; the slowest files:\n`)
  const slowest = times.toSorted((one, other) => other.seconds - one.seconds)
  for (const { file, seconds, cpuSeconds } of slowest.slice(0, SLOWEST_SHOWN))
    process.stdout.write(`#   ${file}: ${seconds.toFixed(1)} s, processor ${cpuSeconds} s\n`)
}

const files = listTests()
const filesOf = group => files.filter(file => groupOf(file) === group)
if (files.length === 0) {
  process.stderr.write('slotline: no tests were found\n')
  process.exit(1)
}
// Without a file tap would run every test.
const run = (name, jobs, isShown) => {
  const chosen = filesOf(name)
  return chosen.length === 0 ? [] : [runGroup(name, chosen, jobs, isShown)]
}
const groups = [
  ...(await Promise.all(run('alone', 1, true))),
  ...(await Promise.all([
    ...run('service', JOBS_PER_GROUP, true),
    ...run('rooms', JOBS_PER_GROUP, false),
  ])),
]
for (const { name, output } of groups) if (name === 'rooms') process.stdout.write(output)
for (const { output } of groups)
  for (const failure of failuresIn(output)) process.stdout.write(`${failure}\n`)
for (const { name, count, seconds, hasPassed } of groups)
  process.stdout.write(
    `# ${name}: ${count} files, ${hasPassed ? 'passed' : 'FAILED'}, ${seconds} s\n`,
  )
writeSlowest(groups)
rmSync(usageDir, { recursive: true })
process.exitCode = groups.every(({ hasPassed }) => hasPassed) ? 0 : 1
