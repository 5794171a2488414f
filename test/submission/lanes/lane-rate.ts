import t, { type Test } from 'tap'
import { LaneRate } from '../../../src/submission/lanes/lane-rate.js'
import { createTokenBucket } from '../../../src/submission/relay/token-bucket.js'

/** A rate with a clock of its own, in milliseconds. */
const open = (requestsPerSecondMax: number) => {
  let nowMs = 1_000
  const bucket = createTokenBucket(
    { requestsPerSecondMax, requestsBurstMax: requestsPerSecondMax },
    { words: new BigInt64Array(1), index: 0, nowNs: () => BigInt(Math.round(nowMs * 1e6)) },
  )
  const rate = new LaneRate({ bucket, requestsPerSecondMax, now: () => nowMs })
  const take = (accessId: string): number => (rate.take(accessId) ? 1 : 0)
  return { take, pass: (ms: number) => (nowMs += ms) }
}

t.test('an access that is alone has all of a rate', t => {
  const { take, pass } = open(5)
  const count = (): number => Array.from({ length: 20 }, () => take('a')).reduce((a, b) => a + b)
  t.equal(count(), 5)
  t.equal(take('a'), 0)
  pass(1_000)
  t.equal(count(), 5)
  pass(200)
  t.equal(count(), 1)
  t.end()
})

/** How many each access gets in ten seconds, in which they ask so often. */
const share = (asks: Readonly<Record<string, number>>, perSecondMax: number) => {
  const { take, pass } = open(perSecondMax)
  const got = new Map(Object.keys(asks).map(accessId => [accessId, 0]))
  for (let ms = 0; ms < 10_000; ms++) {
    for (const [accessId, everyMs] of Object.entries(asks))
      if (ms % everyMs === 0) got.set(accessId, (got.get(accessId) ?? 0) + take(accessId))
    pass(1)
  }
  return got
}

const inRange = (t: Test, count: number | undefined, least: number, name: string): void =>
  void t.ok((count ?? 0) >= least, `${name}: ${count} of ${least} at least`)

t.test('one that asks without a pause leaves others their shares', t => {
  const two = share({ greedy: 1, modest: 250 }, 10)
  inRange(t, two.get('modest'), 38, 'all of its 40')
  inRange(t, two.get('greedy'), 45, 'half of the rate')
  const three = share({ greedy: 1, other: 1, modest: 500 }, 10)
  inRange(t, three.get('modest'), 18, 'all of its 20')
  inRange(t, three.get('other'), 25, 'a third')
  const scarce = share({ greedy: 1, modest: 100 }, 1)
  inRange(t, scarce.get('modest'), 3, 'of one a second')
  t.end()
})

t.test('what is remembered of accesses has a bound', t => {
  const { take } = open(1_000_000)
  for (let nth = 0; nth < 5_000; nth++) t.equal(take(`access ${nth}`), 1)
  t.end()
})
