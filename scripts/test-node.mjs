// Runs the tests with the release of Node that node-releases.json names for a major version:
//   npm run test:node 24 test/server
// It is the `node` of every process that a test starts. Addon, service and tests are those that
// the installed Node has built, because one binary of Node-API serves every release.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/** The package has some 30 MB. */
const INSTALL_MS = 300_000

const scripts = dirname(fileURLToPath(import.meta.url))
const releases = JSON.parse(readFileSync(join(scripts, 'node-releases.json'), 'utf8'))
const [major = '', ...paths] = process.argv.slice(2)

const fail = message => {
  process.stderr.write(`slotline: ${message}\n`)
  process.exit(1)
}

const release = releases[major]
if (release === undefined)
  fail(`usage: test-node.mjs <${Object.keys(releases).join(' | ')}> [paths of tests…]`)

const { version } = release
const name = `node-linux-${process.arch}`
const integrity = release.integrity[process.arch]
if (process.platform !== 'linux' || integrity === undefined)
  fail(`node-releases.json names no Node ${major} for ${process.platform} on ${process.arch}`)

const folder = join(scripts, '..', 'node_modules', '.node', version)
const binaries = join(folder, 'node_modules', name, 'bin')

/** What npm has installed there, which it records last. */
const installedIntegrity = () => {
  try {
    const lock = join(folder, 'node_modules', '.package-lock.json')
    return JSON.parse(readFileSync(lock, 'utf8')).packages[`node_modules/${name}`].integrity
  } catch {
    return undefined
  }
}

if (installedIntegrity() !== integrity) {
  rmSync(folder, { recursive: true, force: true })
  const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder]
  const install = spawnSync('npm', ['install', ...options, `${name}@${version}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: INSTALL_MS,
  })
  if (install.status !== 0) fail(`npm cannot install ${name}@${version}`)
  const installed = installedIntegrity()
  if (installed !== integrity) {
    rmSync(folder, { recursive: true })
    fail(`${name}@${version} has the digest ${installed}, node-releases.json names ${integrity}`)
  }
}

const env = {
  ...process.env,
  PATH: `${binaries}${delimiter}${process.env['PATH']}`,
  // test/repository/node.ts compares it with the Node that runs it.
  SLOTLINE_TEST_NODE: version,
}
// By its name, as the processes of the tests find it.
const shown = spawnSync('node', ['-p', 'process.version'], { env, encoding: 'utf8' })
if (shown.stdout?.trim() !== `v${version}`)
  fail(`${join(binaries, 'node')} does not run: ${shown.error?.message ?? shown.stderr}`)
process.stdout.write(`# Node ${version} runs the tests\n`)
const tests = spawnSync('node', [join(scripts, 'test.mjs'), ...paths], { env, stdio: 'inherit' })
process.exitCode = tests.status ?? 1
