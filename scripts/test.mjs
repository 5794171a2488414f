// Runs every test, in two lanes at once: those that open sockets or start processes one after the other, and beside
// them those that compute. `tap` alone would run the second lane before or after the first.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tap = join(root, 'node_modules', '.bin', 'tap')
const { serial } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).tap
const isSerial = file => serial.some(place => file === place || file.startsWith(`${place}/`))

const { stdout } = spawnSync(tap, ['list'], { cwd: root, encoding: 'utf8' })
const files = stdout.split('\n').filter(line => line.startsWith('test/'))
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
  runLane('sockets and processes', files.filter(isSerial), true),
  runLane(
    'everything else',
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
