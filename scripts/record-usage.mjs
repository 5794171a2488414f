// Appends the processor time of a test file and of the processes that it started to the file that
// SLOTLINE_TEST_USAGE names: at the end of the process that scripts/test.mjs preloads this into, or
// after each of the files that share a process.
import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import process from 'node:process'
import { isMainThread } from 'node:worker_threads'

/** The kernel counts in hundredths of a second for every program. */
const TICKS_PER_SECOND = 100
/** Of /proc/self/stat after the name: user and system time, own and of children that ended. */
const [TIMES_FROM, TIMES_TO] = [11, 15]

const output = process.env['SLOTLINE_TEST_USAGE']
const script = relative(process.cwd(), process.argv[1] ?? '')
const file = /^dist\/test\/(test\/(?!fixtures\/).*)\.js$/.exec(script)?.[1]

const readSeconds = () => {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = fields.slice(TIMES_FROM, TIMES_TO).reduce((sum, field) => sum + Number(field), 0)
  return ticks / TICKS_PER_SECOND
}

let recorded = 0

/** What was used since the last call. */
export const recordUsage = file => {
  if (output === undefined) return
  try {
    const seconds = readSeconds()
    appendFileSync(output, `${file} ${(seconds - recorded).toFixed(2)}\n`)
    recorded = seconds
  } catch {
    // Without /proc there is no processor time to report.
  }
}

if (isMainThread && file !== undefined) process.on('exit', () => recordUsage(`${file}.ts`))
