import { formatClock, formatMinute, formatUtcDay } from '../format.js'
import {
  bucketMs,
  isByDay,
  toPeriod,
  type Period,
  type Range,
  type UsageBucket,
} from './usage-series.js'

/** Formats the start of a column: `Nov 25, 14:44`, or its day. */
export const formatBucket = ({ startMs }: Pick<UsageBucket, 'startMs'>, range: Range): string =>
  isByDay(range) ? formatUtcDay(startMs) : formatMinute(startMs)

/** Formats the end of a column: ` to 14:45`; nothing of a day. */
export const formatBucketEnd = ({ startMs }: Pick<UsageBucket, 'startMs'>, range: Range): string =>
  isByDay(range) ? '' : ` to ${formatClock(startMs + bucketMs(range))}`

/** The time between two instants, as a person chooses them. */
export const customPeriod = (fromMs: number, untilMs: number): Period =>
  toPeriod(fromMs, untilMs, `${formatMinute(fromMs)} to ${formatMinute(untilMs)}`)
