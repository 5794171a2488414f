import { createHash } from 'node:crypto'
import { sharedCells } from '../../native/os.js'
import type { LimitName } from '../../shared/access-limits.js'
import type { Rate } from '../../shared/gcra.js'
import { countsPath, LimitCounts, type Subscriptions } from './limit-counts.js'

/**
 * Utilisation of accesses at this moment: cells of 8 bytes that every edge of the machine maps and
 * changes only by atomic operations, so that an edge that ends at any instant leaves no partial
 * change. One row per access in use:
 *
 *     cell 0      key of the access, 0 where the row was never assigned
 *     cell 1      theoretical arrival time of its requests (GCRA), Unix nanoseconds
 *     cell 2      requests that were charged and not yet reported to other machines, 32 bits; then
 *                 those that were reported, 32 bits
 *     cells 3, 4  the rate: interval and burst in nanoseconds
 *     cell 5 + n  of edge n: requests in flight, then open sockets, 32 bits each
 *     last cell   the same, of all other machines of the cluster
 */
const KEY = 0
const ARRIVAL_TIME = 1
const CHARGED = 2
const INTERVAL = 3
const BURST = 4
const COLUMNS = 5

/** Before the rows: the edge that assigns a row at this moment (edge + 1, or 0). */
const LOCK = 0
const HEADER_CELLS = 1

/** Bound of the mapping. */
const CELLS_MAX = 2 ** 20

/** Replaces the key of a row while it is assigned to another access. */
const ASSIGNING = -1n

/**
 * A row that was used more recently is assigned to another access only where no other row is idle:
 * what was counted in it since the last sample would be lost.
 */
const REST_NS = 2_000_000_000n

/** No row of the table. */
export const NO_ROW = -1

/**
 * Attempts to take the lock before its owner counts as stopped; each takes far less than a
 * microsecond.
 */
const LOCK_ATTEMPTS = 100_000

/**
 * How far a debt to other machines may move an arrival time beyond the burst: less than what counts
 * as a stale time.
 */
const DEBT_NS_MAX = 900_000_000n

/** What an access has in use over all edges. */
export type Utilisation = { readonly requestsInFlight: number; readonly sockets: number }

const COUNT_BITS = 32
const toCount = (bits: bigint): bigint => BigInt.asUintN(COUNT_BITS, bits)

/**
 * The key of an access: 64 bits of a digest. Two accesses with the same one would share their
 * limits.
 */
export const keyOfAccess = (accessId: string): bigint => {
  const key = createHash('sha256').update(accessId).digest().readBigInt64LE()
  return key === 0n || key === ASSIGNING ? 1n : key
}

export class LimitTable {
  readonly cells: Float64Array
  /** The cells as 64-bit integers: keys and times. */
  readonly words: BigInt64Array
  /** The same cells in halves: counts. */
  readonly counts: Int32Array
  readonly edgeCount: number
  /** Columns of a row: one of each edge, and that of other machines. */
  readonly columnCount: number
  /** What is counted of each row beside its limits. */
  readonly #activity: LimitCounts
  readonly #rowCount: number
  readonly #rowCells: number

  /** `rowCount` and `edgeCount` must be the same for every process that maps the file. */
  constructor(
    path: string,
    { edgeCount, rowCount }: { readonly edgeCount: number; readonly rowCount: number },
  ) {
    this.edgeCount = edgeCount
    this.columnCount = edgeCount + 1
    this.#rowCount = rowCount
    this.#rowCells = COLUMNS + edgeCount + 1
    const rowCountMax = Math.floor((CELLS_MAX - HEADER_CELLS) / this.#rowCells)
    if (rowCount > rowCountMax)
      throw new Error(
        `access.limits.accessesMax: at most ${rowCountMax} with ${edgeCount} edges, not ${rowCount}`,
      )
    const cellCount = HEADER_CELLS + rowCount * this.#rowCells
    const cells = sharedCells(path, cellCount)
    this.cells = cells
    this.words = new BigInt64Array(cells.buffer, cells.byteOffset, cells.length)
    this.counts = new Int32Array(cells.buffer, cells.byteOffset, cells.length * 2)
    this.#activity = new LimitCounts(countsPath(path), { edgeCount, rowCount })
  }

  /** The index of a row that begins at this cell. */
  #indexOf(row: number): number {
    return (row - HEADER_CELLS) / this.#rowCells
  }

  #row(index: number): number {
    return HEADER_CELLS + (index % this.#rowCount) * this.#rowCells
  }

  /** Index into `counts` of an edge's requests in flight; its sockets are the next one. */
  columnOf(row: number, edgeIndex: number): number {
    return (row + COLUMNS + edgeIndex) * 2
  }

  /** Index into `words` of the theoretical arrival time. */
  arrivalTimeOf(row: number): number {
    return row + ARRIVAL_TIME
  }

  /** Index into `counts` of the requests that were charged and not yet reported. */
  chargedOf(row: number): number {
    return (row + CHARGED) * 2
  }

  /** Index into `counts` of the two halves of the key. */
  keyOf(row: number): number {
    return (row + KEY) * 2
  }

  /** The row of an access, or `NO_ROW`. */
  find(key: bigint): number {
    const home = this.#home(key)
    for (let step = 0; step < this.#rowCount; step++) {
      const row = this.#row(home + step)
      const found = Atomics.load(this.words, row + KEY)
      if (found === key) return row
      // A row that was assigned once is never empty again, so no later row of the probe sequence
      // has the key.
      if (found === 0n) return NO_ROW
    }
    return NO_ROW
  }

  /** The row of an access, assigned to it if it has none; `NO_ROW` while every row is in use. */
  findOrAssign(key: bigint, edgeIndex: number, nowNs: bigint): number {
    const found = this.find(key)
    if (found !== NO_ROW) return found
    this.#lock(edgeIndex)
    try {
      const again = this.find(key)
      return again === NO_ROW ? this.#assign(key, nowNs) : again
    } finally {
      this.#unlock(edgeIndex)
    }
  }

  /** The rate that the edges enforce, for `charge`. */
  setRate(row: number, { intervalNs, burstNs }: Rate): void {
    Atomics.store(this.words, row + INTERVAL, intervalNs)
    Atomics.store(this.words, row + BURST, burstNs)
  }

  /** Every row that is assigned, and the key of its access. */
  *assigned(): Generator<readonly [row: number, key: bigint]> {
    for (let index = 0; index < this.#rowCount; index++) {
      const row = this.#row(index)
      const key = Atomics.load(this.words, row + KEY)
      if (key !== 0n && key !== ASSIGNING) yield [row, key]
    }
  }

  /** The requests that were charged since the last call; from now on they count as reported. */
  takeCharged(row: number): number {
    const index = row + CHARGED
    for (;;) {
      const word = Atomics.load(this.words, index)
      const charged = toCount(word)
      const reported = toCount((word >> BigInt(COUNT_BITS)) + charged)
      const next = BigInt.asIntN(64, reported << BigInt(COUNT_BITS))
      if (Atomics.compareExchange(this.words, index, word, next) === word) return Number(charged)
    }
  }

  /** The requests that were charged since the row was assigned, modulo 2³². */
  chargedTotalOf(row: number): number {
    const word = Atomics.load(this.words, row + CHARGED)
    return Number(toCount(word + (word >> BigInt(COUNT_BITS))))
  }

  /** Counts a request, a WebSocket or a subscription over a limit. */
  addRefused(row: number, limit: LimitName): void {
    this.#activity.addRefused(this.#indexOf(row), limit)
  }

  /** What was refused since the row was assigned, in the order of `LIMIT_NAMES`, modulo 2³². */
  refusedOf(row: number): readonly number[] {
    return this.#activity.refusedOf(this.#indexOf(row))
  }

  /** What an access has at one edge. */
  setSubscriptions(row: number, edgeIndex: number, subscriptions: Subscriptions): void {
    this.#activity.setSubscriptions(this.#indexOf(row), edgeIndex, subscriptions)
  }

  /** Over the edges of this machine. */
  subscriptionsOf(row: number): Subscriptions {
    return this.#activity.subscriptionsOf(this.#indexOf(row))
  }

  /** What the access has in use on other machines. */
  setOthers(row: number, { requestsInFlight, sockets }: Utilisation): void {
    const column = this.columnOf(row, this.edgeCount)
    Atomics.store(this.counts, column, requestsInFlight)
    Atomics.store(this.counts, column + 1, sockets)
  }

  /**
   * Charges requests of other machines, as nanoseconds of the row's rate, although the burst may be
   * used up. Returns what must be charged later: at most 0.9 s beyond the burst are charged at a
   * time.
   */
  charge(row: number, owedNs: bigint, nowNs: bigint): bigint {
    const latest = nowNs + Atomics.load(this.words, row + BURST) + DEBT_NS_MAX
    for (;;) {
      const stored = Atomics.load(this.words, row + ARRIVAL_TIME)
      const arrival = stored < nowNs ? nowNs : stored
      const room = latest - arrival
      if (room <= 0n) return owedNs
      const paid = owedNs < room ? owedNs : room
      const index = row + ARRIVAL_TIME
      if (Atomics.compareExchange(this.words, index, stored, arrival + paid) === stored)
        return owedNs - paid
    }
  }

  /** Nanoseconds of the row's rate that so many requests cost. */
  costOf(row: number, requests: number): bigint {
    return BigInt(requests) * Atomics.load(this.words, row + INTERVAL)
  }

  /** Clears the counts of an edge. Only after it has ended, or by itself before it starts. */
  clearEdge(edgeIndex: number): void {
    for (let index = 0; index < this.#rowCount; index++) {
      const column = this.columnOf(this.#row(index), edgeIndex)
      if (this.counts[column] !== 0) Atomics.store(this.counts, column, 0)
      if (this.counts[column + 1] !== 0) Atomics.store(this.counts, column + 1, 0)
    }
    this.#activity.clearEdge(edgeIndex)
    this.#unlock(edgeIndex)
  }

  /** Sums over the edges of this machine. */
  utilisationOf(row: number): Utilisation {
    let requestsInFlight = 0
    let sockets = 0
    for (let edge = 0; edge < this.edgeCount; edge++) {
      const column = this.columnOf(row, edge)
      requestsInFlight += Atomics.load(this.counts, column)
      sockets += Atomics.load(this.counts, column + 1)
    }
    return { requestsInFlight, sockets }
  }

  #home(key: bigint): number {
    return Number(BigInt.asUintN(32, key)) % this.#rowCount
  }

  #isIdle(row: number): boolean {
    const { requestsInFlight, sockets } = this.utilisationOf(row)
    return requestsInFlight === 0 && sockets === 0
  }

  #assign(key: bigint, nowNs: bigint): number {
    const rested = this.#assignIdle(key, nowNs, nowNs - REST_NS)
    return rested === NO_ROW ? this.#assignIdle(key, nowNs, nowNs) : rested
  }

  /** Assigns a row that was not used since `idleNs`. */
  #assignIdle(key: bigint, nowNs: bigint, idleNs: bigint): number {
    const home = this.#home(key)
    for (let step = 0; step < this.#rowCount; step++) {
      const row = this.#row(home + step)
      const last = Atomics.load(this.words, row + KEY)
      const isFree = last === 0n || last === ASSIGNING
      // An idle row whose arrival time has passed has the same effect as a new one.
      const isExpired = Atomics.load(this.words, row + ARRIVAL_TIME) <= idleNs
      if (!isFree && !(isExpired && this.#isIdle(row))) continue
      if (Atomics.compareExchange(this.words, row + KEY, last, ASSIGNING) !== last) continue
      // Edges add to their column before they compare the key: one that was in time keeps the row.
      if (!isFree && !this.#isIdle(row)) {
        Atomics.store(this.words, row + KEY, last)
        continue
      }
      Atomics.store(this.words, row + ARRIVAL_TIME, nowNs)
      Atomics.store(this.words, row + CHARGED, 0n)
      this.setOthers(row, { requestsInFlight: 0, sockets: 0 })
      this.#activity.clear(this.#indexOf(row))
      Atomics.store(this.words, row + KEY, key)
      return row
    }
    return NO_ROW
  }

  /**
   * Continues without the lock if its owner is stopped; the worst result is a second row for one
   * access.
   */
  #lock(edgeIndex: number): void {
    for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++)
      if (Atomics.compareExchange(this.counts, LOCK, 0, edgeIndex + 1) === 0) return
  }

  #unlock(edgeIndex: number): void {
    Atomics.compareExchange(this.counts, LOCK, edgeIndex + 1, 0)
  }
}
