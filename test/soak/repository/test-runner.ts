import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { ownDir } from '../../fixtures/own-dir.js'
import { repositoryPath, repositoryUrl } from '../../fixtures/repository.js'
import { until } from '../../fixtures/until.js'

/** Longer than the process takes to start beside other tests. */
const TIMEOUT_SECONDS = 4
const WAIT_MS = 6_000

// They wait.
t.jobs = 3

type Run = { readonly code: number; readonly output: string; readonly dir: string }

/** One letter of a process: `Z` has ended, and nobody has read its exit code. */
const stateOf = (pid: string): string | undefined =>
  /^\d+ \(.*\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]

/** A checkout with the runner and these compiled tests, which share a process. */
const run = (
  t: Test,
  tests: Readonly<Record<string, string>>,
  ...paths: string[]
): Promise<Run> => {
  const dir = ownDir(t)
  cpSync(repositoryPath('scripts'), join(dir, 'scripts'), { recursive: true })
  const tap = { timeout: TIMEOUT_SECONDS }
  const files = { 'package.json': JSON.stringify({ type: 'module', tap }), 'src/shared/a.ts': '' }
  for (const [name, text] of Object.entries(tests))
    Object.assign(files, {
      [`test/shared/${name}.ts`]: '',
      [`dist/test/test/shared/${name}.js`]: `import t from 'tap'\n${text}`,
    })
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  symlinkSync(repositoryPath('dist/test/node_modules'), join(dir, 'dist/test/node_modules'))
  const args = [join(dir, 'scripts', 'test.mjs'), ...paths]
  // Without the variables by which tap knows that it runs below another.
  const options = { cwd: dir, env: { PATH: process.env['PATH'] } }
  return new Promise(resolve => {
    execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr, dir }),
    )
  })
}

const PASSES = "t.equal(process.exitCode, undefined, 'it passes')"
const WRITES = `t.test('it writes', async t =>
  t.match(t.testdir({ a: '' }), 'test-shared-' + import.meta.url.at(-4) + '.ts-it-writes'))`

t.test('files that share a process have a test and a folder each, and pass', async t => {
  const { code, output, dir } = await run(t, { a: WRITES, b: `${PASSES}\n${WRITES}` })
  t.equal(code, 0)
  t.match(output, '# rooms: 2 files, passed')
  t.match(output, '# { total: 3, pass: 3 }', 'every assertion is counted')
  t.strictSame(readdirSync(join(dir, '.tap', 'fixtures')), [], 'their folders are removed')
})

t.test('one of them can be run', async t => {
  const { code, output } = await run(t, { a: 't.fail()', b: PASSES }, 'test/shared/b.ts')
  t.equal(code, 0)
  t.match(output, '# rooms: 1 files, passed')
})

const failing: [name: string, test: string][] = [
  ['an assertion', "t.test('a sum', async t => t.equal(1 + 1, 3))"],
  ['an assertion outside of a test', 't.ok(false)'],
  ['an error', "throw new Error('no')"],
  ['an error in a later turn', "t.test('late', () => void setImmediate(() => missing()))"],
  ['a wait', `t.test('waits', () => new Promise(done => setTimeout(done, ${WAIT_MS})))`],
]

t.test('a file that fails is named, and the others run', async t => {
  const tests = Object.fromEntries(failing.map(([, test], index) => [`fails-${index}`, test]))
  const { code, output } = await run(t, { a: PASSES, ...tests, z: PASSES })
  t.equal(code, 1)
  t.match(output, `# rooms: 7 files, ${failing.length} FAILED`)
  for (const [index, [name]] of failing.entries())
    t.match(output, new RegExp(`^test/shared/fails-${index}\\.ts: not ok `, 'm'), name)
  t.match(output, '#   test/shared/fails-0.ts failed')
  for (const name of ['a', 'z'])
    t.match(output, new RegExp(`^ +ok \\d+ - test/shared/${name}\\.ts`, 'm'))
})

const ending: [name: string, test: string][] = [
  ['blocks it', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'],
  ['ends it', 'process.exit(0)'],
  ['waits for nothing', 'await new Promise(() => {})'],
  ['waits', `t.test('waits', () => new Promise(done => setTimeout(done, 1e6)))`],
]
/** What a file has started, and does not end. */
const STARTS = `import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
const { pid } = spawn('sleep', ['600'])
writeFileSync('started', String(pid))`

for (const [name, test] of ending)
  t.test(`a file that ${name} fails, ends with what it started, and the next runs`, async t => {
    const { code, output, dir } = await run(t, { a: PASSES, b: `${STARTS}\n${test}`, c: PASSES })
    t.equal(code, 1)
    t.match(output, /# rooms: 3 files, 1 FAILED, after \d+ s\n#   test\/shared\/b.ts failed\n/)
    t.match(output, /^ +ok \d+ - test\/shared\/c\.ts/m)
    const pid = readFileSync(join(dir, 'started'), 'utf8')
    const isGone = () => !existsSync(`/proc/${pid}`) || stateOf(pid) === 'Z'
    await until('what it started has ended', isGone)
  })

t.test('what keeps the process alive fails the run', async t => {
  const { code, output } = await run(t, { a: `${PASSES}\nsetInterval(() => {}, 1e6)`, b: PASSES })
  t.equal(code, 1)
  t.match(output, '# rooms: 2 files, 1 FAILED')
  t.match(output, '#   test/shared/ failed')
})

t.test('files that need a process of their own exist', async t => {
  const { SHARED_FOLDERS, OWN_PROCESS } = (await import(
    repositoryUrl('scripts/test-processes.mjs').href
  )) as { readonly SHARED_FOLDERS: readonly string[]; readonly OWN_PROCESS: readonly string[] }
  for (const folder of SHARED_FOLDERS) t.ok(existsSync(repositoryPath(`test/${folder}`)), folder)
  for (const file of OWN_PROCESS) {
    t.ok(existsSync(repositoryPath(file)), file)
    t.ok(
      SHARED_FOLDERS.some(folder => file.startsWith(`test/${folder}/`)),
      file,
    )
  }
})
