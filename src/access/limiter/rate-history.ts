import { existsSync, statSync } from 'node:fs'
import { sharedCells } from '../../native/os.js'
import { LIMIT_NAMES, mapLimits, type LimitName } from '../../shared/access-limits.js'

/**
 * What accesses did in the last 24 hours on this machine, in a file that outlives the process. Its
 * only writer is control. Cells of 8 bytes in rows, one for each access:
 *
 *     cell 0        key of the access (64-bit integer), 0 where there is none
 *     cell 1        when it was last written, Unix milliseconds
 *     from cell 2   a ring of quarter-hours: its number since 1970, the highest requests in one
 *                   second, when that was, then refusals by limit in the order of `LIMIT_NAMES`
 */
const USED = 1
const BUCKETS = 2
const BUCKET = { number: 0, peak: 1, peakAtMs: 2, refused: 3 } as const
const BUCKET_CELLS = BUCKET.refused + LIMIT_NAMES.length
const BUCKET_COUNT = 96
const ROW_CELLS = BUCKETS + BUCKET_COUNT * BUCKET_CELLS
const ROWS_MIN = 16

/** A quarter of an hour. */
const BUCKET_MS = 900_000

/** The highest rate in a quarter-hour, of some second of it. */
export type Peak = {
  readonly startMs: number
  readonly perSecond: number
  readonly atMs: number
}

/** Refusals by limit. */
export type Refused = Readonly<Record<LimitName, number>>

export type Recorded = {
  /** Quarter-hours with requests, the oldest first. */
  readonly peaks: readonly Peak[]
  readonly refused: Refused
}

/** One second of an access. */
export type Second = {
  readonly perSecond: number
  /** In the order of `LIMIT_NAMES`. */
  readonly refused: readonly number[]
}

export class RateHistory {
  readonly #path: string
  readonly #rowsMax: number
  #cells: Float64Array = new Float64Array()
  #keys: BigInt64Array = new BigInt64Array()
  readonly #rows = new Map<bigint, number>()

  /** Of more than `rowsMax` accesses those are kept that were used last. */
  constructor(path: string, rowsMax: number) {
    this.#path = path
    this.#rowsMax = rowsMax
    const bytes = existsSync(path) ? statSync(path).size : 0
    this.#map(Math.floor(bytes / 8 / ROW_CELLS))
    for (let row = 0; row < this.#rowCount; row++) {
      const key = this.#keys[row * ROW_CELLS] ?? 0n
      if (key !== 0n) this.#rows.set(key, row * ROW_CELLS)
    }
  }

  /** Records a second in which the access was used. */
  record(key: bigint, { perSecond, refused }: Second, nowMs: number): void {
    const row = this.#rows.get(key) ?? this.#assign(key)
    const cells = this.#cells
    cells[row + USED] = nowMs
    const number = Math.floor(nowMs / BUCKET_MS)
    const at = row + BUCKETS + (number % BUCKET_COUNT) * BUCKET_CELLS
    if (cells[at] !== number) {
      cells.fill(0, at, at + BUCKET_CELLS)
      cells[at] = number
    }
    if (perSecond > (cells[at + BUCKET.peak] ?? 0)) {
      cells[at + BUCKET.peak] = perSecond
      cells[at + BUCKET.peakAtMs] = nowMs
    }
    for (const [index, count] of refused.entries()) {
      const cell = at + BUCKET.refused + index
      cells[cell] = (cells[cell] ?? 0) + count
    }
  }

  read(key: bigint, nowMs: number): Recorded {
    const row = this.#rows.get(key)
    const buckets = row === undefined ? [] : this.#bucketsOf(row, nowMs)
    const cells = this.#cells
    const cellOf = (at: number, cell: number): number => cells[at + cell] ?? 0
    return {
      peaks: buckets
        .map(at => ({
          startMs: cellOf(at, BUCKET.number) * BUCKET_MS,
          perSecond: cellOf(at, BUCKET.peak),
          atMs: cellOf(at, BUCKET.peakAtMs),
        }))
        .filter(({ perSecond }) => perSecond > 0)
        .toSorted((one, other) => one.startMs - other.startMs),
      refused: mapLimits(name => {
        const cell = BUCKET.refused + LIMIT_NAMES.indexOf(name)
        return buckets.reduce((sum, at) => sum + cellOf(at, cell), 0)
      }),
    }
  }

  get #rowCount(): number {
    return this.#cells.length / ROW_CELLS
  }

  /** Where the quarter-hours of the last day begin. */
  #bucketsOf(row: number, nowMs: number): readonly number[] {
    const newest = Math.floor(nowMs / BUCKET_MS)
    return Array.from(
      { length: BUCKET_COUNT },
      (_, index) => row + BUCKETS + index * BUCKET_CELLS,
    ).filter(at => {
      const number = this.#cells[at] ?? 0
      return number > newest - BUCKET_COUNT && number <= newest
    })
  }

  #assign(key: bigint): number {
    const row = this.#rows.size < this.#rowsMax ? this.#append() : this.#evict()
    this.#cells.fill(0, row, row + ROW_CELLS)
    this.#keys[row] = key
    this.#rows.set(key, row)
    return row
  }

  #append(): number {
    const row = this.#rows.size
    if (row >= this.#rowCount) this.#map(Math.min(this.#rowsMax, Math.max(ROWS_MIN, row * 2)))
    return row * ROW_CELLS
  }

  #evict(): number {
    const usedMs = (row: number): number => this.#cells[row + USED] ?? 0
    let oldest: readonly [key: bigint, row: number] = [0n, 0]
    for (const entry of this.#rows)
      if (oldest[0] === 0n || usedMs(entry[1]) < usedMs(oldest[1])) oldest = entry
    this.#rows.delete(oldest[0])
    return oldest[1]
  }

  #map(rowCount: number): void {
    if (rowCount === 0) return
    this.#cells = sharedCells(this.#path, rowCount * ROW_CELLS)
    const { buffer, byteOffset, length } = this.#cells
    this.#keys = new BigInt64Array(buffer, byteOffset, length)
  }
}
