import t from 'tap'
import {
  RANGES,
  toBuckets,
  totalOf,
  windowOf,
} from '../../../../../src/dashboard/pages/lib/usage/usage-series.js'

const MINUTE_MS = 60_000
/** 15:45 and some seconds. */
const NOW_MS = Date.UTC(2026, 10, 21, 15, 45, 12)
const minute = (startMs: number, requests: number) => ({
  startMs,
  requests,
  errors: 1,
  rateLimited: 0,
  refused: 0,
})

t.test('minutes are added up to columns, the last of which ends now', t => {
  for (const range of ['hour', 'sixHours', 'day', 'week', 'month'] as const) {
    const { minutes, bucketMinutes } = RANGES[range]
    const { fromMs, untilMs } = windowOf(range, NOW_MS)
    const buckets = toBuckets([], range, fromMs)
    const [first, last] = [buckets[0]?.startMs ?? 0, buckets.at(-1)?.startMs ?? 0]
    t.equal(buckets.length, minutes / bucketMinutes)
    t.equal(last % (bucketMinutes * MINUTE_MS), 0, 'they begin at whole times')
    t.ok(last <= NOW_MS && NOW_MS < last + bucketMinutes * MINUTE_MS)
    t.equal(last - first, (minutes - bucketMinutes) * MINUTE_MS)
    t.strictSame([fromMs, untilMs], [first, last + bucketMinutes * MINUTE_MS], 'what is read')
  }
  t.end()
})

t.test('minutes outside of the range are not counted', t => {
  const now = NOW_MS - (NOW_MS % MINUTE_MS)
  const given = [now, now - MINUTE_MS, now - 59 * MINUTE_MS, now - 60 * MINUTE_MS, now + MINUTE_MS]
  const buckets = toBuckets(
    given.map((startMs, index) => minute(startMs, 10 ** index)),
    'hour',
    windowOf('hour', NOW_MS).fromMs,
  )
  t.equal(totalOf(buckets, 'requests'), 111)
  t.equal(buckets.at(-1)?.requests, 1)
  t.equal(buckets.at(-2)?.requests, 10)
  t.equal(buckets[0]?.requests, 100)
  t.equal(totalOf(buckets, 'errors'), 3)
  t.end()
})
