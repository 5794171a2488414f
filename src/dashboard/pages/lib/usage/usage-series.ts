import type { RangeUsage, UsageMinute } from '../wire.js'

/** One column of the chart and one row of its table. */
export type UsageBucket = UsageMinute

const MINUTE_MS = 60_000
/** Lengths of a column in minutes; a column of the last one is a day of UTC. */
const COLUMN_MINUTES = [1, 5, 15, 60, 1_440] as const
/** Most columns of a chart, if they are shorter than a day. */
const COLUMNS_MAX = 168

/** The length of a time, and that of the columns that it has. */
export type Range = {
  readonly name: string
  readonly minutes: number
  readonly bucketMinutes: number
}

const toRange = (name: string, minutes: number): Range => ({
  name,
  minutes,
  bucketMinutes: COLUMN_MINUTES.find(length => minutes <= length * COLUMNS_MAX) ?? 1_440,
})

/** Ranges that are offered, which end now or where they are moved to. */
export const RANGES = {
  fiveMinutes: toRange('5 minutes', 5),
  quarter: toRange('15 minutes', 15),
  hour: toRange('1 hour', 60),
  sixHours: toRange('6 hours', 360),
  day: toRange('24 hours', 1_440),
  week: toRange('7 days', 10_080),
  month: toRange('30 days', 43_200),
} as const
export type RangeId = keyof typeof RANGES

export const isRange = (id: string): id is RangeId => Object.hasOwn(RANGES, id)

/** What the service keeps. */
export const KEPT_MS = RANGES.month.minutes * MINUTE_MS

export const rangeMs = ({ minutes }: Range): number => minutes * MINUTE_MS
export const bucketMs = ({ bucketMinutes }: Range): number => bucketMinutes * MINUTE_MS
/** Columns are days of UTC. */
export const isByDay = ({ bucketMinutes }: Range): boolean => bucketMinutes === 1_440

/** The time of a page. */
export type Period = {
  /** Of a range that is offered; undefined if the beginning and the end are chosen. */
  readonly id: RangeId | undefined
  readonly range: Range
  /** Of a range that is offered in its last column, otherwise exclusive; undefined for now. */
  readonly end: number | undefined
}

/** A time between two instants, which are moved apart to whole columns: a minute at least. */
export const toPeriod = (fromMs: number, untilMs: number, name: string): Period => {
  const lengthOf = (stepMs: number) => {
    const from = Math.floor(fromMs / stepMs) * stepMs
    const end = Math.max(from + stepMs, Math.ceil(untilMs / stepMs) * stepMs)
    return { end, minutes: (end - from) / MINUTE_MS }
  }
  const { bucketMinutes } = toRange(name, lengthOf(MINUTE_MS).minutes)
  const { end, minutes } = lengthOf(bucketMinutes * MINUTE_MS)
  return { id: undefined, range: { name, minutes, bucketMinutes }, end }
}

/** The series of the chart, in display order. */
export const SERIES = [
  { key: 'requests', name: 'Requests' },
  { key: 'errors', name: 'Errors' },
  { key: 'rateLimited', name: 'Over a limit (429)' },
  { key: 'refused', name: 'Refused (401, 403)' },
] as const

/** The columns of a period: from the start of the first one to the end of the last one. */
export const windowOf = (
  { id, range, end }: Period,
  nowMs: number,
): { readonly fromMs: number; readonly untilMs: number } => {
  const endMs = end ?? nowMs
  const untilMs =
    id === undefined ? endMs : (Math.floor(endMs / bucketMs(range)) + 1) * bucketMs(range)
  return { fromMs: untilMs - rangeMs(range), untilMs }
}

/** Sums periods into columns from a time on, oldest first. Missing periods count as zero. */
export const toBuckets = (
  periods: readonly UsageMinute[],
  range: Range,
  fromMs: number,
): readonly UsageBucket[] => {
  const buckets = Array.from({ length: range.minutes / range.bucketMinutes }, (_, index) => ({
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
