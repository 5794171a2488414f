import { mkdirSync, readdirSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { sharedCells } from '../../native/os.js'
import { allocateFile } from '../store/allocate-file.js'
import {
  ADDRESS_AT,
  ADDRESS_CHARS_MAX,
  ATTEMPT_BYTES,
  ATTEMPTS,
  ATTEMPTS_AT,
  CELL,
  COUNTS,
  LAYOUT,
  MINUTE_MS,
  MINUTES,
  MINUTES_AT,
  REASON_AT,
  REFUSAL_REASONS,
  UNKNOWN_TOKEN,
  USAGE_CELLS,
  usagePath,
  type RefusalReason,
} from './layout.js'

export type Options = Readonly<typeof defaults>

/** Bounds of what one edge counts. */
export const defaults = {
  /**
   * Tokens whose requests an edge counts at a time, 28 KiB each; the one that rested longest gives
   * way.
   */
  tokensMax: 2_048,
  /** Counts of tokens that did nothing for a day are removed this often. */
  sweepMs: 3_600_000,
}

const COUNT_OF = { requests: 0, errors: 1, rateLimited: 2, refused: 3 } as const

/** Counts what one token does at one edge, in a file that outlives the edge. */
export class Meter {
  readonly #cells: Float64Array
  readonly #counts: Int32Array
  readonly #bytes: Buffer
  /** TokenScope of the newest minute among the counts. */
  #at = MINUTES_AT
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

  addRequests(count: number, nowMs: number): void {
    if (nowMs >= this.#minuteEndsMs) this.#turn(nowMs)
    this.#counts[this.#at] = (this.#counts[this.#at] ?? 0) + count
  }

  /** In the minute of the last request. */
  addError(): void {
    const at = this.#at + COUNT_OF.errors
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  /** One of the requests that were counted was answered 429. */
  addRateLimited(): void {
    const at = this.#at + COUNT_OF.rateLimited
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  addRefused(reason: RefusalReason, address: string, nowMs: number): void {
    if (nowMs >= this.#minuteEndsMs) this.#turn(nowMs)
    const at = this.#at + COUNT_OF.refused
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    const number = this.#cells[CELL.refused] ?? 0
    const attempt = ATTEMPTS_AT + (number % ATTEMPTS) * ATTEMPT_BYTES
    const bytes = this.#bytes
    this.#cells[attempt / 8] = nowMs
    bytes[attempt + REASON_AT] = REFUSAL_REASONS.indexOf(reason)
    bytes[attempt + REASON_AT + 1] = Math.min(address.length, ADDRESS_CHARS_MAX)
    bytes.write(address, attempt + ADDRESS_AT, ADDRESS_CHARS_MAX, 'latin1')
    this.#cells[CELL.refused] = number + 1
  }

  #toMinute(minute: number): void {
    this.#at = MINUTES_AT + (minute % MINUTES) * COUNTS.length
    this.#minuteEndsMs = (minute + 1) * MINUTE_MS
  }

  /** Begins a minute. A clock that was set back counts on in the newest one. */
  #turn(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS)
    const first = Math.max(this.minute + 1, minute - MINUTES + 1)
    for (let passed = first; passed <= minute; passed++) {
      const at = MINUTES_AT + (passed % MINUTES) * COUNTS.length
      this.#counts.fill(0, at, at + COUNTS.length)
    }
    this.#cells[CELL.minute] = minute
    this.#toMinute(minute)
  }
}

/** What one edge counts, by token. */
export type Usage = {
  /** Meter of a token, by its public name. */
  meterOf(tokenId: string): Meter
  /** Of attempts that belong to no token. */
  readonly unknown: Meter
  /** Removes the files of tokens that did nothing for a day. */
  sweep(nowMs: number): void
}

/**
 * Opens the counts of one edge, which alone writes them. `onFault` is told where counts cannot be
 * kept.
 */
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
  const meters = new Map<string, Meter>()

  const open = (tokenId: string): Meter => {
    try {
      const path = join(dir, tokenId)
      allocateFile(path, USAGE_CELLS * 8)
      return new Meter(sharedCells(path, USAGE_CELLS))
    } catch (fault) {
      // A full disk must not refuse requests; they are counted in memory, where nobody sees it.
      onFault(fault)
      return new Meter(new Float64Array(USAGE_CELLS))
    }
  }

  const dropOldest = (): void => {
    let oldest: string | undefined
    let oldestMinute = Infinity
    for (const [tokenId, { minute }] of meters)
      if (minute < oldestMinute) [oldest, oldestMinute] = [tokenId, minute]
    if (oldest !== undefined) meters.delete(oldest)
  }

  const unknown = open(UNKNOWN_TOKEN)
  return {
    unknown,
    meterOf(tokenId) {
      const known = meters.get(tokenId)
      if (known !== undefined) return known
      if (meters.size >= options.tokensMax) dropOldest()
      const meter = open(tokenId)
      meters.set(tokenId, meter)
      return meter
    },
    sweep(nowMs) {
      try {
        const oldestMs = nowMs - MINUTES * MINUTE_MS
        for (const [tokenId, { minute }] of meters)
          if (minute * MINUTE_MS < oldestMs) meters.delete(tokenId)
        for (const name of readdirSync(dir))
          if (name !== UNKNOWN_TOKEN && !meters.has(name) && isOlder(join(dir, name), oldestMs))
            unlinkSync(join(dir, name))
      } catch (fault) {
        onFault(fault)
      }
    },
  }
}

const isOlder = (path: string, timeMs: number): boolean => statSync(path).mtimeMs < timeMs
