import * as v from 'valibot'
import {
  count,
  described,
  limits,
  methodFigures,
  missing,
  queryInteger,
  text,
} from '../shape-parts.js'
import { usageMinute } from '../shapes.js'

/** Most periods in one response. */
const PERIODS_MAX = 1_500
const GRAIN_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const
const queriedMs = (problem: string) =>
  v.pipe(v.string(problem), v.regex(/^\d{1,15}$/, problem), v.transform(Number), v.number())
export const queriedTime = queriedMs('must be Unix milliseconds')

export const periodsQuery = v.pipe(
  v.strictObject({
    grain: described(
      v.picklist(['minute', 'hour', 'day'], 'must be minute, hour or day'),
      'Length of the periods; days are of UTC',
    ),
    from: described(queriedTime, 'Unix milliseconds'),
    until: described(queriedTime, 'Unix milliseconds, exclusive'),
  }),
  v.check(
    ({ from, grain, until }) => until - from <= PERIODS_MAX * GRAIN_MS[grain],
    `must be at most ${PERIODS_MAX} periods`,
  ),
)

const STEP_MIN_MS = 60_000
const stepProblem = 'must be a multiple of 60000'

/** A time that ends at a moment, or now. */
export const times = {
  from: described(v.optional(queriedTime), 'Unix milliseconds; absent: `span` before `until`'),
  until: described(
    v.optional(queriedTime),
    'Unix milliseconds, exclusive; absent: the end of the present period, by this clock',
  ),
  span: described(
    v.optional(queriedMs('must be milliseconds')),
    'Milliseconds, in place of `from`',
  ),
}

export const step = described(
  v.pipe(
    queriedMs(stepProblem),
    v.minValue(STEP_MIN_MS, stepProblem),
    v.multipleOf(STEP_MIN_MS, stepProblem),
  ),
  'Length of a period in milliseconds; it begins at a multiple of it since 1970',
)

type Times = {
  readonly from?: number | undefined
  readonly until?: number | undefined
  readonly span?: number | undefined
}

/** Whether the beginning and the end are known. */
export const hasTimes = ({ from, span, until }: Times): boolean =>
  (from === undefined ? span : until) !== undefined
export const timesProblem = 'must have from and until, or span'

const hasFewPeriods = (asked: Times & { readonly step: number }): boolean => {
  const { from = 0, span, step: stepMs, until = 0 } = asked
  return (span ?? until - from) <= PERIODS_MAX * stepMs
}
const periodsProblem = `must be at most ${PERIODS_MAX} periods`

export const rangeQuery = v.pipe(
  v.strictObject({
    ...times,
    step,
    network: described(v.optional(v.pipe(v.string(), v.maxLength(64)), ''), 'Its id, or any'),
    location: described(v.optional(v.pipe(v.string(), v.maxLength(64)), ''), 'Its id, or any'),
  }),
  v.check(asked => hasTimes(asked), timesProblem),
  v.check(asked => hasFewPeriods(asked), periodsProblem),
)

/** The same of all accesses, networks and locations. */
export const serviceRangeQuery = v.pipe(
  v.strictObject({ ...times, step }),
  v.check(asked => hasTimes(asked), timesProblem),
  v.check(asked => hasFewPeriods(asked), periodsProblem),
)

type AskedTimes = v.InferOutput<typeof serviceRangeQuery>

/** The times of a range; until the end of the present period where it does not say. */
export const timesOf = ({ from, span = 0, step: stepMs, until }: AskedTimes, nowMs: number) => {
  const untilMs = until ?? (Math.floor(nowMs / stepMs) + 1) * stepMs
  return { fromMs: from ?? Math.max(0, untilMs - span), untilMs, stepMs }
}

export const usagePeriods = v.object({
  periods: described(
    v.pipe(v.array(v.object(usageMinute)), v.readonly()),
    'Those with counts, oldest first',
  ),
  minutesFromMs: described(
    count,
    'Since when all minutes are kept; of what was before, some are only in hours and days',
  ),
  missing,
})

/** Most days that can be asked for. */
const DAYS_MAX = 30

export const methodsQuery = v.strictObject({
  days: described(
    v.optional(queryInteger(1, DAYS_MAX), '1'),
    'Days of UTC, of which the last one is today',
  ),
})

const methodCounts = {
  method: described(text, 'Or `(none)`, `(connect)` or `(other)`: see docs/access.md'),
  ...methodFigures,
  codes: described(
    v.pipe(v.array(v.object({ code: v.number(), count })), v.readonly()),
    'Errors by the code of the JSON-RPC error, or by the status of the answer',
  ),
}
const milliseconds = v.nullable(count)

const percentiles = {
  p50Ms: described(milliseconds, 'Half of the calls took at most this long; null: none ran'),
  p95Ms: milliseconds,
  p99Ms: milliseconds,
}
const methods = v.array(v.object({ ...methodCounts, ...percentiles }))

export const methodUsage = v.object({ methods, missing })

const { method: _method, ...periodCounts } = methodCounts

export const rangeUsage = v.object({
  fromMs: described(count, 'The start of the first period'),
  untilMs: described(count, 'The end of the last period'),
  ...usagePeriods.entries,
  calls: described(
    v.array(v.object({ startMs: count, ...periodCounts, ...percentiles })),
    'Calls that ended in each period, oldest first; by hour of what was 25 hours ago',
  ),
  methods: described(methods, 'The same by method, the most used one first'),
  overLimit: described(limits, 'Requests over each limit of the access, in the time'),
})
