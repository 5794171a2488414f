import t from 'tap'
import { createTokenBucket } from '../../../src/submission/relay/token-bucket.js'

const SECOND = 1_000_000_000n

const open = (requestsPerSecondMax: number, requestsBurstMax: number) => {
  const words = new BigInt64Array(2)
  const clock = { ns: 1_000n * SECOND }
  const modules = { words, index: 1, nowNs: () => clock.ns }
  const options = { requestsPerSecondMax, requestsBurstMax }
  return { words, clock, create: () => createTokenBucket(options, modules) }
}

t.test('a burst is admitted at once, then one in each interval', t => {
  const { clock, create } = open(10, 3)
  const bucket = create()
  t.strictSame(
    [1, 2, 3, 4].map(() => bucket.take()),
    [true, true, true, false],
  )
  clock.ns += SECOND / 10n - 1n
  t.equal(bucket.take(), false, 'a nanosecond early')
  clock.ns += 1n
  t.equal(bucket.take(), true)
  t.equal(bucket.take(), false)
  clock.ns += 3_600n * SECOND
  t.strictSame(
    [1, 2, 3, 4].map(() => bucket.take()),
    [true, true, true, false],
    'never over the burst',
  )
  t.end()
})

t.test('what leaves a reserve does not take the last', t => {
  const { create } = open(1, 2)
  const bucket = create()
  t.equal(bucket.take(1), true)
  t.equal(bucket.take(1), false)
  t.equal(bucket.take(), true)
  t.equal(bucket.take(), false)
  t.end()
})

t.test('a burst of one has no reserve to leave', t => {
  const bucket = open(1, 1).create()
  t.equal(bucket.take(1), true)
  t.equal(bucket.take(), false)
  t.end()
})

t.test('two edges share it', t => {
  const { words, create } = open(1, 2)
  const [one, other] = [create(), create()]
  t.strictSame([one.take(), other.take(), one.take(), other.take()], [true, true, false, false])
  t.equal(words[0], 0n, 'and touch no other word')
  t.end()
})

t.test('a word of before the last start of the machine does not close it', t => {
  const { words, clock, create } = open(1, 1)
  words[1] = clock.ns + 1_000_000n * SECOND
  t.equal(create().take(), true)
  t.equal(create().take(), false)
  t.end()
})
