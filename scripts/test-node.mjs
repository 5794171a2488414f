// Runs the tests with the release of Node that node-releases.json names for a major version:
//   npm run test:node 24 test/server
// It is the `node` of every process that a test starts. Addon, service and tests are those that
// the installed Node has built, because one binary of Node-API serves every release.
import { spawnSync } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { RELEASES, installNode } from './node-release.mjs'

const scripts = dirname(fileURLToPath(import.meta.url))
const [major = '', ...paths] = process.argv.slice(2)

const fail = message => {
  process.stderr.write(`slotline: ${message}\n`)
  process.exit(1)
}

if (!Object.hasOwn(RELEASES, major))
  fail(`usage: test-node.mjs <${Object.keys(RELEASES).join(' | ')}> [paths of tests…]`)

const { binary, version } = installNode(major, fail)
const env = {
  ...process.env,
  PATH: `${dirname(binary)}${delimiter}${process.env['PATH']}`,
  // test/repository/node.ts compares it with the Node that runs it.
  SLOTLINE_TEST_NODE: version,
}
// By its name, as the processes of the tests find it.
const shown = spawnSync('node', ['-p', 'process.version'], { env, encoding: 'utf8' })
if (shown.stdout?.trim() !== `v${version}`)
  fail(`${binary} does not run: ${shown.error?.message ?? shown.stderr}`)
process.stdout.write(`# Node ${version} runs the tests\n`)
const tests = spawnSync('node', [join(scripts, 'test.mjs'), ...paths], { env, stdio: 'inherit' })
process.exitCode = tests.status ?? 1
