import t from 'tap'
import { createLogThrottle } from '../../src/shared/log-throttle.js'

t.test('one line is written per pause, with the number of suppressed ones', t => {
  let nowMs = 5
  const written: [atMs: number, suppressedCount: number][] = []
  const throttle = createLogThrottle(1_000, () => nowMs)
  for (nowMs of [5, 6, 1_004, 1_005, 1_006, 9_000, 9_000])
    throttle(suppressedCount => written.push([nowMs, suppressedCount]))
  t.strictSame(written, [
    [5, 0],
    [1_005, 2],
    [9_000, 1],
  ])
  t.end()
})
