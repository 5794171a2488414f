import t from 'tap'
import {
  RANGES,
  toBuckets,
  toPeriod,
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
  const lengths = { fiveMinutes: 1, quarter: 1, hour: 1, sixHours: 5, day: 15, week: 60 }
  for (const id of [...Object.keys(lengths), 'month'] as (keyof typeof RANGES)[]) {
    const range = RANGES[id]
    const { minutes, bucketMinutes } = range
    t.equal(bucketMinutes, id === 'month' ? 1_440 : lengths[id])
    const { fromMs, untilMs } = windowOf({ id, range, end: undefined }, NOW_MS)
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
    RANGES.hour,
    windowOf({ id: 'hour', range: RANGES.hour, end: undefined }, NOW_MS).fromMs,
  )
  t.equal(totalOf(buckets, 'requests'), 111)
  t.equal(buckets.at(-1)?.requests, 1)
  t.equal(buckets.at(-2)?.requests, 10)
  t.equal(buckets[0]?.requests, 100)
  t.equal(totalOf(buckets, 'errors'), 3)
  t.end()
})

t.test('a chosen time has whole columns, a minute at least and 168 at most', t => {
  const MONTH = 43_200
  const whole = NOW_MS - (NOW_MS % MINUTE_MS)
  const cases: [name: string, fromMs: number, untilMs: number, minutes: number, column: number][] =
    [
      ['no time at all', whole, whole, 1, 1],
      ['one minute', whole - MINUTE_MS, whole, 1, 1],
      ['parts of minutes', whole - 1, whole + 1, 2, 1],
      ['168 minutes', whole - 168 * MINUTE_MS, whole, 168, 1],
      ['169 minutes', whole - 169 * MINUTE_MS, whole, 170, 5],
      ['14 hours', whole - 840 * MINUTE_MS, whole, 840, 5],
      ['a minute more', whole - 841 * MINUTE_MS, whole, 855, 15],
      ['30 days', whole - MONTH * MINUTE_MS, whole, MONTH + 1_440, 1_440],
    ]
  for (const [name, fromMs, untilMs, minutes, column] of cases) {
    const period = toPeriod(fromMs, untilMs, 'chosen')
    t.match(period, { id: undefined, range: { minutes, bucketMinutes: column } }, name)
    const window = windowOf(period, NOW_MS)
    t.ok(window.fromMs <= fromMs && untilMs <= window.untilMs, `${name} is in it`)
    t.equal(window.untilMs - window.fromMs, minutes * MINUTE_MS)
    t.equal(window.fromMs % (column * MINUTE_MS), 0)
    t.strictSame(toPeriod(window.fromMs, window.untilMs, 'chosen'), period, 'read from its URL')
  }
  t.end()
})
