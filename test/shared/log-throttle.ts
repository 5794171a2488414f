import t from 'tap'
import { createSeldom } from '../../src/shared/log-throttle.js'

t.test('one is told in each pause, with the number of those that were not', t => {
  let nowMs = 5
  const told: [atMs: number, leftOut: number][] = []
  const seldom = createSeldom(1_000, () => nowMs)
  for (nowMs of [5, 6, 1_004, 1_005, 1_006, 9_000, 9_000])
    seldom(leftOut => told.push([nowMs, leftOut]))
  t.strictSame(told, [
    [5, 0],
    [1_005, 2],
    [9_000, 1],
  ])
  t.end()
})
