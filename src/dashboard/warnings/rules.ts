import type { Limits, LimitName } from '../../shared/access-limits.js'
import type { Means, UsageMinute } from '../api/usage.js'
import type { WarningKind } from './kinds.js'
import type { Options } from './options.js'

/** What a person should know of an access. */
export type Warning = {
  readonly kind: WarningKind
  /** Null where it is about the whole access. */
  readonly network: string | null
  readonly location: string | null
  readonly values: Readonly<Record<string, number | string>>
}

/** An access as far as warnings need it. */
type WatchedAccess = {
  readonly kind: 'pass' | 'rental'
  readonly limits: Limits
  readonly validUntilMs: number | null
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** The mean that each limit bounds. */
const MEANS: readonly (readonly [limit: LimitName, mean: keyof Means])[] = [
  ['requestsPerSecondMax', 'requestsPerSecond'],
  ['requestsInFlightMax', 'requestsInFlight'],
  ['socketsMax', 'sockets'],
  ['subscriptionsPerSocketMax', 'subscriptionsOfSocket'],
]

const percentOf = (part: number, whole: number): number => (whole === 0 ? 0 : (part / whole) * 100)

/** The limit that is used most, where its mean use is near what it allows. */
const findNearLimit = (limits: Limits, means: Means, options: Options): Warning | undefined => {
  const [highest] = MEANS.map(([limit, mean]) => ({
    limit,
    used: means[mean],
    max: limits[limit],
    percent: percentOf(means[mean], limits[limit]),
  })).toSorted((one, other) => other.percent - one.percent)
  if (highest === undefined || highest.percent < options.limitPercent) return undefined
  const { limit, used, max, percent } = highest
  const values = {
    limit,
    used: Math.round(used * 10) / 10,
    max,
    percent: Math.round(percent),
    windowMs: options.limitSeconds * 1_000,
  }
  return { kind: 'limit-near', network: null, location: null, values }
}

type Errors = { readonly errors: number; readonly requests: number; readonly percent: number }

const countErrors = (minutes: readonly UsageMinute[], fromMs: number, endMs: number): Errors => {
  const counted = minutes.filter(({ startMs }) => startMs >= fromMs && startMs < endMs)
  const errors = counted.reduce((sum, minute) => sum + minute.errors, 0)
  const requests = counted.reduce((sum, minute) => sum + minute.requests, 0)
  return { errors, requests, percent: percentOf(errors, requests) }
}

/** Usage of one network at one location. */
export type WatchedPlace = {
  readonly network: string
  readonly location: string
  readonly minutes: readonly UsageMinute[]
}

const findRisingErrors = (
  { network, location, minutes }: WatchedPlace,
  nowMs: number,
  { errorsFactor, errorsCount, errorsMs, errorsPercent }: Options,
): Warning | undefined => {
  // Whole minutes: the present one has just begun.
  const fromMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS - errorsMs
  const now = countErrors(minutes, fromMs, Infinity)
  const before = countErrors(minutes, fromMs - HOUR_MS, fromMs)
  const isRising =
    now.errors >= errorsCount &&
    now.percent >= errorsPercent &&
    now.percent >= before.percent * errorsFactor
  if (!isRising) return undefined
  const values = {
    errors: now.errors,
    requests: now.requests,
    percent: Math.round(now.percent),
    percentBefore: Math.round(before.percent),
    windowMs: errorsMs,
  }
  return { kind: 'errors-rising', network, location, values }
}

const findEndingRental = (
  { kind, validUntilMs }: WatchedAccess,
  nowMs: number,
  { rentalEndingMs }: Options,
): Warning | undefined =>
  kind === 'rental' && validUntilMs !== null && validUntilMs - nowMs <= rentalEndingMs
    ? { kind: 'rental-ending', network: null, location: null, values: { validUntilMs } }
    : undefined

/** What should be said of an active access now: each kind once for each place. */
export const findWarnings = (
  {
    access,
    means,
    places,
  }: {
    readonly access: WatchedAccess
    readonly means: Means
    readonly places: readonly WatchedPlace[]
  },
  nowMs: number,
  options: Options,
): readonly Warning[] =>
  [
    findEndingRental(access, nowMs, options),
    findNearLimit(access.limits, means, options),
    ...places.map(place => findRisingErrors(place, nowMs, options)),
  ].filter(warning => warning !== undefined)
