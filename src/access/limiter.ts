import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Grant } from '../shared/grant.js'
import { keyOfAccess, LimitTable, type Load } from './limit-table.js'

export type Options = Readonly<typeof defaults>

/** Bounds of what one machine counts. */
export const defaults = {
  /**
   * Accesses in use at once on this machine. Each takes 16 bytes, and 8 more for each edge; one
   * that rests gives way to another, and where none rests a further one is refused with 503.
   */
  accessesMax: 4_000,
}

/**
 * Limits of an access that a request can exceed, by their names in `Limits` of `shared/grant.ts`.
 */
export const LIMIT_NAMES = [
  'requestsPerSecondMax',
  'requestsBurstMax',
  'requestsInFlightMax',
  'socketsMax',
] as const
export type LimitName = (typeof LIMIT_NAMES)[number]

/** Which limit was exceeded. */
export type Exceeded = {
  readonly limit: LimitName
  readonly max: number
  /** How many may still come now. */
  readonly remaining: number
  /** When to try again. */
  readonly retryAfterMs: number
}

/** No row for the access: more are in use than `accessesMax`. */
export const FULL = 'full'
const NO_ROW = -1

/** Clocks are read in milliseconds: a burst shorter than that would refuse what comes evenly. */
const CLOCK_STEP_SECONDS = 0.001
/** Times are sums of doubles: what they are off by must not refuse the last request of a burst. */
const ROUNDING = 2 ** -10
/**
 * By so much at most do edges read the clock apart: one may be held up between reading it and using
 * it.
 */
const STRAY_MS = 1_000
/** Requests in flight end when they end; most do within this. */
const IN_FLIGHT_RETRY_MS = 1_000
/** Where there is nothing to wait for. */
const NEVER_RETRY_MS = 3_600_000

/** One access as an edge counts it. Found once for each grant. */
export class Use {
  readonly grant: Grant
  readonly key: bigint
  readonly keyLow: number
  readonly keyHigh: number
  /** Milliseconds that one request pays for. */
  readonly intervalMs: number
  /** How far ahead requests may be paid for: the burst. */
  readonly aheadMs: number
  /** Row in the table, −1 before the first request and after the row went to another access. */
  row = -1

  constructor(grant: Grant) {
    const { requestsPerSecondMax, requestsBurstMax } = grant.limits
    this.grant = grant
    this.key = keyOfAccess(grant.accessId)
    this.keyLow = Number(BigInt.asIntN(32, this.key))
    this.keyHigh = Number(BigInt.asIntN(32, this.key >> 32n))
    this.intervalMs = 1_000 / requestsPerSecondMax
    const burst = Math.max(1, requestsBurstMax, requestsPerSecondMax * CLOCK_STEP_SECONDS)
    this.aheadMs = requestsPerSecondMax === 0 ? 0 : (burst + ROUNDING) * this.intervalMs
  }
}

/** The limits of all accesses, as one edge holds them together with the others of its machine. */
export class Limits {
  readonly #table: LimitTable
  readonly #edgeIndex: number
  readonly #time = new Float64Array(1)
  readonly #bits = new BigInt64Array(this.#time.buffer)

  constructor(table: LimitTable, edgeIndex: number) {
    this.#table = table
    this.#edgeIndex = edgeIndex
  }

  /** Lets one request in, or says what is in the way. Whoever is let in must `leave`. */
  enter(use: Use, nowMs: number): undefined | Exceeded | typeof FULL {
    const inFlightMax = use.grant.limits.requestsInFlightMax
    const inFlight = this.#count(use, 0, 1, nowMs)
    if (inFlight === NO_ROW) return FULL
    if (inFlight > inFlightMax) {
      this.leave(use, 1)
      return this.#inFlightExceeded(inFlightMax, inFlight - 1)
    }
    const exceeded = this.#pay(use, 1, nowMs)
    if (exceeded !== undefined) this.leave(use, 1)
    return exceeded
  }

  /**
   * Makes of one request that was let in a batch: `calls` count for the rate, `atOnce` of them as
   * in flight. What had been paid is given back where it is refused; the caller still has the one
   * request in flight.
   */
  widen(
    use: Use,
    { calls, atOnce }: { readonly calls: number; readonly atOnce: number },
    nowMs: number,
  ): undefined | Exceeded {
    if (calls <= 1) {
      if (calls === 0) this.#refund(use, 1)
      return undefined
    }
    const { requestsInFlightMax } = use.grant.limits
    const inFlight = this.#count(use, 0, atOnce - 1, nowMs)
    this.#refund(use, 1)
    const exceeded =
      inFlight > requestsInFlightMax
        ? this.#inFlightExceeded(requestsInFlightMax, inFlight - atOnce)
        : this.#pay(use, calls, nowMs)
    if (exceeded !== undefined) this.leave(use, atOnce - 1)
    return exceeded
  }

  /** Ends what was let in. */
  leave(use: Use, count: number): void {
    const { counts } = this.#table
    const column = this.#table.columnOf(use.row, this.#edgeIndex)
    // Plain: nobody else writes this column, and others may see it late.
    counts[column] = (counts[column] ?? 0) - count
  }

  /** Counts one more WebSocket; whoever has it must call `closeSocket`. */
  openSocket(use: Use, nowMs: number): undefined | Exceeded | typeof FULL {
    const { socketsMax } = use.grant.limits
    const sockets = this.#count(use, 1, 1, nowMs)
    if (sockets === NO_ROW) return FULL
    if (sockets <= socketsMax) return undefined
    this.closeSocket(use)
    return { limit: 'socketsMax', max: socketsMax, remaining: 0, retryAfterMs: IN_FLIGHT_RETRY_MS }
  }

  closeSocket(use: Use): void {
    const { counts } = this.#table
    const column = this.#table.columnOf(use.row, this.#edgeIndex) + 1
    counts[column] = (counts[column] ?? 0) - 1
  }

  #inFlightExceeded(max: number, others: number): Exceeded {
    return {
      limit: 'requestsInFlightMax',
      max,
      remaining: Math.max(0, max - others),
      retryAfterMs: IN_FLIGHT_RETRY_MS,
    }
  }

  /**
   * Adds to this edge's column (0: requests, 1: sockets), and says how many all edges have, or
   * `NO_ROW`.
   */
  #count(use: Use, column: 0 | 1, count: number, nowMs: number): number {
    const table = this.#table
    const { counts } = table
    for (;;) {
      if (use.row === -1) {
        const row = table.take(use.key, this.#edgeIndex, nowMs)
        if (row === -1) return NO_ROW
        use.row = row
      }
      const own = table.columnOf(use.row, this.#edgeIndex) + column
      Atomics.add(counts, own, count)
      const key = table.keyOf(use.row)
      if (counts[key] === use.keyLow && counts[key + 1] === use.keyHigh) break
      // While this access rested its row went to another.
      Atomics.sub(counts, own, count)
      use.row = -1
    }
    // Counted in before it looks: of two edges at the last place one may see the other, never both
    // neither.
    let all = 0
    const end = table.columnOf(use.row, table.edgeCount)
    for (let at = table.columnOf(use.row, 0) + column; at < end; at += 2) all += counts[at] ?? 0
    return all
  }

  /** GCRA: the time when all requests will be paid for may lie only so far ahead. */
  #pay(use: Use, count: number, nowMs: number): Exceeded | undefined {
    const { words, beganMs } = this.#table
    const time = this.#time
    const bits = this.#bits
    const at = this.#table.paidOf(use.row)
    const now = nowMs - beganMs
    const latest = now + use.aheadMs
    for (;;) {
      const last = Atomics.load(words, at)
      bits[0] = last
      const stored = time[0] ?? 0
      // Far further ahead than any request could put it: the clock was set back, or the limits are
      // others now. By a little it is ahead where another edge has read the clock since.
      const isStray = stored > latest + STRAY_MS
      const paid = isStray ? latest : Math.max(stored, now)
      const next = paid + count * use.intervalMs
      const isPaid = next <= latest
      if (!isPaid && !isStray) return this.#rateExceeded(use, count, latest - paid)
      time[0] = isPaid ? next : paid
      if (Atomics.compareExchange(words, at, last, bits[0]) === last && isPaid) return undefined
    }
  }

  #refund(use: Use, count: number): void {
    const { words } = this.#table
    const at = this.#table.paidOf(use.row)
    for (;;) {
      const last = Atomics.load(words, at)
      this.#bits[0] = last
      this.#time[0] = (this.#time[0] ?? 0) - count * use.intervalMs
      if (Atomics.compareExchange(words, at, last, this.#bits[0]) === last) return
    }
  }

  #rateExceeded(use: Use, count: number, leftMs: number): Exceeded {
    const { requestsPerSecondMax, requestsBurstMax } = use.grant.limits
    const isNever = count * use.intervalMs > use.aheadMs
    return {
      // A batch longer than the burst never passes, however long one waits.
      limit: isNever && requestsPerSecondMax > 0 ? 'requestsBurstMax' : 'requestsPerSecondMax',
      max: isNever && requestsPerSecondMax > 0 ? requestsBurstMax : requestsPerSecondMax,
      remaining: Math.max(0, Math.floor(leftMs / use.intervalMs)),
      retryAfterMs: isNever ? NEVER_RETRY_MS : count * use.intervalMs - leftMs,
    }
  }
}

const tablePath = (dataDir: string): string => join(dataDir, 'limits')

/** The table of one machine; the same options and number of edges for everybody who opens it. */
export const openLimitTable = (
  dataDir: string,
  edgeCount: number,
  { accessesMax }: Options = defaults,
): LimitTable =>
  new LimitTable(tablePath(dataDir), { edgeCount, rowCount: accessesMax, nowMs: Date.now() })

/** Begins anew, before any edge has started: nothing in flight, every burst whole. */
export const resetLimitTable = (dataDir: string): void =>
  rmSync(tablePath(dataDir), { force: true })

/** What an access has in flight and open on this machine. */
export const readLoad = (table: LimitTable, accessId: string): Load => {
  const row = table.find(keyOfAccess(accessId))
  return row === -1 ? { requestsInFlight: 0, sockets: 0 } : table.loadOf(row)
}
