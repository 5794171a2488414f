import { spawnSync } from 'node:child_process'
import { copyFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { repositoryPath } from '../fixtures/repository.js'
import { skipAbsent } from '../fixtures/skip-absent.js'
import { soakTest } from '../fixtures/soak.js'

const FOLDERS = ['server', 'edge/websocket']
const BUILD_MS = 1_200_000
const TEST_MS = 600_000
/** How a process ends in which a sanitizer found something. */
const FINDING = 99

const run = (
  command: string,
  args: readonly string[],
  options: { readonly timeout: number; readonly env?: NodeJS.ProcessEnv },
) => spawnSync(command, args, { encoding: 'utf8', maxBuffer: 256 * 1024 ** 2, ...options })

/** The libraries of the sanitizers; undefined where the compiler has none. */
const findLibraries = (): string | undefined => {
  const compiler = process.env['CXX'] ?? 'c++'
  const paths = ['libasan.so', 'libubsan.so', 'libstdc++.so'].map(name =>
    run(compiler, [`-print-file-name=${name}`], { timeout: 10_000 }).stdout?.trim(),
  )
  // A name without a folder is one that was not found.
  return paths.every(path => path?.includes('/')) ? paths.join(' ') : undefined
}

/** Compiles the addon with a sanitized server. Most of it was compiled for the addon in use. */
const build = (t: Test): string => {
  const target = run('rustc', ['--print=host-tuple'], { timeout: 10_000 }).stdout.trim()
  const args = ['build', '--release', '-p', 'addon', '--features', 'uws/sanitized']
  const manifest = ['--target', target, '--manifest-path', repositoryPath('native/Cargo.toml')]
  const { status, stderr } = run('cargo', [...args, ...manifest], { timeout: BUILD_MS })
  if (status !== 0) throw new Error(stderr.slice(-4_000))
  const folder = process.env['CARGO_TARGET_DIR'] ?? repositoryPath('native/target')
  const addon = join(t.testdir(), 'sanitized.node')
  copyFileSync(join(folder, target, 'release/libaddon.so'), addon)
  return addon
}

const listTests = (folder: string): readonly string[] => {
  const path = repositoryPath(`dist/test/test/${folder}`)
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.js'))
    .map(name => join(path, name))
    .sort()
}

soakTest('the tests of the server pass under sanitizers', {}, async t => {
  t.setTimeout(3_600_000)
  const libraries = findLibraries()
  if (libraries === undefined) return skipAbsent(t, 'no C++ compiler with sanitizers')
  const env = {
    ...process.env,
    NODE_OPTIONS: '',
    TAP_TIMEOUT: String(TEST_MS / 1_000),
    NAPI_RS_NATIVE_LIBRARY_PATH: build(t),
    LD_PRELOAD: libraries,
    // Node.js itself frees little at its end.
    ASAN_OPTIONS: `detect_leaks=0:exitcode=${FINDING}`,
    UBSAN_OPTIONS: `print_stacktrace=1:exitcode=${FINDING}`,
  }
  let assertions = 0
  const files = FOLDERS.flatMap(listTests)
  for (const file of files) {
    const args = ['--enable-source-maps', file]
    const { status, stdout, stderr } = run(process.execPath, args, { timeout: TEST_MS, env })
    const said = status === FINDING ? stderr : `${stdout}${stderr}`
    t.equal(status, 0, `${file}${status === 0 ? '' : said.slice(-6_000)}`)
    assertions += stdout.match(/^ *ok /gm)?.length ?? 0
  }
  t.ok(assertions > 1_000)
  t.comment(`${files.length} files, ${assertions} assertions, no finding`)
})

const INPUTS = 1_000_000
/** `run.sh` ends with it where no compiler has the sanitizers. */
const NO_SANITIZERS = 77

soakTest('the parser of requests reads a million inputs without a finding', {}, async t => {
  t.setTimeout(900_000)
  const seed = String(1 + (Date.now() % 1_000_000))
  const { status, stdout, stderr } = spawnSync(
    repositoryPath('native/uws/fuzz/run.sh'),
    [String(INPUTS), seed],
    { encoding: 'utf8', cwd: t.testdir(), maxBuffer: 64 * 1024 ** 2 },
  )
  if (status === NO_SANITIZERS) return skipAbsent(t, stderr.trim())
  t.equal(status, 0, `seed ${seed}: ${stderr.slice(-10_000)}`)
  t.comment(stdout.trim())
})
