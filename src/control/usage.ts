import { keyOfAccess } from '../access/limiter/limit-table.js'
import type { PeerRoute } from '../cluster/peers/peer-server.js'
import type { TrafficOf } from '../dashboard/api/overview/overview.js'
import type { AccessUsage, RangeQuery, Usage } from '../dashboard/api/usage.js'
import { mapLimits, LIMIT_NAMES } from '../shared/access-limits.js'
import { parseCounts } from '../usage/add-rows.js'
import { readDays, type DayQuery, type UsageDays } from '../usage/days.js'
import { LATENCY_BUCKETS } from '../usage/latency.js'
import {
  addAnswers,
  QUESTIONS,
  type Parameter,
  type QuestionName,
  type RowOf,
} from '../usage/queries.js'
import { RECENT_MAX } from '../usage/schema.js'
import { DAY_MS, HOUR_MS, MINUTE_MS, dayOf, type TokenScope } from '../usage/scope.js'
import type { AskOwn } from '../usage/store.js'
import * as v from 'valibot'
import type { ClusterPeers } from './cluster/cluster-peers.js'

const DAY_MINUTES = DAY_MS / MINUTE_MS
const DAY_HOURS = DAY_MS / HOUR_MS
const QUARTER_MS = 900_000
const REPLACED_MAX = 32
const FAILURE_GROUPS_MAX = 500
const GRAIN_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const
const NO_COUNTS = { requests: 0, errors: 0, rateLimited: 0, refused: 0 }
/** Accesses in one question to the other machines. */
const ACCESSES_MAX = 32

/** What all machines answer: the rows added up, or those of each. */
type Answers<Q extends QuestionName> = {
  readonly rows: readonly RowOf<Q>[]
  readonly each: readonly (readonly RowOf<Q>[])[]
  /** Machines that did not answer; absent on a machine by itself. */
  readonly missing?: readonly string[]
}

/** Asks the machines at some locations. */
export type Ask = <Q extends QuestionName>(
  name: Q,
  parameters: readonly Parameter[],
  locations: readonly string[],
  options?: { readonly limitMs?: number; readonly without?: ReadonlySet<string> },
) => Promise<Answers<Q>>

const pathOf = (name: string, given: string): string => `/usage/${name}/${given}`

/** Asks this machine, and the others at the locations where there is a cluster. */
export const createAsk =
  (own: AskOwn, peers?: Pick<ClusterPeers['client'], 'read'>): Ask =>
  async <Q extends QuestionName>(
    name: Q,
    parameters: readonly Parameter[],
    locations: readonly string[],
    options = {},
  ): Promise<Answers<Q>> => {
    const given = Buffer.from(JSON.stringify(parameters)).toString('base64url')
    const shape = v.object({ rows: v.array(QUESTIONS[name].row as v.GenericSchema) })
    const [mine, others] = await Promise.all([
      own(name, parameters),
      peers?.read(locations, pathOf(name, given), shape, options),
    ])
    const answers = others?.answers.map(({ rows }) => rows as readonly RowOf<Q>[]) ?? []
    const each = [mine, ...answers]
    return {
      rows: addAnswers(name, each),
      each,
      ...(others !== undefined && { missing: others.missing }),
    }
  }

const parametersOf = (text: string): readonly Parameter[] | undefined => {
  try {
    const given: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    const isParameter = (one: unknown): boolean =>
      typeof one === 'string' || Number.isSafeInteger(one)
    return Array.isArray(given) && given.every(isParameter) ? (given as Parameter[]) : undefined
  } catch {
    return undefined
  }
}

/** What other machines may ask of this one. No answer has a token in it. */
export const createUsageRoute = (own: AskOwn): PeerRoute => ({
  path: pathOf(':question', ':given'),
  answer: async ({ question = '', given = '' }) => {
    const parameters = parametersOf(given)
    if (parameters === undefined || !Object.hasOwn(QUESTIONS, question)) return undefined
    return { rows: await own(question as QuestionName, parameters) }
  },
})

/** Machines that lack in one of some answers; undefined on a machine by itself. */
export const missingOf = (...all: readonly { readonly missing?: readonly string[] }[]) => {
  const found = all.flatMap(({ missing }) => (missing === undefined ? [] : [missing]))
  return found.length === 0 ? {} : { missing: [...new Set(found.flat())].toSorted() }
}

const scopeOf = ({
  accessId,
  network,
  location,
}: TokenScope): readonly [string, string, string] => [accessId, network, location]

const toDecimal = (value: number): number => Math.round(value * 10) / 10

/** Refusals by limit, of JSON that has their indexes. */
export const refusalsOf = (
  all: readonly { readonly overLimit: string }[],
): AccessUsage['refused'] =>
  mapLimits(name => {
    const index = LIMIT_NAMES.indexOf(name)
    return all.reduce((sum, { overLimit }) => sum + (parseCounts(overLimit)[index] ?? 0), 0)
  })

const bucketsOf = (latencies: string): readonly number[] => {
  const counts = parseCounts(latencies)
  return Array.from({ length: LATENCY_BUCKETS }, (_, bucket) => counts[bucket] ?? 0)
}

const readScope = async (ask: Ask, scope: TokenScope, nowMs: number) => {
  const at = [scope.location]
  const key = scopeOf(scope)
  const newest = Math.floor(nowMs / MINUTE_MS)
  const [first, sinceMs] = [newest - DAY_MINUTES + 1, nowMs - DAY_MS]
  const [minutes, refused, clients, replaced] = await Promise.all([
    ask('minutes', [...key, first, newest + 1], at),
    ask('refused', [...key, sinceMs], at),
    ask('clients', [...key, sinceMs], at),
    ask('replaced', [...key, sinceMs, dayOf(nowMs)], at),
  ])
  const known = new Map(minutes.rows.map(minute => [minute.startMs, minute]))
  return {
    minutes: Array.from({ length: DAY_MINUTES }, (_, index) => {
      const startMs = (first + index) * MINUTE_MS
      return known.get(startMs) ?? { startMs, ...NO_COUNTS }
    }),
    refused: refused.rows.slice(0, RECENT_MAX),
    clients: clients.rows.slice(0, RECENT_MAX),
    replaced: replaced.rows.slice(0, REPLACED_MAX),
    ...missingOf(minutes, refused, clients, replaced),
  }
}

/** Admitted requests per second over the last minute. */
const rateOf = (minutes: readonly RowOf<'rate'>[], nowMs: number): number => {
  const newest = Math.floor(nowMs / MINUTE_MS)
  const admittedIn = (minute: number): number =>
    minutes.find(one => one.minute === minute)?.admitted ?? 0
  // The share of the previous minute that completes the current one to a whole minute.
  const lastShare = (MINUTE_MS - (nowMs % MINUTE_MS)) / MINUTE_MS
  return ((admittedIn(newest) + admittedIn(newest - 1) * lastShare) * 1_000) / MINUTE_MS
}

export const meansOf = (use: RowOf<'use'> | undefined): AccessUsage['means'] => ({
  requestsPerSecond: use?.requestsMean ?? 0,
  requestsInFlight: use?.inFlightMean ?? 0,
  sockets: use?.socketsMean ?? 0,
  subscriptionsOfSocket: use?.subscriptionsMean ?? 0,
})

const readAccess = async (
  ask: Ask,
  accessId: string,
  locations: readonly string[],
  nowMs: number,
) => {
  const key = String(keyOfAccess(accessId))
  const quarter = Math.floor(nowMs / QUARTER_MS)
  const hour = Math.floor(nowMs / HOUR_MS)
  const hours = [hour - DAY_HOURS, hour + 1] as const
  const [used, rate, peaks, overLimit] = await Promise.all([
    ask('use', [accessId], locations),
    ask('rate', [accessId, Math.floor(nowMs / MINUTE_MS) - 1], locations),
    ask('peaks', [key, quarter - DAY_MS / QUARTER_MS, quarter], locations),
    ask('overLimit', [JSON.stringify([accessId]), HOUR_MS / MINUTE_MS, ...hours], locations),
  ])
  const [use] = used.rows
  return {
    requestsPerSecond: toDecimal(rateOf(rate.rows, nowMs)),
    requestsLastSecond: toDecimal(use?.requestsLastSecond ?? 0),
    requestsInFlight: use?.requestsInFlight ?? 0,
    sockets: use?.sockets ?? 0,
    subscriptions: use?.subscriptions ?? 0,
    subscriptionsOfSocket: use?.subscriptionsOfSocket ?? 0,
    means: meansOf(use),
    peaks: peaks.rows.map(({ perSecond, ...peak }) => ({
      ...peak,
      perSecond: toDecimal(perSecond),
    })),
    refused: refusalsOf(overLimit.rows),
    ...missingOf(used, rate, peaks, overLimit),
  }
}

/** A row of methods with its codes and latencies in place of their JSON. */
export const toCounts = <R extends { readonly codes: string; readonly latencies: string }>({
  codes,
  latencies,
  ...counted
}: R) =>
  Object.assign(counted, {
    codes: Object.entries(parseCounts(codes))
      .map(([code, count]) => ({ code: Number(code), count }))
      .toSorted((one, other) => one.code - other.code),
    latencies: bucketsOf(latencies),
  })

const toPeriod = ({ overLimit: _overLimit, ...period }: RowOf<'periods'>) => period

/** Usage in a time; with an empty text for the access, of all accesses. */
export const readRange = async (
  ask: Ask,
  accessId: string,
  { network, location, fromMs, untilMs, stepMs }: RangeQuery,
  locations: readonly string[],
) => {
  const at = location === '' ? locations : [location]
  const scope = [accessId, network, location] as const
  const times = [fromMs, untilMs, stepMs] as const
  const [periods, reduced, calls, methods] = await Promise.all([
    ask('periods', [...scope, ...times], at),
    ask('reduced', scope, at),
    ask('calls', [...scope, ...times, 0], at),
    ask('calls', [...scope, ...times, 1], at),
  ])
  return {
    periods: periods.rows.map(toPeriod),
    minutesFromMs: reduced.rows[0]?.minutesFromMs ?? 0,
    calls: calls.rows.map(({ method: _method, ...row }) => toCounts(row)),
    methods: methods.rows
      .map(({ startMs: _startMs, ...row }) => toCounts(row))
      .toSorted((one, other) => other.requests - one.requests),
    overLimit: refusalsOf(periods.rows),
    ...missingOf(periods, reduced, calls, methods),
  }
}

/** Usage for the dashboard, of all machines that are asked. */
export const createUsage = (ask: Ask, now: () => number): Omit<Usage, 'evidence'> => ({
  ofScope: scope => readScope(ask, scope, now()),
  ofPeriods: async (scope, { grain, fromMs, untilMs }) => {
    const [key, at] = [scopeOf(scope), [scope.location]]
    const [periods, reduced] = await Promise.all([
      ask('periods', [...key, fromMs, untilMs, GRAIN_MS[grain]], at),
      ask('reduced', key, at),
    ])
    const minutesFromMs = reduced.rows[0]?.minutesFromMs ?? 0
    return { periods: periods.rows.map(toPeriod), minutesFromMs, ...missingOf(periods, reduced) }
  },
  ofRange: (accessId, query, locations) => readRange(ask, accessId, query, locations),
  ofMethods: async (scope, { from, until }) => {
    const found = await ask('methods', [...scopeOf(scope), from, until], [scope.location])
    return { methods: found.rows.map(toCounts), ...missingOf(found) }
  },
  failures: async (accessId, { limit, ...query }, locations) => {
    const first = Math.floor(now() / MINUTE_MS) - DAY_MINUTES + 1
    const { method, code, location, address, origin, fromMs, untilMs } = query
    const filter = [method, code, location, address, origin, fromMs, untilMs]
    const [found, grouped, unlisted] = await Promise.all([
      ask('failures', [accessId, limit, ...filter], locations),
      ask('failureGroups', [accessId, FAILURE_GROUPS_MAX, ...filter], locations),
      ask('unlisted', [accessId, first], locations),
    ])
    return {
      failures: found.rows.slice(0, limit),
      groups: grouped.rows.slice(0, FAILURE_GROUPS_MAX),
      leftOut: unlisted.rows[0]?.leftOut ?? 0,
      ...missingOf(found, grouped, unlisted),
    }
  },
  ofAccess: (accessId, locations) => readAccess(ask, accessId, locations, now()),
})

/** How long what was read of accesses is shown to all pages that show the same ones. */
const KEPT_MS = 4_000
/** Sets of accesses whose traffic is cached. */
const KEPT_MAX = 256

/** Reads once for all pages that ask for the same accesses within a few seconds. */
export const keepTraffic = (read: TrafficOf, now: () => number): TrafficOf => {
  const kept = new Map<string, { readonly atMs: number; readonly answer: ReturnType<TrafficOf> }>()
  return accesses => {
    const key = accesses.map(({ accessId }) => accessId).join()
    const last = kept.get(key)
    if (last !== undefined && now() - last.atMs < KEPT_MS) return last.answer
    kept.delete(key)
    const [oldest] = kept.keys()
    if (kept.size >= KEPT_MAX && oldest !== undefined) kept.delete(oldest)
    const answer = read(accesses)
    kept.set(key, { atMs: now(), answer })
    return answer
  }
}

const add = <T extends Readonly<Record<keyof typeof NO_COUNTS, number>>>(rows: readonly T[]) => ({
  requests: rows.reduce((sum, { requests }) => sum + requests, 0),
  errors: rows.reduce((sum, { errors }) => sum + errors, 0),
  rateLimited: rows.reduce((sum, { rateLimited }) => sum + rateLimited, 0),
  refused: rows.reduce((sum, { refused }) => sum + refused, 0),
})

/** Traffic of all scopes of accesses: the last hour, the last 24, and each of these. */
export const createTraffic =
  (ask: Ask, now: () => number): TrafficOf =>
  async accesses => {
    const minute = Math.floor(now() / MINUTE_MS)
    const found: Answers<'traffic'>[] = []
    const steps: Answers<'steps'>[] = []
    for (let at = 0; at < accesses.length; at += ACCESSES_MAX) {
      const some = accesses.slice(at, at + ACCESSES_MAX)
      const locations = [...new Set(some.flatMap(access => access.locations))]
      const ids = JSON.stringify(some.map(({ accessId }) => accessId))
      found.push(await ask('traffic', [ids, minute], locations))
      steps.push(await ask('steps', [ids], locations))
    }
    const byScope = new Map<string, RowOf<'traffic'>[]>()
    for (const row of found.flatMap(({ rows }) => rows)) {
      const key = scopeOf(row).join()
      byScope.set(key, [...(byScope.get(key) ?? []), row])
    }
    const scopes = accesses.flatMap(({ accessId, networks, locations }) =>
      networks.flatMap(network =>
        locations.map(location => {
          const rows = byScope.get(scopeOf({ accessId, network, location }).join()) ?? []
          const hours = Array.from({ length: DAY_HOURS }, (_, hour) =>
            add(rows.filter(({ ago }) => ago === DAY_HOURS - 1 - hour)),
          )
          return {
            accessId,
            network,
            location,
            hour: hours.at(-1) ?? NO_COUNTS,
            day: add(hours),
            hours: hours.map(({ requests }) => requests),
          }
        }),
      ),
    )
    const rows = steps.flatMap(one => one.rows)
    return {
      scopes,
      hasCalled: rows.some(({ called }) => called > 0),
      hasLanded: rows.some(({ landed }) => landed > 0),
      ...missingOf(...found, ...steps),
    }
  }

/** What is billed. A machine that does not answer is named, and not called again. */
export const createUsageDays =
  (ask: Ask, locations: readonly string[], limitMs?: number) =>
  (query: DayQuery): UsageDays => {
    const without = new Set<string>()
    const days = readDays(
      query,
      async (name, parameters) => {
        const options = { without, ...(limitMs !== undefined && { limitMs }) }
        const { each, missing } = await ask(name, parameters, locations, options)
        for (const id of missing ?? []) without.add(id)
        return each
      },
      pages => addAnswers('dayRows', pages),
    )
    const isAlone = limitMs === undefined
    return { days, ...(isAlone ? {} : { missing: () => [...without].toSorted() }) }
  }
