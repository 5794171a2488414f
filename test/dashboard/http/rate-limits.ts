import t from 'tap'
import { RateLimits } from '../../../src/dashboard/http/rate-limits.js'

const SECOND = 1_000_000_000n

t.test('a burst of each key, then one in each interval', t => {
  let nowNs = 0n
  const limits = new RateLimits({ perMinuteMax: 30, burstMax: 3, keysMax: 10 }, () => nowNs)
  t.strictSame(
    [1, 2, 3, 4].map(() => limits.take('a')),
    [0, 0, 0, 2],
  )
  t.equal(limits.take('b'), 0, 'another key')
  nowNs += SECOND
  t.equal(limits.take('a'), 1)
  nowNs += SECOND
  t.equal(limits.take('a'), 0)
  t.equal(limits.take('a'), 2)
  t.end()
})

t.test('keys over the bound evict the one that was used least recently', t => {
  const limits = new RateLimits({ perMinuteMax: 1, burstMax: 1, keysMax: 2 }, () => 0n)
  t.strictSame(
    ['a', 'b', 'a', 'c', 'a', 'b'].map(key => limits.take(key)),
    [0, 0, 60, 0, 60, 0],
  )
  t.end()
})
