import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { chargeRequests, takeRequests, toRate, type Rate } from '../../shared/gcra.js'
import { LIMIT_NAMES, type LimitName } from '../../shared/access-limits.js'
import type { Grant } from '../../shared/grant.js'
import { defaults, type Options } from './options.js'
import { countsPath, type Subscriptions } from './limit-counts.js'
import { keyOfAccess, LimitTable, NO_ROW, type Utilisation } from './limit-table.js'

/** A limit that a request or a WebSocket can exceed. Subscriptions are counted by their socket. */
export type ExceedableLimit = Exclude<LimitName, 'subscriptionsPerSocketMax'>

export const EXCEEDABLE_LIMITS = LIMIT_NAMES.filter(
  (name): name is ExceedableLimit => name !== 'subscriptionsPerSocketMax',
)

/** Unix milliseconds: edges compare what they store. */
export type Clock = () => number

/** Which limit was exceeded. */
export type Exceeded = {
  readonly limit: ExceedableLimit
  readonly max: number
  /** Requests or sockets that are still available now. */
  readonly remaining: number
  /** When to try again; undefined where waiting does not help. */
  readonly retryAfterMs: number | undefined
  /** Calls of the longest batch that is admitted, of one that is longer. */
  readonly callsMax?: number
}

/** No row for the access: more than `accessesMax` are in use. */
export const FULL = 'full'

const NS_PER_MS = 1_000_000
/**
 * The clock is read in milliseconds: a shorter burst would refuse requests that arrive at an even
 * rate.
 */
const BURST_NS_MIN = BigInt(NS_PER_MS)
/** Most requests in flight end within this. */
const IN_FLIGHT_RETRY_MS = 1_000

const REQUESTS = 0
const SOCKETS = 1
type Column = typeof REQUESTS | typeof SOCKETS

const toNs = (ms: number): bigint => BigInt(Math.round(ms)) * BigInt(NS_PER_MS)

const rateOf = ({ requestsPerSecondMax, requestsBurstMax }: Grant['limits']): Rate => {
  // A rate of 0 allows nothing: any interval is longer than no burst.
  if (requestsPerSecondMax === 0) return toRate(1, 0)
  const { intervalNs, burstNs } = toRate(requestsPerSecondMax, Math.max(1, requestsBurstMax))
  return { intervalNs, burstNs: burstNs > BURST_NS_MIN ? burstNs : BURST_NS_MIN }
}

/** Limits of one grant, and the row of its access in the table. Created once for each grant. */
export class LimiterState {
  readonly grant: Grant
  readonly key: bigint
  readonly keyLow: number
  readonly keyHigh: number
  readonly rate: Rate
  /** Row in the table, `NO_ROW` before the first request and after another access got the row. */
  row = NO_ROW

  constructor(grant: Grant) {
    this.grant = grant
    this.key = keyOfAccess(grant.accessId)
    this.keyLow = Number(BigInt.asIntN(32, this.key))
    this.keyHigh = Number(BigInt.asIntN(32, this.key >> 32n))
    this.rate = rateOf(grant.limits)
  }
}

/** The row of an access in the limit table, and its limits. */
export type LimitPlace = Rate & {
  readonly key: bigint
  readonly row: number
  readonly edge: number
  /** Columns of the row: those of all edges, and that of other machines. */
  readonly columns: number
  readonly inFlightMax: number
}

/**
 * Enforces the limits of all accesses at one edge, together with the other edges of its machine.
 */
export class AccessLimiter {
  readonly #table: LimitTable
  readonly #edgeIndex: number

  constructor(table: LimitTable, edgeIndex: number) {
    this.#table = table
    this.#edgeIndex = edgeIndex
  }

  /** The cells of the limit table. */
  get cells(): Float64Array {
    return this.#table.cells
  }

  /** Where the limits of an access are, for code that checks them without JavaScript. */
  placeOf({ key, row, rate, grant }: LimiterState): LimitPlace {
    return {
      key,
      row,
      edge: this.#edgeIndex,
      columns: this.#table.columnCount,
      inFlightMax: grant.limits.requestsInFlightMax,
      ...rate,
    }
  }

  /** Admits one request, or returns the limit it exceeds. Admitted ones must be released. */
  acquire(state: LimiterState, now: Clock): undefined | Exceeded | typeof FULL {
    const inFlightMax = state.grant.limits.requestsInFlightMax
    const inFlight = this.#add(state, REQUESTS, 1, now())
    if (inFlight === undefined) return FULL
    if (inFlight > inFlightMax) {
      this.#table.addRefused(state.row, 'requestsInFlightMax')
      this.release(state, 1)
      return inFlightExceeded(inFlightMax, inFlight - 1)
    }
    const exceeded = this.#take(state, 1, now)
    if (exceeded !== undefined) this.release(state, 1)
    return exceeded
  }

  /**
   * Turns one admitted request into a batch: `calls` count against the rate. Returns how many of
   * them may be in flight: at most `atOnce`, and at least the admitted one. A refused batch stays
   * charged as the one request.
   */
  acquireBatch(
    state: LimiterState,
    { calls, atOnce }: { readonly calls: number; readonly atOnce: number },
    now: Clock,
  ): number | Exceeded {
    if (calls <= 1) return 1
    const exceeded = this.#take(state, calls - 1, now, 1)
    if (exceeded !== undefined) return exceeded
    const { requestsInFlightMax } = state.grant.limits
    // The row cannot be missing: the admitted request is counted in it.
    const inFlight = this.#add(state, REQUESTS, atOnce - 1, now()) ?? 0
    const over = Math.max(0, Math.min(atOnce - 1, inFlight - requestsInFlightMax))
    this.release(state, over)
    return atOnce - over
  }

  /** Charges further requests to an admitted one; at most what its burst has beside it. */
  acquireMore(state: LimiterState, count: number, now: Clock): undefined | Exceeded {
    const most = Math.max(0, Math.ceil(state.grant.limits.requestsBurstMax) - 1)
    return count === 0 ? undefined : this.#take(state, Math.min(count, most), now, 1)
  }

  /**
   * Charges the length of a reply to an admitted message: it counts as `to` requests, of which
   * `from` are charged already. It cannot be refused any more, so it may use up to one burst that
   * the access does not have yet; and it counts as one burst at most.
   */
  chargeReply(
    state: LimiterState,
    { from, to }: { readonly from: number; readonly to: number },
    now: Clock,
  ): void {
    const most = Number(state.rate.burstNs / state.rate.intervalNs)
    const count = Math.min(to, most) - Math.min(from, most)
    if (count <= 0) return
    const { words, counts } = this.#table
    const nowNs = () => toNs(now())
    const index = this.#table.arrivalTimeOf(state.row)
    const taken = chargeRequests(words, index, state.rate, { count, nowNs })
    Atomics.add(counts, this.#table.chargedOf(state.row), taken)
  }

  /** Ends admitted requests. */
  release(state: LimiterState, count: number): void {
    const { counts } = this.#table
    const column = this.#table.columnOf(state.row, this.#edgeIndex)
    // Not atomic: no other edge writes this column, and others may see the change late.
    counts[column] = (counts[column] ?? 0) - count
  }

  /**
   * Admits one WebSocket, or returns the limit it exceeds. Each admitted socket must be released.
   */
  acquireSocket(state: LimiterState, nowMs: number): undefined | Exceeded | typeof FULL {
    const { socketsMax } = state.grant.limits
    const sockets = this.#add(state, SOCKETS, 1, nowMs)
    if (sockets === undefined) return FULL
    if (sockets <= socketsMax) return undefined
    this.#table.addRefused(state.row, 'socketsMax')
    this.releaseSocket(state)
    const retryAfterMs = retryWithin(socketsMax)
    return { limit: 'socketsMax', max: socketsMax, remaining: 0, retryAfterMs }
  }

  releaseSocket(state: LimiterState): void {
    const { counts } = this.#table
    const column = this.#table.columnOf(state.row, this.#edgeIndex) + SOCKETS
    counts[column] = (counts[column] ?? 0) - 1
  }

  /** Counts a subscription over its limit, of an access with an open WebSocket. */
  addRefusedSubscription({ row }: LimiterState): void {
    if (row !== NO_ROW) this.#table.addRefused(row, 'subscriptionsPerSocketMax')
  }

  /** What an access has at this edge. */
  setSubscriptions({ row, key }: LimiterState, subscriptions: Subscriptions): void {
    // Once its last WebSocket is closed, the row may be another access's.
    if (row !== NO_ROW && this.#table.find(key) === row)
      this.#table.setSubscriptions(row, this.#edgeIndex, subscriptions)
  }

  /** Open WebSockets of the access, also at other machines. */
  openSockets({ key }: LimiterState): number {
    const row = this.#table.find(key)
    return row === NO_ROW ? 0 : this.#sumOf(row, SOCKETS)
  }

  /**
   * Adds to a column of this edge. Returns the sum over all edges and other machines, or undefined
   * if the table has no row left.
   */
  #add(state: LimiterState, column: Column, count: number, nowMs: number): number | undefined {
    const table = this.#table
    const { counts } = table
    for (;;) {
      if (state.row === NO_ROW) {
        const row = table.findOrAssign(state.key, this.#edgeIndex, toNs(nowMs))
        if (row === NO_ROW) return undefined
        state.row = row
        table.setRate(row, state.rate)
      }
      const own = table.columnOf(state.row, this.#edgeIndex) + column
      Atomics.add(counts, own, count)
      const key = table.keyOf(state.row)
      if (counts[key] === state.keyLow && counts[key + 1] === state.keyHigh) break
      // The access was idle, and its row was assigned to another one.
      Atomics.sub(counts, own, count)
      state.row = NO_ROW
    }
    // Summed after the addition: of two edges that take the last unit, at least one sees the other.
    return this.#sumOf(state.row, column)
  }

  #sumOf(row: number, column: Column): number {
    const table = this.#table
    const { counts } = table
    let sum = 0
    const end = table.columnOf(row, table.columnCount)
    for (let at = table.columnOf(row, 0) + column; at < end; at += 2) sum += counts[at] ?? 0
    return sum
  }

  /** `taken` requests of the same message are charged already. */
  #take(state: LimiterState, count: number, now: Clock, taken = 0): Exceeded | undefined {
    const { words, counts } = this.#table
    const index = this.#table.arrivalTimeOf(state.row)
    const nowNs = () => toNs(now())
    const leftNs = takeRequests(words, index, state.rate, { count, nowNs })
    if (leftNs < 0n) {
      const exceeded = rateExceeded(state, { count, taken }, -leftNs)
      this.#table.addRefused(state.row, exceeded.limit)
      return exceeded
    }
    Atomics.add(counts, this.#table.chargedOf(state.row), count)
    return undefined
  }
}

/** A limit of 0 admits nothing, however long the client waits. */
const retryWithin = (max: number): number | undefined => (max > 0 ? IN_FLIGHT_RETRY_MS : undefined)

const inFlightExceeded = (max: number, others: number): Exceeded => ({
  limit: 'requestsInFlightMax',
  max,
  remaining: Math.max(0, max - others),
  retryAfterMs: retryWithin(max),
})

const rateExceeded = (
  { grant: { limits }, rate: { intervalNs, burstNs } }: LimiterState,
  { count, taken }: { readonly count: number; readonly taken: number },
  waitNs: bigint,
): Exceeded => {
  const costNs = BigInt(count) * intervalNs
  // A batch longer than the burst is never admitted, however long the client waits.
  const isNever = costNs + BigInt(taken) * intervalNs > burstNs
  const isBurst = isNever && limits.requestsPerSecondMax > 0
  return {
    limit: isBurst ? 'requestsBurstMax' : 'requestsPerSecondMax',
    max: isBurst ? limits.requestsBurstMax : limits.requestsPerSecondMax,
    remaining: Math.max(0, Number((costNs - waitNs) / intervalNs)),
    retryAfterMs: isNever ? undefined : Number(waitNs) / NS_PER_MS,
    ...(isBurst && { callsMax: Number(burstNs / intervalNs) }),
  }
}

const tablePath = (dataDir: string): string => join(dataDir, 'limits')

/**
 * Opens the table of this machine. Every process must pass the same options and number of edges.
 */
export const openLimitTable = (
  dataDir: string,
  edgeCount: number,
  { accessesMax }: Options = defaults,
): LimitTable => new LimitTable(tablePath(dataDir), { edgeCount, rowCount: accessesMax })

/** Removes the table before any edge has started: nothing is in flight, every burst is whole. */
export const resetLimitTable = (dataDir: string): void => {
  const path = tablePath(dataDir)
  for (const each of [path, countsPath(path)]) rmSync(each, { force: true })
}

/** What an access has in use on this machine. */
export const readUtilisation = (
  table: LimitTable,
  accessId: string,
): Utilisation & Subscriptions => {
  const row = table.find(keyOfAccess(accessId))
  return row === NO_ROW
    ? { requestsInFlight: 0, sockets: 0, subscriptions: 0, subscriptionsOfSocket: 0 }
    : { ...table.utilisationOf(row), ...table.subscriptionsOf(row) }
}
