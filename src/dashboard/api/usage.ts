import type { Awaitable, Missing } from './answers.js'
import type { Limits } from '../../shared/access-limits.js'
import type { FailureOrigin } from '../../usage/calls.js'
import type { MethodFigures } from '../../usage/schema.js'
import type { TokenScope } from '../../usage/scope.js'

/** Counts of one network at one location of an access in one minute. */
export type UsageMinute = {
  /** Unix milliseconds, the start of a minute. */
  readonly startMs: number
  readonly requests: number
  readonly errors: number
  readonly rateLimited: number
  readonly refused: number
}

/** Minutes, hours or days; days are of UTC. */
export type PeriodQuery = {
  readonly grain: 'minute' | 'hour' | 'day'
  /** Unix milliseconds, up to but not including the second. */
  readonly fromMs: number
  readonly untilMs: number
}

/** Usage of one network at one location of an access, in the last 30 days. */
export type PeriodUsage = {
  /** Those with counts, oldest first. */
  readonly periods: readonly UsageMinute[]
  /** Since when all minutes are kept; of what was before, some are only in hours and days. */
  readonly minutesFromMs: number
}

/** A time of some networks and locations of an access; an empty text is any. */
export type RangeQuery = {
  readonly network: string
  readonly location: string
  /** Unix milliseconds, up to but not including the second. */
  readonly fromMs: number
  readonly untilMs: number
  readonly stepMs: number
}

/** What was done in one period. */
export type CallPeriod = Omit<MethodUsage, 'method'> & { readonly startMs: number }

/** Usage in a time. */
export type RangeUsage = PeriodUsage & {
  /** Calls that ended in each period. */
  readonly calls: readonly CallPeriod[]
  readonly methods: readonly MethodUsage[]
  /** What each limit of the access has refused. */
  readonly overLimit: Limits
}

/** Days since 1970, up to but not including the second. */
export type DayRange = { readonly from: number; readonly until: number }

/** What was done with one method. */
export type MethodUsage = MethodFigures & {
  readonly method: string
  readonly codes: readonly { readonly code: number; readonly count: number }[]
  /** How many calls took how long, by `bucketOf`. */
  readonly latencies: readonly number[]
}

/** A request that failed. */
export type FailedRequest = {
  readonly atMs: number
  readonly network: string
  readonly location: string
  readonly method: string
  /** Of the JSON-RPC error, or the status of the answer. */
  readonly code: number
  readonly text: string
  readonly origin: FailureOrigin
  readonly address: string
  /** Id of the request; empty if it is not known. */
  readonly request: string
  /** Length of the request or message, which may have more calls; null if it was not read. */
  readonly bytes: number | null
  /** Null of a call that did not run. */
  readonly elapsedMs: number | null
  /** The newest slot that was served then; null of a submission. */
  readonly slot: number | null
  /** The first KiB as JSON; empty if parameters were not kept. */
  readonly params: string
}

/** Which failed requests are wanted; an empty text is any. */
export type FailureQuery = {
  readonly limit: number
  readonly method: string
  readonly code: string
  readonly location: string
  readonly address: string
  readonly origin: string
  /** Unix milliseconds, up to but not including the second. */
  readonly fromMs: number
  readonly untilMs: number
}

/** Failed requests that are alike. */
export type FailureGroup = {
  readonly method: string
  readonly code: number
  readonly origin: FailureOrigin
  readonly address: string
  readonly count: number
  readonly lastMs: number
}

/** Failed requests of an access, newest first. */
export type Failures = {
  readonly failures: readonly FailedRequest[]
  /** Of all that match and are kept, the most frequent first. */
  readonly groups: readonly FailureGroup[]
  /** Those that came faster than they are written. */
  readonly leftOut: number
}

/** A refused attempt with a known token. */
export type RefusedAttempt = {
  readonly atMs: number
  readonly address: string
  readonly reason: string
}

/** An address from which requests were admitted. */
export type Client = { readonly address: string; readonly lastSeenMs: number }

/** Attempts from one address with one former token of the scope. */
export type ReplacedAttempts = {
  readonly tail: string
  readonly address: string
  readonly lastSeenMs: number
  readonly today: number
}

/**
 * Of one network at one location, whatever its tokens were: minutes oldest first, attempts newest
 * first.
 */
export type ScopeUsage = {
  readonly minutes: readonly UsageMinute[]
  readonly refused: readonly RefusedAttempt[]
  /** The 64 that were seen last, newest first. */
  readonly clients: readonly Client[]
  /** Attempts with tokens that were replaced in the last 30 days, newest first. */
  readonly replaced: readonly ReplacedAttempts[]
}

/** The highest requests in one second of a quarter-hour. */
export type Peak = { readonly startMs: number; readonly perSecond: number; readonly atMs: number }

/** Mean use of limits over a minute. */
export type Means = {
  readonly requestsPerSecond: number
  readonly requestsInFlight: number
  readonly sockets: number
  /** Of the WebSocket that has the most. */
  readonly subscriptionsOfSocket: number
}

/** Utilisation of one access, over all edges. */
export type AccessUsage = {
  /** Mean of the last minute. */
  readonly requestsPerSecond: number
  readonly requestsLastSecond: number
  readonly requestsInFlight: number
  readonly sockets: number
  readonly subscriptions: number
  /** Of the WebSocket that has the most. */
  readonly subscriptionsOfSocket: number
  readonly means: Means
  /** Of the last 24 hours, the oldest first. */
  readonly peaks: readonly Peak[]
  /** In the last 24 hours, by limit. */
  readonly refused: Limits
}

/** What alert rules need of the usage of an access: nothing else is read. */
export type EvidenceQuery = {
  readonly locations: readonly string[]
  readonly needsMeans: boolean
  /** Whole minutes until now by network and location; 0 for none. */
  readonly minutes: number
  /** Times whose calls are read by method, in minutes. */
  readonly calls: readonly number[]
  /** Times whose submissions are read, in minutes: whole hours. */
  readonly landings: readonly number[]
}

/** What alert rules look at of the usage of an access. */
export type Evidence = {
  readonly means: Means
  /** Those with counts. */
  readonly minutes: readonly (UsageMinute & {
    readonly network: string
    readonly location: string
  })[]
  /** By the length of the time, in minutes. */
  readonly calls: ReadonlyMap<number, readonly Pick<MethodUsage, 'method' | 'latencies'>[]>
  /** The same: submissions whose end is known, and those that landed. */
  readonly landings: ReadonlyMap<number, { readonly known: number; readonly landed: number }>
}

/** Usage of accesses, as counted by the edges. */
export type Usage = {
  ofScope(scope: TokenScope): Awaitable<ScopeUsage & Missing>
  ofPeriods(scope: TokenScope, query: PeriodQuery): Awaitable<PeriodUsage & Missing>
  /** `locations` are those of the access. */
  ofRange(
    accessId: string,
    query: RangeQuery,
    locations: readonly string[],
  ): Awaitable<RangeUsage & Missing>
  ofMethods(
    scope: TokenScope,
    days: DayRange,
  ): Awaitable<{ readonly methods: readonly MethodUsage[] } & Missing>
  /** The newest failed requests at these locations of the access. */
  failures(
    accessId: string,
    query: FailureQuery,
    locations: readonly string[],
  ): Awaitable<Failures & Missing>
  /** `locations` are those of the access. */
  ofAccess(accessId: string, locations: readonly string[]): Awaitable<AccessUsage & Missing>
  evidence(accessId: string, query: EvidenceQuery): Awaitable<Evidence & Missing>
}
