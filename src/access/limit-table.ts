import { createHash } from 'node:crypto'
import { sharedCells } from '../native/os.js'
import { allocateFile } from './allocate-file.js'

/**
 * What accesses use at this moment: cells that every edge of the machine maps and changes by atomic
 * operations alone, so that an edge which dies at any instant leaves nothing half done. One row for
 * each access in use:
 *
 *     cell 0      key of the access, 0 where the row was never taken
 *     cell 1      when its requests will be paid off (GCRA), in milliseconds since the table began
 *     cell 2 + n  of edge n: requests in flight, then open sockets, 32 bits each
 */
const KEY = 0
const PAID = 1
const COLUMNS = 2

/**
 * Before the rows: who changes keys just now (edge + 1, or 0), and when the table began (Unix
 * milliseconds).
 */
const LOCK = 0
const BEGAN = 1
const HEADER_CELLS = 2

/** What one file holds at most: a bound of the mapping. */
const CELLS_MAX = 2 ** 20

/** In place of a key while its row passes to another access. */
const IN_BETWEEN = -1n

/**
 * Looks at the lock before it is taken for that of a stopped process; each is far less than a
 * microsecond.
 */
const LOCK_LOOKS = 100_000

/** What one access may have and has, at one moment. */
export type Load = { readonly requestsInFlight: number; readonly sockets: number }

/**
 * The key of an access: 64 bits of a digest. Two accesses with the same one would share their
 * limits.
 */
export const keyOfAccess = (accessId: string): bigint => {
  const key = createHash('sha256').update(accessId).digest().readBigInt64LE()
  return key === 0n || key === IN_BETWEEN ? 1n : key
}

export class LimitTable {
  /** Of 8 bytes: keys, and times as their bits. */
  readonly words: BigInt64Array
  /** The same cells, as times. */
  readonly times: Float64Array
  /** The same cells, in halves: columns. */
  readonly counts: Int32Array
  /**
   * Unix milliseconds: times of the table count from here, or a double could not hold fractions of
   * microseconds.
   */
  readonly beganMs: number
  readonly edgeCount: number
  readonly #rowCount: number
  readonly #rowCells: number

  /** `rowCount` and `edgeCount` must be the same for every process that maps the file. */
  constructor(
    path: string,
    {
      edgeCount,
      rowCount,
      nowMs,
    }: { readonly edgeCount: number; readonly rowCount: number; readonly nowMs: number },
  ) {
    this.edgeCount = edgeCount
    this.#rowCount = rowCount
    this.#rowCells = COLUMNS + edgeCount
    const most = Math.floor((CELLS_MAX - HEADER_CELLS) / this.#rowCells)
    if (rowCount > most)
      throw new Error(
        `access.limits.accessesMax: at most ${most} with ${edgeCount} edges, not ${rowCount}`,
      )
    const cellCount = HEADER_CELLS + rowCount * this.#rowCells
    allocateFile(path, cellCount * 8)
    const cells = sharedCells(path, cellCount)
    this.words = new BigInt64Array(cells.buffer, cells.byteOffset, cells.length)
    this.counts = new Int32Array(cells.buffer, cells.byteOffset, cells.length * 2)
    this.times = cells
    // Whoever comes first says when it began.
    const now = new Float64Array([nowMs])
    Atomics.compareExchange(this.words, BEGAN, 0n, new BigInt64Array(now.buffer)[0] ?? 0n)
    this.beganMs = cells[BEGAN] ?? 0
  }

  #row(index: number): number {
    return HEADER_CELLS + (index % this.#rowCount) * this.#rowCells
  }

  /** Index into `counts` of an edge's requests in flight; its sockets are the next. */
  columnOf(row: number, edgeIndex: number): number {
    return (row + COLUMNS + edgeIndex) * 2
  }

  /** Index into `words` and `times`. */
  paidOf(row: number): number {
    return row + PAID
  }

  /** Index into `counts` of the two halves of the key. */
  keyOf(row: number): number {
    return (row + KEY) * 2
  }

  /** The row of an access, −1 where it has none. */
  find(key: bigint): number {
    const home = this.#home(key)
    for (let step = 0; step < this.#rowCount; step++) {
      const row = this.#row(home + step)
      const found = Atomics.load(this.words, row + KEY)
      if (found === key) return row
      // Rows pass on, but are never empty again: what was put here or later found this one taken.
      if (found === 0n) return -1
    }
    return -1
  }

  /** The row of an access, given one where it has none; −1 where every row is in use. */
  take(key: bigint, edgeIndex: number, nowMs: number): number {
    const found = this.find(key)
    if (found !== -1) return found
    this.#lock(edgeIndex)
    try {
      const again = this.find(key)
      return again === -1 ? this.#assign(key, nowMs - this.beganMs) : again
    } finally {
      this.#unlock(edgeIndex)
    }
  }

  /**
   * Forgets what an edge had in flight and open. Only once it has ended, or by itself before it
   * begins.
   */
  clearEdge(edgeIndex: number): void {
    for (let index = 0; index < this.#rowCount; index++) {
      const column = this.columnOf(this.#row(index), edgeIndex)
      if (this.counts[column] !== 0) Atomics.store(this.counts, column, 0)
      if (this.counts[column + 1] !== 0) Atomics.store(this.counts, column + 1, 0)
    }
    this.#unlock(edgeIndex)
  }

  /** What all edges together have in flight and open. */
  loadOf(row: number): Load {
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
    const { requestsInFlight, sockets } = this.loadOf(row)
    return requestsInFlight === 0 && sockets === 0
  }

  #assign(key: bigint, now: number): number {
    const home = this.#home(key)
    for (let step = 0; step < this.#rowCount; step++) {
      const row = this.#row(home + step)
      const last = Atomics.load(this.words, row + KEY)
      const isFree = last === 0n || last === IN_BETWEEN
      // A row whose requests are paid off says no more than a fresh one.
      if (!isFree && !((this.times[row + PAID] ?? 0) <= now && this.#isIdle(row))) continue
      if (Atomics.compareExchange(this.words, row + KEY, last, IN_BETWEEN) !== last) continue
      // Its edges count themselves in before they look at the key. Who was in time keeps the row.
      if (!isFree && !this.#isIdle(row)) {
        Atomics.store(this.words, row + KEY, last)
        continue
      }
      this.times[row + PAID] = now
      Atomics.store(this.words, row + KEY, key)
      return row
    }
    return -1
  }

  #lock(edgeIndex: number): void {
    for (let look = 0; look < LOCK_LOOKS; look++)
      if (Atomics.compareExchange(this.counts, LOCK, 0, edgeIndex + 1) === 0) return
    // A process that was stopped just here must not stop the others; the worst is a second row for
    // one access.
  }

  #unlock(edgeIndex: number): void {
    Atomics.compareExchange(this.counts, LOCK, edgeIndex + 1, 0)
  }
}
