import t from 'tap'
import { createProgress, formatDuration } from '../../src/processes/progress.js'

const record = (isTTY: boolean) => {
  const lines: string[] = []
  let nowMs = 0
  const output = { isTTY, write: (text: string) => lines.push(text) > 0 }
  const progress = createProgress(output, 'rows', () => nowMs)
  return { lines, progress, at: (ms: number) => void (nowMs = ms) }
}

t.test('a terminal has one line, drawn anew', t => {
  const { at, lines, progress } = record(true)
  progress.show(1, 10_000, 'verify')
  t.strictSame(lines, [], 'not at once')
  at(1_000)
  progress.show(2_500, 10_000, 'verify one')
  progress.show(2_600, 10_000, 'verify one')
  progress.end()
  const words = 'verify one: 25 %, 2,500 of about 10,000 rows, 2,500 rows/s, 3 s left'
  t.strictSame(lines, [`\r\x1b[K${words}`, '\r\x1b[K'])
  t.end()
})

t.test('times as people say them', t => {
  const cases: [seconds: number, says: string][] = [
    [0, '0 s'],
    [119, '119 s'],
    [120, '2 min'],
    [7_140, '119 min'],
    [7_200, '2 h 0 min'],
    [36_061, '10 h 2 min'],
  ]
  for (const [seconds, says] of cases) t.equal(formatDuration(seconds), says)
  t.end()
})

t.test('a log has a line now and then', t => {
  const { at, lines, progress } = record(false)
  at(9_999)
  progress.show(1, 10, 'a')
  at(10_000)
  progress.show(0, 0, 'b')
  at(20_000)
  // More came than was expected.
  progress.show(30, 10, 'c')
  progress.end()
  t.strictSame(lines, [
    'b: 0 rows, 0 rows/s\n',
    'c: 99 %, 30 of about 10 rows, 2 rows/s, 0 s left\n',
  ])
  t.end()
})
