// Brings a checkout to the point where it can run: packages, native addon, compiled TypeScript.
// Plain JavaScript without dependencies, because nothing is installed yet. Each step is skipped
// where its inputs are what they were the last time.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { judgeNode, judgeRust } from './judge-versions.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const stamps = join(root, 'node_modules', '.slotline')
const isClean = process.argv.includes('--clean')
const isForTests = process.argv.includes('--tests')

const children = new Set()

const fail = message => {
  process.stderr.write(`slotline: ${message}\n`)
  for (const child of children) child.kill()
  process.exit(1)
}

const need = (command, why) => {
  if (spawnSync(command, ['--version'], { stdio: 'ignore' }).error)
    fail(`${command} is missing: ${why}`)
}

const filesUnder = (path, skip) =>
  readdirSync(join(root, path), { withFileTypes: true })
    .filter(entry => !skip.includes(entry.name))
    .flatMap(entry => {
      const name = join(path, entry.name)
      return entry.isDirectory() ? filesUnder(name, skip) : [name]
    })

const digestOf = (files, ...others) => {
  const hash = createHash('sha256').update([process.version, ...others].join('\0'))
  for (const file of files.toSorted()) hash.update(file).update(readFileSync(join(root, file)))
  return hash.digest('hex')
}

const isDone = (step, digest) => {
  const stamp = join(stamps, step)
  return !isClean && existsSync(stamp) && readFileSync(stamp, 'utf8') === digest
}

const markDone = (step, digest) => {
  mkdirSync(stamps, { recursive: true })
  writeFileSync(join(stamps, step), digest)
}

/** A cause that says what to install; the rest of the output would hide it. */
const CAUSE = /the server cannot be compiled: .*/

/**
 * Runs a command; its output is shown only when it fails. `progress` reads each line and may
 * report.
 */
const run = (label, command, args, progress) =>
  new Promise(resolve => {
    const started = Date.now()
    const isTerminal = process.stderr.isTTY === true
    let output = ''
    let state = ''
    let reportedAt = started
    const seconds = () => Math.round((Date.now() - started) / 1000)
    const report = () => {
      if (isTerminal) process.stderr.write(`\r\x1b[K${label} … ${state} ${seconds()} s`)
      else if (Date.now() - reportedAt >= 15_000) {
        reportedAt = Date.now()
        process.stderr.write(`${label} … ${state} ${seconds()} s\n`)
      }
    }
    if (!isTerminal) process.stderr.write(`${label} …\n`)
    const timer = setInterval(report, 500)
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    const read = chunk => {
      output = (output + chunk).slice(-60_000)
      if (progress) for (const line of String(chunk).split('\n')) state = progress(line) ?? state
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('error', error => fail(`${label}: ${error.message}`))
    children.add(child)
    child.on('close', code => {
      children.delete(child)
      clearInterval(timer)
      if (isTerminal) process.stderr.write('\r\x1b[K')
      if (code !== 0) {
        const [cause] = CAUSE.exec(output) ?? []
        if (cause !== undefined) fail(cause)
        process.stderr.write(output)
        fail(`${label}: failed (exit code ${code})`)
      }
      process.stderr.write(`${label}: done in ${seconds()} s\n`)
      resolve()
    })
  })

const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { refusal, warning } = judgeNode(process.versions.node, engines.node)
if (refusal !== undefined) fail(refusal)
if (warning !== undefined) process.stderr.write(`slotline: ${warning}\n`)

const packages = digestOf(['package.json', 'package-lock.json'])

const installPackages = async () => {
  if (isDone('packages', packages)) return
  need('npm', 'it comes with Node')
  if (isClean) rmSync(join(root, 'node_modules'), { recursive: true, force: true })
  // Not `npm ci`: it refuses a lock in which another platform's optional package is missing, as it
  // is wherever that package was missing. Versions and digests come from the lock all the
  // same, and it is not written.
  await run('Installing packages', 'npm', [
    'install',
    '--no-save',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
  ])
  markDone('packages', packages)
}

// tap is built again for the plugins that package.json names. It would do so itself, but use them
// from its second run on.
const buildTestRunner = async () => {
  if (!isForTests || isDone('tap', packages)) return
  await run('Building the test runner', 'npx', ['tap', 'build'])
  markDone('tap', packages)
}

/** The server is compiled with these too: see native/uws/build.rs. */
const serverInputs = () => {
  const beside = join(dirname(dirname(realpathSync(process.execPath))), 'include', 'node')
  const { SLOTLINE_NODE_HEADERS: named = '', CXX: compiler = 'c++' } = process.env
  const folders = [...named.split(':'), beside, '/usr/include/node', '/usr/include']
  const headers = ['node_api.h', 'uv.h', 'zlib.h', 'openssl/ssl.h']
  const found = folders.flatMap(folder => headers.map(name => existsSync(join(folder, name))))
  const hasCompiler = spawnSync(compiler, ['--version'], { stdio: 'ignore' }).status === 0
  return [named, found.join(), compiler, String(hasCompiler)]
}

const native = digestOf(
  [
    'package.json',
    ...filesUnder('native', ['target', 'index.js', 'index.d.ts', 'fuzz']).filter(
      f => !f.endsWith('.node'),
    ),
  ],
  ...serverInputs(),
)
const isBuilt = readdirSync(join(root, 'native/addon')).some(name => name.endsWith('.node'))

const outputOf = (command, args) =>
  spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 }).stdout

/**
 * What `napi build` does, except for the declarations: those of the checkout fit its sources. So a
 * first build needs no package, and runs beside their installation.
 */
const compileNative = async progress => {
  const manifest = ['--manifest-path', 'native/Cargo.toml']
  const target = outputOf('rustc', ['--print=host-tuple']).trim()
  const metadata = outputOf('cargo', ['metadata', '--no-deps', '--format-version=1', ...manifest])
  const args = ['build', '--release', '--package=addon', '--target', target, ...manifest]
  await run('Building the native addon', 'cargo', args, progress)
  const library = join(JSON.parse(metadata).target_directory, target, 'release', 'libaddon.so')
  const platform = `${process.platform}-${process.arch}-${target.split('-').at(-1)}`
  copyFileSync(library, join(root, 'native/addon', `slotline.${platform}.node`))
}

const isNativeDone = isBuilt && isDone('native', native)

/** Before anything is downloaded. */
const demandRust = () => {
  const manifest = readFileSync(join(root, 'native/Cargo.toml'), 'utf8')
  const [, oldest] = /^rust-version = "(.*)"$/m.exec(manifest) ?? []
  const { refusal } = judgeRust(outputOf('rustc', ['--version']) ?? undefined, oldest)
  if (refusal !== undefined) fail(refusal)
  need('cargo', 'it comes with Rust')
}

const buildNative = async () => {
  if (isNativeDone) return
  need('cc', 'install a C compiler (LMDB and zstd are C)')
  const lock = readFileSync(join(root, 'native/Cargo.lock'), 'utf8')
  const crates = lock.split('[[package]]').length - 1
  let compiled = 0
  const progress = line => {
    if (!/^\s*Compiling /.test(line)) return undefined
    compiled += 1
    return `${Math.min(99, Math.round((compiled / crates) * 100))} %, ${line.trim()},`
  }
  if (isBuilt) await run('Building the native addon', 'npm', ['run', 'build:native'], progress)
  else await compileNative(progress)
  markDone('native', native)
}

const pages = join('src', 'dashboard', 'pages')

const compileSource = async () => {
  const source = digestOf([
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'scripts/build.mjs',
    'scripts/bundled-packages.mjs',
    ...filesUnder('src', []).filter(name => !name.startsWith(pages)),
  ])
  if (existsSync(join(root, 'dist/main.js')) && isDone('source', source)) return
  await run('Compiling TypeScript', 'npm', ['run', 'build:ts'])
  markDone('source', source)
}

/** As the tests run: one compilation takes less time than one in each of their processes. */
const compileTests = async () => {
  const folders = ['test', 'src', 'bench'].flatMap(folder => filesUnder(folder, []))
  const tests = digestOf([
    'package.json',
    'package-lock.json',
    'scripts/build-tests.mjs',
    ...folders.filter(name => name.endsWith('.ts')),
  ])
  if (existsSync(join(root, 'dist/test/test')) && isDone('tests', tests)) return
  await run('Compiling the tests', 'npm', ['run', 'build:tests'])
  markDone('tests', tests)
}

const buildPage = async () => {
  const samples = filesUnder(join('docs', 'samples'), [])
  const page = digestOf(['package.json', 'package-lock.json', ...samples, ...filesUnder(pages, [])])
  if (existsSync(join(root, 'dist/dashboard/pages/index.html')) && isDone('page', page)) return
  await run('Building the dashboard page', 'npm', ['run', 'build:page'])
  markDone('page', page)
}

if (!isNativeDone) demandRust()
// A later build of the addon writes its declarations again, which the compiler of TypeScript reads.
const firstBuild = isBuilt ? undefined : buildNative()
await installPackages()
await buildTestRunner()
if (isBuilt) await buildNative()
await compileSource()
if (isForTests) await compileTests()
await buildPage()
await firstBuild
