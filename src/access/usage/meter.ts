import { newStamp } from './history-records.js'
import { bucketOf } from './latency.js'
import {
  ADDRESS_AT,
  ADDRESS_CHARS_MAX,
  attemptAt,
  CELL,
  CLIENTS,
  CODE,
  codeAt,
  CODES,
  COUNT_INDEX,
  COUNTS,
  DAY_CELLS,
  DAY_INDEX,
  DAY_MS,
  dayAt,
  dayOf,
  DETAIL_CELLS,
  detailsAt,
  HISTORY,
  latenciesAt,
  LAYOUT,
  METHOD_CHARS_MAX,
  methodAt,
  methodCountsAt,
  METHODS,
  MINUTE_MS,
  minuteAt,
  MINUTES,
  REASON_AT,
  REFUSAL_REASONS,
  REPLACED,
  REPLACED_COUNT,
  REPLACED_DAY,
  type RefusalReason,
} from './layout.js'
import { RecentTable } from './recent-table.js'

/** Method of what was refused before its method was read, and of what is no call. */
export const NO_METHOD = '(none)'
/** Method of calls whose own is not counted: too many, or no name that a table can have. */
const OTHER_METHOD = '(other)'
/** Method of a WebSocket that is opened. */
export const OPEN_SOCKET = '(connect)'

/** Not names of methods, so that no client can call one. */
const OWN: ReadonlySet<string> = new Set([NO_METHOD, OTHER_METHOD, OPEN_SOCKET])

// linear: at most METHOD_CHARS_MAX characters
const NAME = new RegExp(`^[A-Za-z0-9_/][A-Za-z0-9_./-]{0,${METHOD_CHARS_MAX - 1}}$`)

/** The first day that is not written to a file of its own yet: an earlier one is over. */
export type OpenDays = { firstDay: number }

/** Why a call failed: the code of the JSON-RPC error, or the status of the answer. */
export type CallFailure = {
  readonly code: number
  readonly text?: string
  /** Who refused it; the service where it is absent. */
  readonly origin?: FailureOrigin
  readonly addressOf?: () => string
}

/** Who refused a call. */
export const FAILURE_ORIGINS = ['service', 'upstream'] as const
export type FailureOrigin = (typeof FAILURE_ORIGINS)[number]

/** Called for each failed call. */
export type OnFailure = (method: string, failure: CallFailure, nowMs: number) => void

/** How a call ended; of one that did not run there is no time. */
export type CallEnd = {
  readonly failure?: CallFailure | undefined
  readonly elapsedMs?: number | undefined
}

/** Where native code counts requests until the end of a minute. */
export type MeterCells = {
  readonly cells: Float64Array
  /** Among halves of cells. */
  readonly at: number
  /** Requests of methods in the day of this minute, among cells. */
  methodsAt(methods: readonly string[]): readonly number[]
  /** The buckets of their durations, among halves of cells. */
  durationsAt(methods: readonly string[]): readonly number[]
  readonly endsMs: number
}

/** The names of the methods in a file, by their index. */
export const readMethods = (bytes: Buffer): string[] => {
  const count = Math.min(METHODS, bytes.readDoubleLE(CELL.methods * 8))
  return Array.from({ length: count }, (_, index) => {
    const at = methodAt(index)
    return bytes.toString('latin1', at + 1, at + 1 + (bytes[at] ?? 0))
  })
}

/** Counts what the tokens of one place do at one edge, in a file that outlives the edge. */
export class Meter {
  readonly #cells: Float64Array
  readonly #counts: Int32Array
  readonly #bytes: Buffer
  readonly #open: OpenDays
  readonly #onFailure: OnFailure | undefined
  /** Index of the newest minute among the counts. */
  #at = minuteAt(0)
  #minuteEndsMs = 0
  /** The cell of the newest day, and its end. */
  #dayCell = 0
  #detailCell = 0
  #dayEndsMs = 0
  readonly #methods = new Map<string, number>()
  readonly #clients: RecentTable
  readonly #replaced: RecentTable
  /** Its file may have another meter, or none: what comes next must be counted in that. */
  isEvicted = false

  constructor(cells: Float64Array, open: OpenDays, onFailure?: OnFailure) {
    this.#onFailure = onFailure
    this.#cells = cells
    this.#open = open
    this.#counts = new Int32Array(cells.buffer, cells.byteOffset, cells.length * 2)
    this.#bytes = Buffer.from(cells.buffer, cells.byteOffset, cells.byteLength)
    this.#clients = new RecentTable(cells, this.#bytes, CLIENTS)
    this.#replaced = new RecentTable(cells, this.#bytes, REPLACED)
    if (cells[CELL.layout] !== LAYOUT) {
      cells.fill(0)
      cells[CELL.layout] = LAYOUT
    }
    cells[HISTORY.stamp] ||= newStamp()
    this.#toMinute(cells[CELL.minute] ?? 0)
  }

  /** When a request was last counted, in minutes since 1970. */
  get minute(): number {
    return this.#cells[CELL.minute] ?? 0
  }

  /** Where the requests of the current minute are counted, and its end. */
  get current(): MeterCells {
    const endsMs = this.#minuteEndsMs
    return {
      cells: this.#cells,
      at: this.#at,
      endsMs,
      methodsAt: methods => {
        this.#toDay(endsMs - 1)
        return methods.map(method => methodCountsAt(this.#dayCell, this.#indexOf(method)))
      },
      durationsAt: methods => {
        this.#toDay(endsMs - 1)
        return methods.map(method => latenciesAt(this.#detailCell, this.#indexOf(method)))
      },
    }
  }

  addRequests(count: number, nowMs: number): void {
    if (nowMs >= this.#minuteEndsMs) this.#startMinute(nowMs)
    const at = this.#at + COUNT_INDEX.requests
    this.#counts[at] = (this.#counts[at] ?? 0) + count
  }

  /**
   * Counts a call in the day, once its method and outcome are known. A failed one is also counted
   * in the minute of the last request.
   */
  addCall(method: string, { failure, elapsedMs }: CallEnd, nowMs: number): void {
    if (nowMs >= this.#dayEndsMs) this.#toDay(nowMs)
    const index = this.#indexOf(method)
    const at = methodCountsAt(this.#dayCell, index)
    this.#add(at + DAY_INDEX.requests)
    if (elapsedMs !== undefined)
      this.#addToHalf(latenciesAt(this.#detailCell, index) + bucketOf(elapsedMs))
    if (failure === undefined) return
    this.#addCode(index, failure.code)
    this.#onFailure?.(method, failure, nowMs)
    this.#add(at + DAY_INDEX.errors)
    this.#addToHalf(this.#at + COUNT_INDEX.errors)
  }

  /** Counts a request that was answered 429, beside `addRequests` and `addCall`. */
  addRateLimited(method: string, nowMs: number): void {
    const minute = this.#at + COUNT_INDEX.rateLimited
    this.#counts[minute] = (this.#counts[minute] ?? 0) + 1
    if (nowMs >= this.#dayEndsMs) this.#toDay(nowMs)
    this.#add(methodCountsAt(this.#dayCell, this.#indexOf(method)) + DAY_INDEX.rateLimited)
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

  /** Keeps when a client was seen. */
  addClient(address: string, nowMs: number): void {
    if (address !== '') this.#clients.see(address, nowMs)
  }

  /** Counts an attempt with a former token in its day. `tail` is the end of the token. */
  addReplaced(tail: string, address: string, nowMs: number): void {
    const { cell, isNew } = this.#replaced.see(`${tail} ${address}`, nowMs)
    const day = dayOf(nowMs)
    if (isNew || this.#cells[cell + REPLACED_DAY] !== day) {
      this.#cells[cell + REPLACED_DAY] = day
      this.#cells[cell + REPLACED_COUNT] = 0
    }
    this.#add(cell + REPLACED_COUNT)
  }

  #add(cell: number): void {
    this.#cells[cell] = (this.#cells[cell] ?? 0) + 1
  }

  #addToHalf(index: number): void {
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
  }

  #addCode(method: number, code: number): void {
    const counts = this.#counts
    const end = codeAt(this.#detailCell, CODES)
    for (let at = codeAt(this.#detailCell, 0); at < end; at += CODE.halves) {
      const found = counts[at + CODE.method] ?? 0
      if (found === 0) {
        counts[at + CODE.method] = method + 1
        counts[at + CODE.code] = code
      } else if (found !== method + 1 || counts[at + CODE.code] !== code) continue
      return this.#addToHalf(at + CODE.count)
    }
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

  /** Counts in this day from now on; in a later one where this day is over. */
  #toDay(nowMs: number): void {
    const day = Math.max(dayOf(nowMs), this.#open.firstDay)
    const cell = dayAt(day)
    if (this.#cells[cell] !== day) {
      this.#cells.fill(0, cell, cell + DAY_CELLS)
      this.#cells[cell] = day
    }
    const details = detailsAt(day)
    if (this.#cells[details] !== day) {
      this.#cells.fill(0, details, details + DETAIL_CELLS)
      this.#cells[details] = day
    }
    this.#dayCell = cell
    this.#detailCell = details
    this.#dayEndsMs = (day + 1) * DAY_MS
  }

  #indexOf(method: string): number {
    const known = this.#methods.get(method)
    if (known !== undefined) return known
    const index = this.#assign(OWN.has(method) || NAME.test(method) ? method : OTHER_METHOD)
    // The names of a client cannot fill the memory: others than those of the file are found again.
    if (this.#methods.size < METHODS) this.#methods.set(method, index)
    return index
  }

  /** The index of a method, after the file's own: a former meter of it may have added some. */
  #assign(method: string): number {
    const names = readMethods(this.#bytes)
    const found = names.indexOf(method)
    if (found !== -1) return found
    // The last one is for those that have none.
    if (names.length >= METHODS - 1 && method !== OTHER_METHOD) return this.#assign(OTHER_METHOD)
    const at = methodAt(names.length)
    this.#bytes[at] = method.length
    this.#bytes.write(method, at + 1, METHOD_CHARS_MAX, 'latin1')
    this.#cells[CELL.methods] = names.length + 1
    return names.length
  }
}
