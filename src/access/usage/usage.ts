import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sharedCells } from '../../native/os.js'
import { allocateFile } from '../store/allocate-file.js'
import {
  ADDRESS_AT,
  ADDRESS_CHARS_MAX,
  attemptAt,
  CELL,
  COUNT_INDEX,
  COUNTS,
  LAYOUT,
  MINUTE_MS,
  minuteAt,
  MINUTES,
  REASON_AT,
  REFUSAL_REASONS,
  UNKNOWN_TOKEN,
  USAGE_CELLS,
  usagePath,
  type RefusalReason,
} from './layout.js'
import { defaults, type Options } from './options.js'

/** Counts what one token does at one edge, in a file that outlives the edge. */
export class Meter {
  readonly #cells: Float64Array
  readonly #counts: Int32Array
  readonly #bytes: Buffer
  /** Index of the newest minute among the counts. */
  #at = minuteAt(0)
  #minuteEndsMs = 0

  constructor(cells: Float64Array) {
    this.#cells = cells
    this.#counts = new Int32Array(cells.buffer, cells.byteOffset, cells.length * 2)
    this.#bytes = Buffer.from(cells.buffer, cells.byteOffset, cells.byteLength)
    if (cells[CELL.layout] !== LAYOUT) {
      cells.fill(0)
      cells[CELL.layout] = LAYOUT
    }
    this.#toMinute(cells[CELL.minute] ?? 0)
  }

  /** When a request was last counted, in minutes since 1970. */
  get minute(): number {
    return this.#cells[CELL.minute] ?? 0
  }

  /** Where the requests of the current minute are counted, among halves of cells, and its end. */
  get current(): { readonly cells: Float64Array; readonly at: number; readonly endsMs: number } {
    return { cells: this.#cells, at: this.#at, endsMs: this.#minuteEndsMs }
  }

  addRequests(count: number, nowMs: number): void {
    if (nowMs >= this.#minuteEndsMs) this.#startMinute(nowMs)
    const at = this.#at + COUNT_INDEX.requests
    this.#counts[at] = (this.#counts[at] ?? 0) + count
  }

  /** Counts a failed request, in the minute of the last request. */
  addError(): void {
    const at = this.#at + COUNT_INDEX.errors
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  /** Counts a request that was answered 429, beside `addRequests`. */
  addRateLimited(): void {
    const at = this.#at + COUNT_INDEX.rateLimited
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  addRefused(reason: RefusalReason, address: string, nowMs: number): void {
    if (nowMs >= this.#minuteEndsMs) this.#startMinute(nowMs)
    const at = this.#at + COUNT_INDEX.refused
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    const number = this.#cells[CELL.refused] ?? 0
    const attempt = attemptAt(number)
    const bytes = this.#bytes
    this.#cells[attempt / 8] = nowMs
    bytes[attempt + REASON_AT] = REFUSAL_REASONS.indexOf(reason)
    bytes[attempt + REASON_AT + 1] = Math.min(address.length, ADDRESS_CHARS_MAX)
    bytes.write(address, attempt + ADDRESS_AT, ADDRESS_CHARS_MAX, 'latin1')
    this.#cells[CELL.refused] = number + 1
  }

  #toMinute(minute: number): void {
    this.#at = minuteAt(minute)
    this.#minuteEndsMs = (minute + 1) * MINUTE_MS
  }

  /** Starts a new minute. After the clock was set back, requests count in the newest one. */
  #startMinute(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS)
    const first = Math.max(this.minute + 1, minute - MINUTES + 1)
    for (let passed = first; passed <= minute; passed++) {
      const at = minuteAt(passed)
      this.#counts.fill(0, at, at + COUNTS)
    }
    this.#cells[CELL.minute] = minute
    this.#toMinute(minute)
  }
}

/** Names of the files of tokens, the least recently written one first. */
const filesByAge = (dir: string): string[] =>
  readdirSync(dir)
    .filter(name => name !== UNKNOWN_TOKEN)
    .map(name => ({ name, atMs: statSync(join(dir, name)).mtimeMs }))
    .sort((one, other) => one.atMs - other.atMs)
    .map(({ name }) => name)

/** The counts of one edge, by token. The edge is the only writer of its files. */
export class Usage {
  readonly #dir: string
  readonly #tokensMax: number
  readonly #filesMax: number
  readonly #onFault: (fault: unknown) => void
  readonly #meters = new Map<string, Meter>()
  /** Names of files without a meter, the least recently used one first. */
  readonly #unused: Set<string>
  /** Of attempts with tokens that do not exist. */
  readonly #unknown: Meter

  /** `onFault` is called where counts cannot be stored. */
  constructor(dir: string, options: Options, onFault: (fault: unknown) => void) {
    this.#dir = dir
    this.#tokensMax = options.tokensMax
    this.#filesMax = options.filesMax
    this.#onFault = onFault
    this.#unused = new Set(filesByAge(dir))
    this.#unknown = this.#open(UNKNOWN_TOKEN)
  }

  /** The meter of a token, by its public id. */
  meterOf(tokenId: string): Meter {
    const known = this.#meters.get(tokenId)
    if (known !== undefined) return known
    if (this.#meters.size >= this.#tokensMax) this.#evictOldest()
    this.#unused.delete(tokenId)
    this.#removeOverMax()
    const meter = this.#open(tokenId)
    this.#meters.set(tokenId, meter)
    return meter
  }

  /** Counts a refused attempt; `tokenId` is undefined where there is no such token. */
  addRefused(
    reason: RefusalReason,
    tokenId: string | undefined,
    address: string,
    nowMs: number,
  ): void {
    const meter = tokenId === undefined ? this.#unknown : this.meterOf(tokenId)
    meter.addRefused(reason, address, nowMs)
  }

  /** Removes the files of tokens that were not used for a day. */
  sweep(nowMs: number): void {
    const oldestMs = nowMs - MINUTES * MINUTE_MS
    try {
      for (const [tokenId, { minute }] of this.#meters)
        if (minute * MINUTE_MS < oldestMs) this.#evict(tokenId)
      for (const name of this.#unused) {
        const path = join(this.#dir, name)
        const known = statSync(path, { throwIfNoEntry: false })
        if (known !== undefined && known.mtimeMs >= oldestMs) continue
        this.#unused.delete(name)
        rmSync(path, { force: true })
      }
    } catch (fault) {
      this.#onFault(fault)
    }
  }

  #open(tokenId: string): Meter {
    try {
      const path = join(this.#dir, tokenId)
      allocateFile(path, USAGE_CELLS * 8)
      return new Meter(sharedCells(path, USAGE_CELLS))
    } catch (fault) {
      // A full disk must not refuse requests. These counts stay in memory, and the dashboard does
      // not show them.
      this.#onFault(fault)
      return new Meter(new Float64Array(USAGE_CELLS))
    }
  }

  #evictOldest(): void {
    let oldest: string | undefined
    let oldestMinute = Infinity
    for (const [tokenId, { minute }] of this.#meters)
      if (minute < oldestMinute) [oldest, oldestMinute] = [tokenId, minute]
    if (oldest !== undefined) this.#evict(oldest)
  }

  /** The file of the token stays. */
  #evict(tokenId: string): void {
    this.#meters.delete(tokenId)
    this.#unused.add(tokenId)
  }

  /** Removes files, so that there is room for one more. */
  #removeOverMax(): void {
    for (const name of this.#unused) {
      if (this.#meters.size + this.#unused.size < this.#filesMax) return
      this.#unused.delete(name)
      try {
        rmSync(join(this.#dir, name), { force: true })
      } catch (fault) {
        this.#onFault(fault)
      }
    }
  }
}

/** Opens the counts of one edge. */
export const openUsage = (
  dataDir: string,
  edgeIndex: number,
  {
    options = defaults,
    onFault,
  }: { readonly options?: Options; readonly onFault: (fault: unknown) => void },
): Usage => {
  const dir = usagePath(dataDir, edgeIndex)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  return new Usage(dir, options, onFault)
}
