// Runs the compiled tests that are its arguments in this process, one after the other: what they
// import is loaded once. Each has a subtest of the name of its file, which is the `t` that it
// imports from tap. Started by scripts/test.mjs for the folders in scripts/test-processes.mjs.
import { join } from 'node:path'
import process from 'node:process'
import { setDefault, t as tap } from '../dist/test/node_modules/tap/index.js'
import { recordUsage } from './record-usage.mjs'

const root = join(import.meta.dirname, '..')
const timeout = Number(process.env['TAP_TIMEOUT']) * 1000

const files = process.argv.slice(2)
// What they share ends with the process: it counts for the last one.
process.on('exit', () => recordUsage(files.at(-1)))

for (const file of files) {
  // Sets the timeout of scripts/test.mjs too, which ends the process if the file blocks it. A file
  // that waits ends earlier, and has the rest to stop what it started.
  tap.setTimeout(timeout * 1.5)
  const started = Date.now()
  const testdir = join(root, '.tap', 'fixtures', file.replaceAll('/', '-'))
  await tap.test(file, { timeout, testdir, at: null, stack: '' }, async t => {
    setDefault(t)
    await import(join(root, 'dist', 'test', file.replace(/\.ts$/, '.js')))
  })
  recordUsage(file)
  // What goes on in it would fail the next ones: scripts/test.mjs runs them in another process.
  if (Date.now() - started >= timeout) process.exit(1)
}
