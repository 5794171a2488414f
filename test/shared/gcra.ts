import t from 'tap'
import { takeRequests, toRate } from '../../src/shared/gcra.js'

const SECOND = 1_000_000_000n

const open = (requestsPerSecondMax: number, requestsBurstMax: number) => {
  const words = new BigInt64Array(2)
  const rate = toRate(requestsPerSecondMax, requestsBurstMax)
  const take = (count: number, nowNs: bigint): bigint =>
    takeRequests(words, 1, rate, { count, nowNs: () => nowNs })
  return { words, rate, take }
}

t.test('admits a burst, then one request per interval', t => {
  const { words, take } = open(10, 2)
  const now = 1_000n * SECOND
  t.strictSame([take(1, now), take(1, now)], [SECOND / 10n, 0n], 'the rest of the burst')
  t.equal(take(1, now), -SECOND / 10n, 'how long to wait')
  t.equal(take(1, now + SECOND / 10n - 1n), -1n)
  t.equal(take(1, now + SECOND / 10n), 0n)
  t.equal(words[0], 0n, 'no other word is changed')
  t.end()
})

t.test('takes all requests of a call or none', t => {
  const { take } = open(1, 3)
  t.equal(take(4, SECOND), -SECOND)
  t.equal(take(3, SECOND), 0n)
  t.equal(take(2, 3n * SECOND), 0n)
  t.end()
})

t.test('a process that was stopped after it read the clock is not refused', t => {
  const { words, rate, take } = open(1_000, 1)
  const others = [10n * SECOND, 20n * SECOND]
  const nowNs = (): bigint => {
    const now = others.shift() ?? 0n
    // Stopped here for ten seconds, in which another process takes requests.
    if (others.length > 0) take(1, now + 9n * SECOND)
    return now
  }
  t.equal(takeRequests(words, 1, rate, { count: 1, nowNs }), 0n)
  t.equal(words[1], 20n * SECOND + rate.intervalNs, 'the time of the other is not set back')
  t.end()
})

t.test('a time that lies too far ahead is a used-up burst, or a whole one on request', t => {
  const { words, rate, take } = open(1, 1)
  words[1] = 1_000_000n * SECOND
  t.equal(take(1, SECOND), -SECOND)
  t.equal(take(1, 2n * SECOND), 0n, 'an interval later it is open')
  words[1] = 1_000_000n * SECOND
  const call = { count: 1, nowNs: () => SECOND, isStaleReset: true }
  t.equal(takeRequests(words, 1, rate, call), 0n)
  t.ok(takeRequests(words, 1, rate, call) < 0n)
  t.end()
})
