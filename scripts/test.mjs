// Runs the tests whose paths start with one of the arguments, or every test but those of
// test/soak/, and reports failures and the slowest files at the end; the times of all are in
// dist/test-times.txt. The folder of a test determines how it runs: test/browser/, test/server/,
// which waits more than it works, the other folders that mirror src/, and the rest, which starts
// the whole service, beside each other.
// The compiled tests run, and not by `tap run`: a compiler and a preload for coverage reports in
// each process take longer than most tests. A file is a process, but those of some folders share
// one: scripts/test-processes.mjs.
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { LONGEST, OWN_PROCESS, SHARED_FOLDERS } from './test-processes.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { tap } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const SLOWEST_SHOWN = 12
/** Lines of a failure that are shown again at the end. */
const FAILURE_LINES = 40
/**
 * Of each group at once, in the order in which they begin. Most of them wait more than they use one
 * of two processors.
 */
const JOBS = { browser: 1, service: 2, rooms: 1, server: 1 }
/**
 * While less than this of the processors is idle, no third job begins: it would make all of them
 * later, and none of them end earlier. The load average is of the last minute, which is too late:
 * after a minute of work, the processors were idle for the next one.
 */
const IDLE_MIN = 0.15
const LOOK_MS = 1_500
/** Between the starts of the first jobs, which start the most processes. */
const FIRST_MS = 5_000
/** Folders without one in src/ that start no service. */
const COMPONENTS = ['websocket', 'wire']

const usageDir = mkdtempSync(join(tmpdir(), 'slotline-test-'))
const usageFile = join(usageDir, 'usage')

const folderOf = file => file.split('/').slice(1, -1)[0] ?? ''
const groupOf = file => {
  const folder = folderOf(file)
  if (['browser', 'server', 'soak'].includes(folder)) return folder
  const isRoom = existsSync(join(root, 'src', folder)) || COMPONENTS.includes(folder)
  return isRoom ? 'rooms' : 'service'
}

const wanted = process.argv.slice(2)
const listTests = () =>
  readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !name.startsWith('fixtures/'))
    .map(name => `test/${name}`)
    .filter(name => wanted.length === 0 || wanted.some(start => name.startsWith(start)))
    .toSorted()

/** The name of what a process runs: a folder, or one file. */
const jobOf = file => {
  if (OWN_PROCESS.includes(file)) return file
  return SHARED_FOLDERS.map(folder => `test/${folder}/`).find(name => file.startsWith(name)) ?? file
}

const toJobs = files => {
  const jobs = new Map()
  for (const file of files) {
    const name = jobOf(file)
    const job = jobs.get(name) ?? { name, files: [] }
    jobs.set(name, job)
    job.files.push(file)
  }
  const order = ({ name }) => (LONGEST.includes(name) ? LONGEST.indexOf(name) : LONGEST.length)
  return [...jobs.values()].toSorted((one, other) => order(one) - order(other))
}

/** Process groups of the jobs that run, by the process of each. */
const running = new Set()
const endGroup = pid => {
  running.delete(pid)
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing of it is left.
  }
}
t.on('spawn', spawned => {
  spawned.on('preprocess', options => (options.detached = true))
  // The services of a file that did not end would take the processors from the others.
  spawned.on('process', ({ pid }) => {
    running.add(pid)
    spawned.on('end', () => endGroup(pid))
  })
})
process.on('exit', () => [...running].forEach(endGroup))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

/**
 * Runs the files of a job; returns their rows, and those of the others that one which did not end
 * has kept from running. tap's own `spawn` names its preload in NODE_OPTIONS: `env` sets what the
 * caller had.
 */
const runJob = async ({ name, files }) => {
  const isOne = name.endsWith('.ts')
  const script = isOne
    ? [join('dist', 'test', name.replace(/\.ts$/, '.js'))]
    : [join('scripts', 'run-test-files.mjs'), ...files]
  const flags = ['--enable-source-maps', `--import=${join(root, 'scripts', 'record-usage.mjs')}`]
  const options = `NODE_OPTIONS=${process.env['NODE_OPTIONS'] ?? ''}`
  const started = Date.now()
  const spawned = t.spawn('env', [options, process.execPath, ...flags, ...script], {
    name,
    at: null,
    stack: '',
    buffered: true,
    cwd: root,
    timeout: tap.timeout * 1000,
    env: { ...process.env, TAP_TIMEOUT: String(tap.timeout), SLOTLINE_TEST_USAGE: usageFile },
  })
  const results = new Map()
  spawned.subtest.parser.on('assert', result => results.set(result.name, result))
  const { ok: hasPassed } = await spawned
  const seconds = (Date.now() - started) / 1000
  if (isOne) return { rows: [{ file: name, hasPassed, seconds }], rest: [] }
  const ended = files.filter(file => results.has(file))
  const rows = ended.map(file => {
    const { ok, time } = results.get(file)
    return { file, hasPassed: ok, seconds: (time ?? 0) / 1000 }
  })
  const rest = files.slice(ended.length)
  if (hasPassed || rows.some(({ hasPassed }) => !hasPassed)) return { rows, rest }
  // It ended within a file, or after all of them.
  const last = { file: rest.shift() ?? name, hasPassed, seconds }
  return { rows: [...rows, last], rest }
}

/** The failures within TAP: the file, the failed line, and the diagnostics below it. */
const failuresIn = output => {
  const lines = output.split('\n')
  const found = []
  let file = ''
  for (const [at, line] of lines.entries()) {
    file = /^\s*# Subtest: (test\/.*)/.exec(line)?.[1] ?? file
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
  const usage = new Map()
  for (const line of readFileSync(usageFile, 'utf8').trim().split('\n')) {
    const [file, seconds] = line.split(' ')
    usage.set(file, (usage.get(file) ?? 0) + Number(seconds))
  }
  return usage
}

const writeSlowest = times => {
  const usage = readUsage()
  const rows = times.map(row => ({ ...row, cpuSeconds: usage.get(row.file) ?? 0 }))
  const total = rows.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
  process.stdout.write(`# ${Math.round(total)} s of processor time; the slowest files:\n`)
  const slowest = rows.toSorted((one, other) => other.seconds - one.seconds)
  const lines = slowest.map(
    ({ file, seconds, cpuSeconds }) =>
      `${file}: ${seconds.toFixed(1)} s, processor ${cpuSeconds.toFixed(1)} s\n`,
  )
  for (const line of lines.slice(0, SLOWEST_SHOWN)) process.stdout.write(`#   ${line}`)
  writeFileSync(join(root, 'dist', 'test-times.txt'), lines.join(''))
}

const files = listTests()
if (files.length === 0) {
  process.stderr.write('slotline: no tests were found\n')
  process.exit(1)
}
const groups = Object.keys(JOBS).map(name => {
  const members = files.filter(file => groupOf(file) === name)
  return { name, count: members.length, waiting: toJobs(members), failed: [], seconds: 0 }
})
const started = Date.now()
const times = []
let output = ''

/** Milliseconds of all processors since the start: those that were idle, and all. */
const readProcessors = () => {
  const times = cpus().map(({ times }) => times)
  const sum = values => values.reduce((total, value) => total + value, 0)
  return [sum(times.map(({ idle }) => idle)), sum(times.flatMap(one => Object.values(one)))]
}

const readIdle = async () => {
  const [idle, all] = readProcessors()
  await sleep(LOOK_MS)
  const [idleNow, allNow] = readProcessors()
  return (idleNow - idle) / (allNow - all)
}

/** Jobs that run, or are about to. */
let jobCount = 0
let admitted = Promise.resolve()
/** Resolves when a job may begin, for one after the other: each changes what is idle. */
const admit = () => {
  admitted = admitted.then(async () => {
    let idle = jobCount > 1 ? await readIdle() : 1
    while (jobCount > 1 && idle < IDLE_MIN) idle = await readIdle()
    jobCount++
  })
  return admitted
}

/** Runs files of the first of these groups that has one left, until none has. */
const work = async (...sources) => {
  const findGroup = () => sources.find(({ waiting }) => waiting.length > 0)
  while (findGroup() !== undefined) {
    await admit()
    const group = findGroup()
    const job = group?.waiting.shift()
    const { rows, rest } = job === undefined ? { rows: [], rest: [] } : await runJob(job)
    jobCount--
    if (job === undefined) return
    if (rest.length > 0) group.waiting.unshift({ ...job, files: rest })
    times.push(...rows)
    group.failed.push(...rows.filter(({ hasPassed }) => !hasPassed))
    group.seconds = Math.round((Date.now() - started) / 1000)
  }
}

t.jobs = Object.values(JOBS).reduce((sum, jobs) => sum + jobs)
// The files have timeouts, the run has none.
t.setTimeout(0)
t.on('data', chunk => (output += chunk))
t.pipe(process.stdout)
/** Files of test/browser/ start services too: of both groups at most three run at once. */
const sourcesOf = own => {
  const others = groups.filter(group => group !== own && group.name !== 'browser')
  return own.name === 'browser' ? others : others.filter(({ name }) => name !== 'service')
}
const workers = groups.flatMap(own => Array.from({ length: JOBS[own.name] }, () => own))
await Promise.all(
  workers.map(async (own, nth) => {
    if (files.length > workers.length) await sleep(nth * FIRST_MS)
    await work(own, ...sourcesOf(own))
  }),
)
t.end()

for (const failure of failuresIn(output)) process.stdout.write(`${failure}\n`)
for (const { name, count, failed, seconds } of groups) {
  const result = failed.length === 0 ? 'passed' : `${failed.length} FAILED`
  process.stdout.write(`# ${name}: ${count} files, ${result}, after ${seconds} s\n`)
  for (const { file } of failed) process.stdout.write(`#   ${file} failed\n`)
}
writeSlowest(times)
rmSync(usageDir, { recursive: true })
process.exitCode = groups.every(({ failed }) => failed.length === 0) ? 0 : 1
