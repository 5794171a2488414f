import type { RangeUsage, UsageMinute } from '../wire.js'

/** One column of the chart and one row of its table. */
export type UsageBucket = UsageMinute

/** Time ranges of the chart, with the minutes of a column, and what columns are added up from. */
export const RANGES = {
  hour: { name: '1 hour', minutes: 60, bucketMinutes: 1, grain: 'minute' },
  sixHours: { name: '6 hours', minutes: 360, bucketMinutes: 5, grain: 'minute' },
  day: { name: '24 hours', minutes: 1_440, bucketMinutes: 15, grain: 'minute' },
  week: { name: '7 days', minutes: 10_080, bucketMinutes: 60, grain: 'hour' },
  month: { name: '30 days', minutes: 43_200, bucketMinutes: 1_440, grain: 'day' },
} as const
export type Range = keyof typeof RANGES

export const isRange = (id: string): id is Range => id in RANGES

/** The series of the chart, in display order. */
export const SERIES = [
  { key: 'requests', name: 'Requests' },
  { key: 'errors', name: 'Errors' },
  { key: 'rateLimited', name: 'Over a limit (429)' },
  { key: 'refused', name: 'Refused (401, 403)' },
] as const

const MINUTE_MS = 60_000
/** What the service keeps. */
export const KEPT_MS = RANGES.month.minutes * MINUTE_MS

export const rangeMs = (range: Range): number => RANGES[range].minutes * MINUTE_MS
export const bucketMs = (range: Range): number => RANGES[range].bucketMinutes * MINUTE_MS

/** The columns of a range: from the start of the first one to the end of the one with `endMs`. */
export const windowOf = (
  range: Range,
  endMs: number,
): { readonly fromMs: number; readonly untilMs: number } => {
  const untilMs = (Math.floor(endMs / bucketMs(range)) + 1) * bucketMs(range)
  return { fromMs: untilMs - rangeMs(range), untilMs }
}

/** Sums periods into columns from a time on, oldest first. Missing periods count as zero. */
export const toBuckets = (
  periods: readonly UsageMinute[],
  range: Range,
  fromMs: number,
): readonly UsageBucket[] => {
  const count = RANGES[range].minutes / RANGES[range].bucketMinutes
  const buckets = Array.from({ length: count }, (_, index) => ({
    startMs: fromMs + index * bucketMs(range),
    requests: 0,
    errors: 0,
    rateLimited: 0,
    refused: 0,
  }))
  for (const period of periods) {
    const bucket = buckets[Math.floor((period.startMs - fromMs) / bucketMs(range))]
    if (bucket === undefined) continue
    for (const { key } of SERIES) bucket[key] += period[key]
  }
  return buckets
}

/** Percentiles, in display order, with the colour and the dash of their lines. */
export const PERCENTILES = [
  { key: 'p50Ms', name: 'p50', colour: 'requests', dash: [] },
  { key: 'p95Ms', name: 'p95', colour: 'rateLimited', dash: [6, 3] },
  { key: 'p99Ms', name: 'p99', colour: 'errors', dash: [2, 3] },
] as const

type CallPeriod = RangeUsage['calls'][number]
export type LatencyBucket = Pick<CallPeriod, 'startMs' | 'p50Ms' | 'p95Ms' | 'p99Ms'>

/** The percentiles of each column; null where no call ran. */
export const toLatencies = (
  calls: readonly CallPeriod[],
  buckets: readonly UsageBucket[],
): readonly LatencyBucket[] => {
  const known = new Map(calls.map(period => [period.startMs, period]))
  return buckets.map(
    ({ startMs }) => known.get(startMs) ?? { startMs, p50Ms: null, p95Ms: null, p99Ms: null },
  )
}

/** Errors by code over all periods, the most frequent first. */
export const sumCodes = (
  calls: readonly CallPeriod[],
): readonly { readonly code: number; readonly count: number }[] => {
  const sums = new Map<number, number>()
  for (const { code, count } of calls.flatMap(({ codes }) => codes))
    sums.set(code, (sums.get(code) ?? 0) + count)
  return Array.from(sums, ([code, count]) => ({ code, count })).toSorted(
    (one, other) => other.count - one.count,
  )
}

/** The sum over all columns. */
export const totalOf = (
  buckets: readonly UsageBucket[],
  key: (typeof SERIES)[number]['key'],
): number => buckets.reduce((sum, bucket) => sum + bucket[key], 0)
