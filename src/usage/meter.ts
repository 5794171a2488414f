import { SLOT } from '../native/usage/cells.js'
import { LIMIT_NAMES, type LimitName } from '../shared/access-limits.js'
import {
  NO_METHOD,
  OPEN_SOCKET,
  OTHER_METHOD,
  type CallFailure,
  type RefusalReason,
} from './calls.js'
import { bucketOf } from './latency.js'
import { EVENT, METHOD_FIGURE_NAMES, MINUTE_FIGURES, ROW } from './schema.js'
import { MINUTE_MS, type TokenScope } from './scope.js'

/** Longest name of a method. */
const METHOD_CHARS_MAX = 39
/** Names of a scope; further ones are counted as `OTHER_METHOD`. */
const METHODS_MAX = 62
/** Former tokens and addresses of a scope; further ones are counted without an address. */
const REPLACED_MAX = 32
const DAY_MINUTES = 1_440

/** The time of a client is stored again after this. */
const CLIENT_MS = 10_000
const CLIENTS_MAX = 64
const ADDRESS_CHARS_MAX = 45

/** Not names of methods, so that no client can call one. */
const OWN: ReadonlySet<string> = new Set([NO_METHOD, OTHER_METHOD, OPEN_SOCKET])

// linear: at most METHOD_CHARS_MAX characters
const NAME = new RegExp(`^[A-Za-z0-9_/][A-Za-z0-9_./-]{0,${METHOD_CHARS_MAX - 1}}$`)

const indexes = <const N extends readonly string[]>(names: N): Record<N[number], number> =>
  Object.fromEntries(names.map((name, index) => [name, SLOT.figuresAt + index])) as Record<
    N[number],
    number
  >

/** Cells of figures, from the first one of a slot. */
const MINUTE = indexes(MINUTE_FIGURES)
const METHOD = indexes(METHOD_FIGURE_NAMES)
const REPLACED = { attempts: SLOT.figuresAt, seenMs: SLOT.figuresAt + 1 }

/** Where native code counts requests until the end of a minute. */
export type MeterCells = {
  readonly cells: Float64Array
  /** The first cell of the slot of the minute. */
  readonly minuteAt: number
  readonly endsMs: number
}

/** How a call ended; of one that did not run there is no time. */
type CallEnd = {
  readonly failure?: CallFailure | undefined
  readonly elapsedMs?: number | undefined
}

/** A failed call that may be listed. */
export type Failed = {
  readonly method: string
  readonly failure: CallFailure
  readonly elapsedMs?: number | undefined
}

/** The slots of an edge, and its events. */
export type Slots = {
  readonly cells: Float64Array
  /** The same as 32-bit integers. */
  readonly halves: Int32Array
  /** A slot for a row, by its first cell; the shared one where there is no other. */
  begin(kind: number, minute: number, scope: TokenScope, name: string): number
  /** Closes a slot at the next sweep: until then it may be counted in. */
  retire(at: number): void
  /** Forgets which rows have no slot of their own, so that they get one. */
  forgetShared(slots: Map<string, number>): void
  /** The cell of the state of a slot. */
  stateAt(at: number): number
  /** A meter has slots from now on. */
  opened(meter: Meter): void
  /** Hands a failed call to the recorder; false if it comes too fast to be listed. */
  addFailure(scope: TokenScope, failed: Failed, nowMs: number): boolean
  /** Hands an event to the recorder, unless the access has as many waiting as it leaves room. */
  addEvent(
    kind: number,
    scope: TokenScope,
    fields: Readonly<Record<string, string | number>>,
  ): boolean
}

/** Counts what the tokens of one scope do at one edge. */
export class Meter {
  readonly scope: TokenScope
  readonly #live: Slots
  readonly #cells: Float64Array
  readonly #halves: Int32Array
  #minute = 0
  /** When the slot of the minute ends; 0: there is none. */
  #endsMs = 0
  #at = 0
  readonly #methods = new Map<string, number>()
  readonly #replaced = new Map<string, number>()
  /** Names that were counted this day. */
  readonly #names = new Set<string>()
  readonly #clients = new Map<string, number>()

  constructor(scope: TokenScope, live: Slots) {
    this.scope = scope
    this.#live = live
    this.#cells = live.cells
    this.#halves = live.halves
  }

  get endsMs(): number {
    return this.#endsMs
  }

  /** Where the requests of the current minute are counted, and its end. */
  get current(): MeterCells {
    return { cells: this.#cells, minuteAt: this.#at, endsMs: this.#endsMs }
  }

  /** The cell of the state of the slot of the minute. */
  get stateAt(): number {
    return this.#live.stateAt(this.#at)
  }

  /** The first cell of the slot of each method. */
  slotsOf(methods: readonly string[]): number[] {
    return methods.map(method => this.#slotOf(method))
  }

  addRequests(count: number, nowMs: number): void {
    if (nowMs >= this.#endsMs) this.#start(nowMs)
    this.#add(this.#at + MINUTE.requests, count)
  }

  /** Counts a call once its method and outcome are known. */
  addCall(method: string, { failure, elapsedMs }: CallEnd, nowMs: number): void {
    if (nowMs >= this.#endsMs) this.#start(nowMs)
    const at = this.#slotOf(method)
    this.#add(at + METHOD.requests)
    if (elapsedMs !== undefined) this.#addHalf((at + SLOT.latenciesAt) * 2 + bucketOf(elapsedMs))
    if (failure === undefined) return
    this.#add(at + METHOD.errors)
    this.#add(this.#at + MINUTE.errors)
    this.#addCode(at, failure.code)
    const isListed = this.#live.addFailure(this.scope, { method, failure, elapsedMs }, nowMs)
    if (!isListed) this.#add(this.#at + MINUTE.unlisted)
  }

  /** Counts what a limit has refused, beside `addRateLimited` if it was answered 429. */
  addOverLimit(limit: LimitName, nowMs: number): void {
    if (nowMs >= this.#endsMs) this.#start(nowMs)
    this.#addCode(this.#at, LIMIT_NAMES.indexOf(limit))
  }

  /** Counts a request that was answered 429, beside `addRequests` and `addCall`; lists some. */
  addRateLimited(method: string, nowMs: number, failure?: CallFailure): void {
    if (nowMs >= this.#endsMs) this.#start(nowMs)
    this.#add(this.#at + MINUTE.rateLimited)
    this.#add(this.#slotOf(method) + METHOD.rateLimited)
    if (failure !== undefined) this.#live.addFailure(this.scope, { method, failure }, nowMs)
  }

  /** Counts a refused attempt; `formerTail` is the end of a former token. */
  addRefused(reason: RefusalReason, address: string, nowMs: number, formerTail?: string): void {
    if (nowMs >= this.#endsMs) this.#start(nowMs)
    this.#add(this.#at + MINUTE.refused)
    this.#live.addEvent(EVENT.refused, this.scope, { address, reason, atMs: nowMs })
    if (formerTail === undefined) return
    const at = this.#replacedAt(`${formerTail} ${address.slice(0, ADDRESS_CHARS_MAX)}`)
    this.#add(at + REPLACED.attempts)
    this.#cells[at + REPLACED.seenMs] = nowMs
  }

  /** Keeps when a client was seen. */
  addClient(address: string, nowMs: number): void {
    if (address === '' || nowMs - (this.#clients.get(address) ?? 0) < CLIENT_MS) return
    if (this.#clients.size >= CLIENTS_MAX) this.#clients.clear()
    this.#clients.set(address, nowMs)
    this.#live.addEvent(EVENT.client, this.scope, { address, atMs: nowMs })
  }

  /** Ends to count in its slots; the next count begins others. */
  release(): void {
    this.#endsMs = 0
    if (this.#at !== 0) this.#live.retire(this.#at)
    this.#at = 0
    this.#releaseMethods()
  }

  #releaseMethods(): void {
    for (const slots of [this.#methods, this.#replaced]) {
      for (const at of slots.values()) this.#live.retire(at)
      slots.clear()
    }
  }

  /** After the clock was set back, requests count in the newest minute. */
  #start(nowMs: number): void {
    const minute = Math.max(this.#minute, Math.floor(nowMs / MINUTE_MS))
    const isOver = (minutes: number): boolean =>
      Math.floor(minute / minutes) !== Math.floor(this.#minute / minutes)
    if (minute !== this.#minute) this.#releaseMethods()
    if (isOver(DAY_MINUTES)) this.#names.clear()
    this.#minute = minute
    if (this.#at !== 0) this.#live.retire(this.#at)
    this.#at = this.#live.begin(ROW.minute, minute, this.scope, '')
    this.#live.forgetShared(this.#methods)
    this.#live.forgetShared(this.#replaced)
    this.#endsMs = Math.max(nowMs + 1, (minute + 1) * MINUTE_MS)
    this.#live.opened(this)
  }

  #add(cell: number, count = 1): void {
    this.#cells[cell] = (this.#cells[cell] ?? 0) + count
  }

  #addHalf(half: number): void {
    this.#halves[half] = (this.#halves[half] ?? 0) + 1
  }

  /**
   * Pairs of a code and its count; codes beyond them have no count of their own. In the slot of a
   * minute they are indexes of limits.
   */
  #addCode(slot: number, code: number): void {
    const first = (slot + SLOT.codesAt) * 2
    for (let half = first; half < first + SLOT.codes * 2; half += 2) {
      if (this.#halves[half + 1] === 0) this.#halves[half] = code
      else if (this.#halves[half] !== code) continue
      return this.#addHalf(half + 1)
    }
  }

  #slotOf(method: string): number {
    return this.#methods.get(method) ?? this.#begin(this.#nameOf(method))
  }

  #begin(name: string): number {
    const known = this.#methods.get(name)
    if (known !== undefined) return known
    const at = this.#live.begin(ROW.method, this.#minute, this.scope, name)
    this.#methods.set(name, at)
    return at
  }

  /** The names that clients call cannot fill the store. */
  #nameOf(method: string): string {
    if (OWN.has(method) || this.#names.has(method)) return method
    if (!NAME.test(method) || this.#names.size >= METHODS_MAX) return OTHER_METHOD
    this.#names.add(method)
    return method
  }

  #replacedAt(name: string): number {
    const known = this.#replaced.get(name)
    if (known !== undefined) return known
    const [tail = ''] = name.split(' ')
    if (this.#replaced.size >= REPLACED_MAX && !name.endsWith(' '))
      return this.#replacedAt(`${tail} `)
    const at = this.#live.begin(ROW.replaced, this.#minute, this.scope, name)
    this.#replaced.set(name, at)
    return at
  }
}
