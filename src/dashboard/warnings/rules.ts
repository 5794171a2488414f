import type { AlertRule } from '../../access/store/webhook-shape.js'
import type { Limits, LimitName } from '../../shared/access-limits.js'
import { percentileMs } from '../../usage/latency.js'
import type { IncidentView } from '../api/incidents/incident-shapes.js'
import type { Evidence, Means } from '../api/usage.js'
import { isKind, type WarningKind } from './kinds.js'
import type { Options } from './options.js'

/** What a rule has found, and a person should know of an access. */
export type Warning = {
  readonly rule: string
  readonly kind: WarningKind
  /** Null where it is about the whole access. */
  readonly network: string | null
  readonly location: string | null
  readonly values: Readonly<Record<string, number | string>>
}

/** An access as far as rules need it. */
type WatchedAccess = {
  readonly kind: 'pass' | 'rental'
  readonly limits: Limits
  readonly validUntilMs: number | null
}

/** How far a network at a location is behind the best location; null if it is not known. */
export type Lag = {
  readonly network: string
  readonly location: string
  readonly slots: number | null
}

/** What rules look at. */
export type Watched = Evidence & {
  readonly access: WatchedAccess
  /** Incidents of the locations of the access, newest first. */
  readonly incidents: readonly IncidentView[]
  readonly lags: readonly Lag[]
}

/** A warning without its rule. */
type Found = Pick<Warning, 'values'> & Partial<Pick<Warning, 'network' | 'location'>>
type Find = (rule: AlertRule, watched: Watched, nowMs: number, options: Options) => readonly Found[]

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const P99 = 0.99

/** The mean that each limit bounds. */
const MEANS: readonly (readonly [limit: LimitName, mean: keyof Means])[] = [
  ['requestsPerSecondMax', 'requestsPerSecond'],
  ['requestsInFlightMax', 'requestsInFlight'],
  ['socketsMax', 'sockets'],
  ['subscriptionsPerSocketMax', 'subscriptionsOfSocket'],
]

const percentOf = (part: number, whole: number): number => (whole === 0 ? 0 : (part * 100) / whole)

/** One decimal, and never a number that the threshold would not have found. */
const toDecimal = (value: number): number => Math.round(value * 10) / 10

/** The limit that is used most. */
const findNearLimit: Find = ({ threshold }, { access, means }, _nowMs, { limitSeconds }) => {
  const [highest] = MEANS.map(([limit, mean]) => ({
    limit,
    used: means[mean],
    max: access.limits[limit],
    percent: percentOf(means[mean], access.limits[limit]),
  })).toSorted((one, other) => other.percent - one.percent)
  if (highest === undefined || highest.percent < threshold) return []
  const { limit, used, max, percent } = highest
  return [
    {
      values: {
        limit,
        used: toDecimal(used),
        max,
        percent: Math.round(percent),
        windowMs: limitSeconds * SECOND_MS,
      },
    },
  ]
}

type Errors = { readonly errors: number; readonly requests: number; readonly percent: number }

const countErrors = (minutes: Evidence['minutes'], fromMs: number, endMs: number): Errors => {
  let errors = 0
  let requests = 0
  for (const minute of minutes)
    if (minute.startMs >= fromMs && minute.startMs < endMs) {
      errors += minute.errors
      requests += minute.requests
    }
  return { errors, requests, percent: percentOf(errors, requests) }
}

/** By network and location. */
const byScope = (minutes: Evidence['minutes']): ReadonlyMap<string, Evidence['minutes']> => {
  const scopes = new Map<string, Evidence['minutes'][number][]>()
  for (const minute of minutes) {
    const key = `${minute.network} ${minute.location}`
    const own = scopes.get(key)
    if (own === undefined) scopes.set(key, [minute])
    else own.push(minute)
  }
  return scopes
}

const findErrors: Find = (
  { threshold, windowMinutes, countMin, onlyRising },
  { minutes },
  nowMs,
  { errorsFactor },
) => {
  const windowMs = windowMinutes * MINUTE_MS
  // Whole minutes: the present one has just begun.
  const fromMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS - windowMs
  return [...byScope(minutes).values()].flatMap(own => {
    const now = countErrors(own, fromMs, Infinity)
    const before = countErrors(own, fromMs - HOUR_MS, fromMs)
    const isFound =
      now.errors >= countMin &&
      now.percent >= threshold &&
      (!onlyRising || now.percent >= before.percent * errorsFactor)
    const { network = '', location = '' } = own[0] ?? {}
    const values = {
      errors: now.errors,
      requests: now.requests,
      percent: Math.round(now.percent),
      percentBefore: Math.round(before.percent),
      windowMs,
    }
    return isFound ? [{ network, location, values }] : []
  })
}

const findSlow: Find = ({ threshold, windowMinutes, countMin, method }, { calls }) => {
  const own = (calls.get(windowMinutes) ?? []).filter(one => method === '' || one.method === method)
  const latencies: number[] = []
  for (const one of own)
    for (const [bucket, count] of one.latencies.entries())
      latencies[bucket] = (latencies[bucket] ?? 0) + count
  const counted = latencies.reduce((sum, count) => sum + count, 0)
  const p99 = percentileMs(latencies, P99)
  if (p99 === null || counted < countMin || p99 < threshold) return []
  const windowMs = windowMinutes * MINUTE_MS
  const values = { p99Ms: toDecimal(p99), requests: counted, threshold, windowMs }
  return [{ values: method === '' ? values : { ...values, method } }]
}

const findLanding: Find = ({ threshold, windowMinutes, countMin }, { landings }) => {
  const found = landings.get(windowMinutes)
  if (found === undefined || found.known < countMin) return []
  const percent = percentOf(found.landed, found.known)
  if (percent >= threshold) return []
  const windowMs = windowMinutes * MINUTE_MS
  const { landed, known } = found
  return [{ values: { landed, submissions: known, percent: toDecimal(percent), windowMs } }]
}

/** Incidents that last or have just ended, and networks that are behind without one. */
const findBehind: Find = ({ threshold }, { incidents, lags }, nowMs, { incidentEndedMs }) => {
  const found = new Map<string, Found>()
  for (const { location, reasons, startedAtMs, endedAtMs } of incidents) {
    const isRecent = endedAtMs === null || nowMs - endedAtMs < incidentEndedMs
    // Of several, the newest; one that lasts comes before one that has ended.
    const known = location === null ? undefined : found.get(location)
    const isFirst = known === undefined || ('endedAtMs' in known.values && endedAtMs === null)
    if (location === null || !isRecent || !isFirst) continue
    const values = {
      states: reasons.join(', '),
      startedAtMs,
      ...(endedAtMs === null ? {} : { endedAtMs }),
    }
    found.set(location, { location, values })
  }
  const behind = lags.filter(
    ({ location, slots }) => slots !== null && slots >= threshold && !found.has(location),
  )
  return [
    ...found.values(),
    ...behind.map(({ network, location, slots }) => ({
      network,
      location,
      values: { slotsBehind: slots ?? 0, threshold },
    })),
  ]
}

const findEndingRental: Find = ({ threshold }, { access: { kind, validUntilMs } }, nowMs) =>
  kind === 'rental' && validUntilMs !== null && validUntilMs - nowMs <= threshold * DAY_MS
    ? [{ values: { validUntilMs } }]
    : []

const FIND: Readonly<Record<WarningKind, Find>> = {
  'limit-near': findNearLimit,
  'errors-rising': findErrors,
  'p99-high': findSlow,
  'landing-rate-low': findLanding,
  'location-behind': findBehind,
  'rental-ending': findEndingRental,
}

/** What the rules of an active access find now, in their order: each once for each scope. */
export const findWarnings = (
  rules: readonly AlertRule[],
  watched: Watched,
  nowMs: number,
  options: Options,
): readonly Warning[] =>
  rules
    .flatMap(rule => {
      const { kind, ruleId, isOn } = rule
      if (!isOn || !isKind(kind)) return []
      return FIND[kind](rule, watched, nowMs, options).map(
        ({ network = null, location = null, values }) => ({
          ...{ rule: ruleId, kind, network, location, values },
        }),
      )
    })
    .slice(0, options.warningsMax)

/** What the warning of a rule looks like, where it finds none now. */
export const sampleOf = (
  { ruleId, kind, threshold, windowMinutes, countMin, method }: AlertRule,
  { limits, validUntilMs }: WatchedAccess,
  scope: { readonly network: string | null; readonly location: string | null },
  nowMs: number,
  { limitSeconds }: Options,
): Warning | undefined => {
  if (!isKind(kind)) return undefined
  const windowMs = windowMinutes * MINUTE_MS
  const max = limits.requestsPerSecondMax
  const samples: Readonly<Record<WarningKind, Found>> = {
    'limit-near': {
      values: {
        limit: 'requestsPerSecondMax',
        used: toDecimal((max * threshold) / 100),
        max,
        percent: threshold,
        windowMs: limitSeconds * SECOND_MS,
      },
    },
    'errors-rising': {
      ...scope,
      values: {
        errors: countMin,
        requests: Math.floor((countMin * 100) / threshold),
        percent: threshold,
        percentBefore: 0,
        windowMs,
      },
    },
    'p99-high': {
      values: {
        p99Ms: threshold,
        requests: countMin,
        threshold,
        windowMs,
        ...(method === '' ? {} : { method }),
      },
    },
    'landing-rate-low': {
      values: { landed: 0, submissions: countMin, percent: 0, windowMs },
    },
    'location-behind': {
      location: scope.location,
      values: { states: 'behind', startedAtMs: nowMs },
    },
    'rental-ending': { values: { validUntilMs: validUntilMs ?? nowMs + threshold * DAY_MS } },
  }
  const { network = null, location = null, values } = samples[kind]
  return { rule: ruleId, kind, network, location, values }
}
