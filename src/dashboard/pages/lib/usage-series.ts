import type { UsageMinute } from './wire.js'

/** One column of the chart and one row of its table. */
export type UsageBucket = UsageMinute

/** Time ranges of the chart, with the minutes per column. */
export const RANGES = {
  hour: { name: '1 hour', minutes: 60, bucketMinutes: 1 },
  sixHours: { name: '6 hours', minutes: 360, bucketMinutes: 5 },
  day: { name: '24 hours', minutes: 1_440, bucketMinutes: 15 },
} as const
export type Range = keyof typeof RANGES

/** The series of the chart, in display order. */
export const SERIES = [
  { key: 'requests', name: 'Requests' },
  { key: 'errors', name: 'Errors' },
  { key: 'rateLimited', name: 'Over a limit (429)' },
  { key: 'refused', name: 'Refused (401, 403)' },
] as const

const MINUTE_MS = 60_000

/** Sums minutes into columns, oldest first. Missing minutes count as zero. */
export const toBuckets = (
  minutes: readonly UsageMinute[],
  range: Range,
  nowMs: number,
): readonly UsageBucket[] => {
  const bucketMs = RANGES[range].bucketMinutes * MINUTE_MS
  const count = RANGES[range].minutes / RANGES[range].bucketMinutes
  const firstMs = Math.floor(nowMs / bucketMs) * bucketMs - (count - 1) * bucketMs
  const buckets = Array.from({ length: count }, (_, index) => ({
    startMs: firstMs + index * bucketMs,
    requests: 0,
    errors: 0,
    rateLimited: 0,
    refused: 0,
  }))
  for (const minute of minutes) {
    const bucket = buckets[Math.floor((minute.startMs - firstMs) / bucketMs)]
    if (bucket === undefined) continue
    for (const { key } of SERIES) bucket[key] += minute[key]
  }
  return buckets
}

/** The sum over all columns. */
export const totalOf = (
  buckets: readonly UsageBucket[],
  key: (typeof SERIES)[number]['key'],
): number => buckets.reduce((sum, bucket) => sum + bucket[key], 0)
