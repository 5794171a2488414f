import * as v from 'valibot'
import type { LmdbTable } from '../../storage/lmdb.js'
import type { StateChange } from './changes.js'
import { accessKey, KEY_BYTES, pack, unpack } from './rows.js'
import { SUBMISSION_ROUTES, type SubmissionRoute } from './submission.js'

/** Bytes of a number in a key. */
const NUMBER_BYTES = 8
/** Numbers of a millisecond. They come from the clock, so that a lost row's is not used again. */
const NUMBERS_PER_MS = 1_000
/** Keys that are counted in one turn of the event loop. */
const LOADED_KEYS = 5_000
/** Events of one access that are removed at once. */
const REMOVED_COUNT = 64
/** Numbers of a process begin so much later than those of the one before it may have ended. */
const START_MS = 5

/** What a submission has come to since the event before. */
export type SubmissionEvent = {
  readonly id: Uint8Array
  readonly network: string
  readonly route: SubmissionRoute
  readonly changes: readonly StateChange[]
}

const Row = v.object({
  id: v.instance(Uint8Array),
  network: v.string(),
  route: v.picklist(SUBMISSION_ROUTES),
  // This process or one of the same build has written them.
  changes: v.custom<readonly StateChange[]>(Array.isArray),
})

/** Where a reader of the events of an access is: how many changes of which event it has. */
export type Position = { readonly number: number; readonly changeCount: number }

/** Before the first event. */
export const START: Position = { number: 0, changeCount: 0 }

/** Changes after a position, with the position after each of them. */
export type ChangePage = {
  readonly changes: readonly {
    readonly event: SubmissionEvent
    readonly change: StateChange
    readonly position: Position
  }[]
  /** Events between the position and these were removed, or the position is of no event. */
  readonly isGap: boolean
  /** There are no further events. */
  readonly isLast: boolean
}

const SHAPE = /^([1-9]\d{0,15})\.([1-9]\d{0,2})$/

/** A position as text, which clients keep. */
export const formatCursor = ({ changeCount, number }: Position): string =>
  `${number}.${changeCount}`

/** The position of a text; undefined where it is none. */
export const parseCursor = (text: string): Position | undefined => {
  const [, number, changeCount] = SHAPE.exec(text) ?? []
  return number === undefined
    ? undefined
    : { number: Number(number), changeCount: Number(changeCount) }
}

const toKey = (access: Uint8Array, number: number): Buffer => {
  const key = Buffer.alloc(KEY_BYTES + NUMBER_BYTES)
  key.set(access)
  key.writeBigUInt64BE(BigInt(number), KEY_BYTES)
  return key
}

const numberOf = (key: Uint8Array): number =>
  Number(Buffer.from(key.buffer, key.byteOffset, key.byteLength).readBigUInt64BE(KEY_BYTES))

/** After every number. */
const END = Number.MAX_SAFE_INTEGER

/** Reads the events of an access after a position, at most `countMax` of them. */
export const readChanges = (
  table: LmdbTable<Uint8Array>,
  accessId: string,
  from: Position,
  countMax: number,
): ChangePage => {
  const access = accessKey(accessId)
  const changes: ChangePage['changes'][number][] = []
  let eventCount = 0
  let isGap = from.number > 0
  // The event of the position is read again: it may have further changes.
  const range = { start: toKey(access, from.number), end: toKey(access, END) }
  for (const { key, value } of table.getRange({ ...range, limit: countMax + 1 })) {
    const number = numberOf(key)
    const event: SubmissionEvent = v.parse(Row, unpack(value))
    const isOwn = number === from.number
    if (isOwn) isGap = from.changeCount > event.changes.length
    for (const [at, change] of event.changes.entries())
      if (!isOwn || at >= from.changeCount)
        changes.push({ event, change, position: { number, changeCount: at + 1 } })
    eventCount++
  }
  return { changes, isGap, isLast: eventCount <= countMax }
}

/** The position after the newest event of an access. */
export const lastPosition = (table: LmdbTable<Uint8Array>, accessId: string): Position => {
  const access = accessKey(accessId)
  const range = { start: toKey(access, END), end: toKey(access, 0), reverse: true, limit: 1 }
  for (const { key, value } of table.getRange(range))
    return { number: numberOf(key), changeCount: v.parse(Row, unpack(value)).changes.length }
  return START
}

export type EventLogOptions = {
  /** Events that are kept of one access, and in all. */
  readonly eventsAccessMax: number
  readonly eventsMax: number
}

/** The writer of the events of all accesses. One process at a time writes them. */
export class EventLog {
  private readonly table: LmdbTable<Uint8Array>
  private readonly options: EventLogOptions
  /** By key of the access, as hexadecimal. */
  private readonly counts = new Map<string, number>()
  private accesses: IterableIterator<string> = this.counts.keys()
  /** Accesses whose last removal is not committed yet. */
  private readonly removing = new Set<string>()
  private total = 0
  private last = 0

  constructor(table: LmdbTable<Uint8Array>, options: EventLogOptions) {
    this.table = table
    this.options = options
  }

  /** Learns what is stored, which no other process changes any more. */
  async load(nowMs: number): Promise<void> {
    this.counts.clear()
    this.total = 0
    this.last = (nowMs + START_MS) * NUMBERS_PER_MS
    for (const key of this.table.getKeys()) {
      this.count(Buffer.from(key).toString('hex', 0, KEY_BYTES), 1)
      this.last = Math.max(this.last, numberOf(key))
      if (this.total % LOADED_KEYS === 0) await new Promise(setImmediate)
    }
  }

  /** Writes an event, and removes old ones above the bounds. Returns the writes. */
  append(accessId: string, event: SubmissionEvent, nowMs: number): readonly Promise<boolean>[] {
    const access = accessKey(accessId)
    const name = access.toString('hex')
    this.last = Math.max(this.last + 1, nowMs * NUMBERS_PER_MS)
    const writes = [this.table.put(toKey(access, this.last), pack(event))]
    this.count(name, 1)
    const { eventsAccessMax, eventsMax } = this.options
    const count = this.counts.get(name) ?? 0
    if (count > eventsAccessMax)
      return [...writes, ...this.removeOldest(name, Infinity, count - eventsAccessMax)]
    if (this.total <= eventsMax) return writes
    return [...writes, ...this.removeOldest(this.largest(), Infinity, this.total - eventsMax)]
  }

  /** Removes events before an instant, of one access at each call. Returns the writes. */
  removeBefore(oldestMs: number): readonly Promise<boolean>[] {
    const next = this.accesses.next()
    if (next.done !== true)
      return this.removeOldest(next.value, oldestMs * NUMBERS_PER_MS, REMOVED_COUNT)
    this.accesses = this.counts.keys()
    return []
  }

  private removeOldest(
    name: string,
    before: number,
    countMax: number,
  ): readonly Promise<boolean>[] {
    if (this.removing.has(name)) return []
    const access = Buffer.from(name, 'hex')
    const limit = Math.min(countMax, REMOVED_COUNT)
    const range = { start: toKey(access, 0), end: toKey(access, END), limit }
    const writes: Promise<boolean>[] = []
    for (const key of this.table.getKeys(range)) {
      if (numberOf(key) >= before) break
      writes.push(this.table.remove(Buffer.from(key)))
    }
    if (writes.length === 0) return writes
    this.count(name, -writes.length)
    this.removing.add(name)
    const end = (): boolean => this.removing.delete(name)
    void Promise.all(writes).then(end, end)
    return writes
  }

  private largest(): string {
    let found = ''
    let most = 0
    for (const [name, count] of this.counts)
      if (count > most) {
        found = name
        most = count
      }
    return found
  }

  private count(name: string, change: number): void {
    this.total += change
    const count = (this.counts.get(name) ?? 0) + change
    if (count > 0) this.counts.set(name, count)
    else this.counts.delete(name)
  }
}
