import { formatClock, formatMinute, formatUtcDay } from '../format.js'
import { bucketMs, type Range, type UsageBucket } from './usage-series.js'

/** Formats the start of a column: `Nov 25, 14:44`, or its day. */
export const formatBucket = ({ startMs }: Pick<UsageBucket, 'startMs'>, range: Range): string =>
  range === 'month' ? formatUtcDay(startMs) : formatMinute(startMs)

/** Formats the end of a column: ` to 14:45`; nothing of a day. */
export const formatBucketEnd = ({ startMs }: Pick<UsageBucket, 'startMs'>, range: Range): string =>
  range === 'month' ? '' : ` to ${formatClock(startMs + bucketMs(range))}`
