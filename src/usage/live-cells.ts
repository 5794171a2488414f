import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openCells, type UsageCells } from '../native/usage/cells.js'
import { redactTokens } from '../shared/log.js'
import { OTHER_METHOD, type RefusalReason } from './calls.js'
import { cutText, paramsText } from './failure-params.js'
import { Meter, type Failed, type Slots } from './meter.js'
import { defaults, type Options } from './options.js'
import { EVENT, FAILURES_MAX, ROW } from './schema.js'
import { edgesPath, type TokenScope } from './scope.js'

/** How often slots are closed that are no longer counted in. */
export const SWEEP_MS = 5_000
/** Scopes that are kept in memory between two of their requests. */
const METERS_MAX = 8_192
/** Accesses whose events are measured. */
const ACCESSES_MAX = 4_096
/** Longest texts of an event, in characters, and its JSON in bytes. */
const TEXT_CHARS_MAX = 512
const METHOD_CHARS_MAX = 39
const EVENT_BYTES_MAX = 1_000
/** Parameters of one event: as JSON, in which quotes are escaped, twice as much. */
const PARAMS_PIECE_BYTES = 400
/**
 * Requests over a limit that an edge lists of an access: at once, and in a second. A bot that sends
 * too much sends thousands, and a few show which one it is.
 */
const LIMITED_MAX = 100
const LIMITED_PER_SECOND = 5

/** What is counted where no slot is free. */
const OTHER: TokenScope = { accessId: OTHER_METHOD, network: '', location: '' }

/** Events of one access. */
type Events = {
  /** Of those that the recorder may not have taken, how many, and the number of the last. */
  waiting: number
  last: number
  /** Failures that may be listed now, and requests over a limit. */
  readonly failures: Tokens
  readonly limited: Tokens
}

/** A token bucket. */
type Tokens = { left: number; filledMs: number }

/** Takes a token of a bucket; false if there is none. */
const take = (bucket: Tokens, perSecond: number, max: number, nowMs: number): boolean => {
  const elapsedMs = Math.max(0, nowMs - bucket.filledMs)
  bucket.left = Math.min(max, bucket.left + (elapsedMs * perSecond) / 1_000)
  bucket.filledMs = nowMs
  if (bucket.left < 1) return false
  bucket.left--
  return true
}

type Parts = {
  readonly options?: Options
  /** Called where counts cannot be stored. */
  readonly onFault: (fault: unknown) => void
}

/**
 * What one edge counts, in a file that outlives it: `native/usage` says how. The edge is its only
 * writer. Each row counts for one scope, or a method of one, until it is closed; the recorder adds
 * it to the store.
 */
export class LiveCells implements Slots {
  readonly cells: Float64Array
  readonly halves: Int32Array
  readonly #native: UsageCells
  readonly #options: Options
  readonly #onFault: (fault: unknown) => void
  readonly #meters = new Map<string, Meter>()
  /** Those that have slots. */
  readonly #open = new Set<Meter>()
  readonly #events = new Map<string, Events>()
  #eventsWritten = 0
  /** Slots that nothing counts in. */
  #retired: number[] = []
  /** A slot of each kind that all scopes share which have none. */
  readonly #shared = new Map<number, number>()
  #isFull = false

  constructor(native: UsageCells, { options = defaults, onFault }: Parts) {
    this.#native = native
    this.#options = options
    this.#onFault = onFault
    this.cells = native.cells()
    const { buffer, byteOffset, length } = this.cells
    this.halves = new Int32Array(buffer, byteOffset, length * 2)
  }

  /** Begins the shared slots. */
  start(minute: number): void {
    for (const kind of Object.values(ROW)) {
      const name = kind === ROW.minute ? '' : OTHER_METHOD
      this.#shared.set(kind, this.#native.begin(kind, minute, keyOf(OTHER, name)))
    }
  }

  /** The meter of a scope. */
  meterOf(scope: TokenScope): Meter {
    const key = keyOf(scope)
    const known = this.#meters.get(key)
    if (known !== undefined) return known
    const [oldest] = this.#meters.keys()
    if (this.#meters.size >= METERS_MAX && oldest !== undefined) this.#meters.delete(oldest)
    const { accessId, network, location } = scope
    const meter = new Meter({ accessId, network, location }, this)
    this.#meters.set(key, meter)
    return meter
  }

  /** Counts a refused attempt; one with no token of a scope belongs to nobody. */
  addRefused(
    reason: RefusalReason,
    { scope, formerTail }: { readonly scope?: TokenScope; readonly formerTail?: string },
    address: string,
    nowMs: number,
  ): void {
    if (scope !== undefined) this.meterOf(scope).addRefused(reason, address, nowMs, formerTail)
  }

  /** Closes the slots of what was not used since its minute ended. */
  sweep(nowMs: number): void {
    for (const meter of this.#open)
      if (nowMs >= meter.endsMs) {
        meter.release()
        this.#open.delete(meter)
      }
    for (const at of this.#retired) this.#native.close(at)
    this.#retired = []
  }

  /** Closes all slots: the last call before the process ends. */
  close(): void {
    this.sweep(Infinity)
  }

  opened(meter: Meter): void {
    this.#open.add(meter)
  }

  stateAt(at: number): number {
    return this.#native.stateAt(at)
  }

  begin(kind: number, minute: number, scope: TokenScope, name: string): number {
    const at = this.#native.begin(kind, minute, keyOf(scope, name))
    if (at !== 0) return at
    if (!this.#isFull) this.#onFault(new Error('all rows are in use'))
    this.#isFull = true
    return this.#shared.get(kind) ?? 0
  }

  retire(at: number): void {
    if (!this.#isShared(at)) this.#retired.push(at)
  }

  forgetShared(slots: Map<string, number>): void {
    if (this.#isFull) for (const [name, at] of slots) if (this.#isShared(at)) slots.delete(name)
  }

  addFailure(scope: TokenScope, { method, failure, elapsedMs }: Failed, nowMs: number): boolean {
    const events = this.#eventsOf(scope.accessId)
    const { code, text = '', origin = 'service', source } = failure
    const mayAdd =
      origin === 'limit'
        ? take(events.limited, LIMITED_PER_SECOND, LIMITED_MAX, nowMs)
        : take(events.failures, this.#options.failuresPerSecondMax, FAILURES_MAX, nowMs)
    if (!mayAdd) return false
    const { address = '', bytes, id: request = '', slot } = source ?? {}
    // Clients and upstreams choose both.
    const isAdded = this.addEvent(EVENT.failure, scope, {
      method: redactTokens(method.slice(0, METHOD_CHARS_MAX)),
      text: redactTokens(cutText(text, TEXT_CHARS_MAX)),
      origin,
      address,
      atMs: nowMs,
      code,
      request,
      ...(bytes !== undefined && { bytes }),
      ...(slot !== undefined && { slot }),
      ...(elapsedMs !== undefined && { elapsedUs: Math.round(elapsedMs * 1_000) }),
    })
    if (isAdded && failure.params !== undefined)
      this.#addParams(scope, method, failure.params, nowMs)
    return isAdded
  }

  /** Adds to the last event, a failure, what its call was called with. */
  #addParams(scope: TokenScope, method: string, params: unknown, nowMs: number): void {
    const text = paramsText(method, params)
    if (text === undefined) return
    const bytes = Buffer.from(text)
    for (let at = 0, nth = 1; at < bytes.length; nth++) {
      const piece = cutText(bytes.toString('utf8', at), PARAMS_PIECE_BYTES)
      at += Buffer.byteLength(piece)
      if (!this.addEvent(EVENT.params, scope, { piece, after: nth, atMs: nowMs })) return
    }
  }

  addEvent(
    kind: number,
    { accessId: access, network, location }: TokenScope,
    fields: Readonly<Record<string, string | number>>,
  ): boolean {
    const events = this.#eventsOf(access)
    const [waiting = 0, max = 0] = this.#native.waitingEvents()
    if (events.last <= this.#eventsWritten - waiting) events.waiting = 0
    if (events.waiting >= max - waiting) return false
    const toJson = (text?: string): string =>
      JSON.stringify({ access, network, location, ...fields, ...(text !== undefined && { text }) })
    let json = toJson()
    // Escapes of control characters make it longer.
    for (let text = String(fields['text'] ?? ''); text !== '' && isTooLong(json);) {
      text = cutText(text, Math.floor(text.length / 2))
      json = toJson(text)
    }
    if (!this.#native.addEvent(kind, json)) return false
    events.last = ++this.#eventsWritten
    events.waiting++
    return true
  }

  #eventsOf(accessId: string): Events {
    const known = this.#events.get(accessId)
    if (known !== undefined) return known
    const [oldest] = this.#events.keys()
    if (this.#events.size >= ACCESSES_MAX && oldest !== undefined) this.#events.delete(oldest)
    const events = {
      ...{ waiting: 0, last: 0 },
      failures: { left: FAILURES_MAX, filledMs: 0 },
      limited: { left: LIMITED_MAX, filledMs: 0 },
    }
    this.#events.set(accessId, events)
    return events
  }

  #isShared(at: number): boolean {
    for (const shared of this.#shared.values()) if (shared === at) return true
    return false
  }
}

const isTooLong = (json: string): boolean => Buffer.byteLength(json) > EVENT_BYTES_MAX

const keyOf = ({ accessId, network, location }: TokenScope, name = ''): string =>
  `${accessId}\0${network}\0${location}\0${name}`

/** Opens what one edge counts in. */
export const openLiveCells = (dataDir: string, edgeIndex: number, parts: Parts): LiveCells => {
  const { slotsMax } = parts.options ?? defaults
  const open = (): UsageCells => {
    try {
      const dir = join(edgesPath(dataDir), String(edgeIndex))
      mkdirSync(dir, { recursive: true, mode: 0o700 })
      return openCells(dir, slotsMax)
    } catch (fault) {
      // A full disk must not refuse requests. These counts end with the process.
      parts.onFault(fault)
      return openCells(undefined, slotsMax)
    }
  }
  const live = new LiveCells(open(), parts)
  live.start(Math.floor(Date.now() / 60_000))
  return live
}
