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
    [0, 0, 0, 100],
  )
  clock.ns += SECOND / 10n - 1n
  t.equal(bucket.take(), 1e-6, 'a nanosecond early')
  clock.ns += 1n
  t.equal(bucket.take(), 0)
  t.equal(bucket.take(), 100)
  clock.ns += 3_600n * SECOND
  t.strictSame(
    [1, 2, 3, 4].map(() => bucket.take()),
    [0, 0, 0, 100],
    'never over the burst',
  )
  t.end()
})

t.test('two edges share it', t => {
  const { words, create } = open(1, 2)
  const [one, other] = [create(), create()]
  t.strictSame([one.take(), other.take(), one.take(), other.take()], [0, 0, 1_000, 1_000])
  t.equal(words[0], 0n, 'and touch no other word')
  t.end()
})

t.test('a word of before the last start of the machine does not close it', t => {
  const { words, clock, create } = open(1, 1)
  words[1] = clock.ns + 1_000_000n * SECOND
  t.equal(create().take(), 0)
  t.equal(create().take(), 1_000)
  t.end()
})
