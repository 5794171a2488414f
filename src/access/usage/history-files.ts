import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../../shared/atomic-file.js'
import { wholeBytesOf } from './history-frames.js'
import {
  decodeHours,
  encodeHour,
  hourOf,
  hoursOfFile,
  newStamp,
  type HourRecord,
} from './history-records.js'
import { CELL, DAY_MS, DAY_SLOTS, DETAIL_SLOTS, HISTORY, HISTORY_BYTES, HOUR_MS } from './layout.js'
import {
  decodeMethodDays,
  encodeMethodDay,
  methodDaysOfFile,
  type MethodDay,
} from './method-days.js'
import type { Options } from './options.js'

type HistoryOptions = Pick<Options, 'historyDaysMax' | 'historyBytesMax' | 'historyTotalBytesMax'>

const HOURS_A_DAY = DAY_MS / HOUR_MS
/** What is left of `historyBytesMax` once it was reached. */
const SHRUNK_SHARE = 0.75

const readOptional = (path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}

/** What is appended to a history, or kept of it. */
type Records = { readonly hours: readonly HourRecord[]; readonly days: readonly MethodDay[] }

/** The first hour and day that are not over: what was before them is appended. */
export type Over = { readonly hour: number; readonly day: number }

const encodeAll = ({ hours, days }: Records): Buffer =>
  Buffer.concat([...hours.map(encodeHour), ...days.map(encodeMethodDay)])

/** Removes an incomplete record from the end of a history; returns its oldest hour. */
const repair = (path: string): number | undefined => {
  const bytes = readOptional(path)
  const hours = decodeHours(bytes)
  const whole = wholeBytesOf(bytes)
  if (whole < bytes.length) truncateSync(path, whole)
  return hours.length === 0 ? undefined : Math.min(...hours.map(({ hour }) => hour))
}

type Kept = { record: Buffer; readonly hour: number; readonly smaller?: () => Buffer }

const toKept = ({ hours, days }: Records): Kept[] =>
  [
    ...hours.map(one => {
      const { minutes: _, ...sums } = one
      return { record: encodeHour(one), hour: one.hour, smaller: () => encodeHour(sums) }
    }),
    ...days.map(one => ({ record: encodeMethodDay(one), hour: (one.day + 1) * HOURS_A_DAY })),
  ].toSorted((one, other) => one.hour - other.hour)

/** Records without their oldest minutes, then without the oldest ones, until they fit. */
const shrink = (records: Records, bytesMax: number): Buffer => {
  const kept = toKept(records)
  let bytes = kept.reduce((sum, { record }) => sum + record.length, 0)
  for (const one of kept) {
    if (bytes <= bytesMax) break
    const smaller = one.smaller?.() ?? one.record
    bytes += smaller.length - one.record.length
    one.record = smaller
  }
  while (bytes > bytesMax) bytes -= kept.shift()?.record.length ?? bytes
  return Buffer.concat(kept.map(({ record }) => record))
}

/**
 * The minutes, hours and days of places at one edge, a file for each place: its records are
 * appended once they are over. The edge is the only writer.
 */
export class HistoryFiles {
  readonly #dirs: { readonly usage: string; readonly history: string }
  readonly #options: HistoryOptions
  /** The first hour and day of each file of counts that its history lacks. */
  readonly #next = new Map<string, Over>()
  /** The oldest hour of each history that ends with a whole record. */
  readonly #oldestHours = new Map<string, number>()

  constructor(dirs: { readonly usage: string; readonly history: string }, options: HistoryOptions) {
    mkdirSync(dirs.history, { recursive: true, mode: 0o700 })
    this.#dirs = dirs
    this.#options = options
  }

  /** Whether a file of counts has hours or days that are over and its history may lack. */
  lacks(name: string, head: Buffer, over: Over): boolean {
    const { hour, day } = this.#next.get(name) ?? { hour: 0, day: 0 }
    const newestHour = hourOf(head.readDoubleLE(CELL.minute * 8))
    const newestDay = Math.max(...DAY_SLOTS.map(slot => head.readDoubleLE(slot * 8)))
    const lacksHours = hour < over.hour && hour <= newestHour
    const lacksDays = day < over.day && day <= newestDay
    return lacksHours || lacksDays
  }

  /** Appends what a file of counts has before a time, and its history lacks. */
  append(name: string, file: Buffer, over: Over): void {
    const cellOf = (cell: number): number => file.readDoubleLE(cell * 8)
    const stamp = cellOf(HISTORY.stamp) || newStamp()
    file.writeDoubleLE(stamp, HISTORY.stamp * 8)
    const [fromHour, fromDay] = [cellOf(HISTORY.hour), cellOf(HISTORY.day)]
    const hours = hoursOfFile(file, { from: fromHour, until: over.hour })
    const days = methodDaysOfFile(file, { from: fromDay, until: over.day })
    if (hours.length + days.length > 0) this.#write(name, { hours, days })
    const newestDay = Math.max(...DETAIL_SLOTS.map(cellOf))
    const next = {
      hour: Math.max(fromHour, Math.min(over.hour, hourOf(cellOf(CELL.minute)) + 1)),
      day: Math.max(fromDay, Math.min(over.day, newestDay + 1)),
    }
    file.writeDoubleLE(next.hour, HISTORY.hour * 8)
    file.writeDoubleLE(next.day, HISTORY.day * 8)
    const counts = join(this.#dirs.usage, name)
    const descriptor = openSync(counts, 'r+')
    try {
      writeSync(descriptor, file, HISTORY.stamp * 8, HISTORY_BYTES, HISTORY.stamp * 8)
    } finally {
      closeSync(descriptor)
    }
    this.#next.set(name, next)
  }

  /** A file of counts was removed. */
  forget(name: string): void {
    this.#next.delete(name)
  }

  /** Removes histories that are older than is kept, and the oldest ones over the bound of bytes. */
  async prune(nowMs: number): Promise<void> {
    const { historyDaysMax, historyTotalBytesMax } = this.#options
    const oldestMs = nowMs - (historyDaysMax + 1) * DAY_MS
    const files: { name: string; atMs: number; bytes: number }[] = []
    for (const name of readdirSync(this.#dirs.history)) {
      const found = await stat(join(this.#dirs.history, name)).catch(() => undefined)
      if (found !== undefined) files.push({ name, atMs: found.mtimeMs, bytes: found.size })
    }
    let bytes = 0
    for (const file of files.toSorted((one, other) => other.atMs - one.atMs)) {
      bytes += file.bytes
      if (file.atMs >= oldestMs && bytes <= historyTotalBytesMax) continue
      this.#oldestHours.delete(file.name)
      rmSync(join(this.#dirs.history, file.name), { force: true })
    }
  }

  #write(name: string, records: Records): void {
    const { historyBytesMax, historyDaysMax } = this.#options
    const path = join(this.#dirs.history, name)
    const newestDay = records.days.at(-1)?.day ?? 0
    const newest = records.hours.at(-1)?.hour ?? (newestDay + 1) * HOURS_A_DAY - 1
    const oldest = this.#oldestHours.get(name) ?? repair(path) ?? newest
    // What is thrown below may leave an incomplete record.
    this.#oldestHours.delete(name)
    appendFileSync(path, encodeAll(records), { mode: 0o600 })
    const from = newest - historyDaysMax * HOURS_A_DAY
    // Once a day, where only old hours have to be removed.
    const isOld = oldest < from - HOURS_A_DAY
    if (isOld || statSync(path).size > historyBytesMax) {
      const bytes = readFileSync(path)
      const hours = decodeHours(bytes, { from, until: Infinity })
      const days = decodeMethodDays(bytes, { from: from / HOURS_A_DAY, until: Infinity })
      replaceFile(path, shrink({ hours, days }, historyBytesMax * SHRUNK_SHARE))
    }
    // Its age is that of what it has.
    const endSeconds = ((newest + 1) * HOUR_MS) / 1_000
    utimesSync(path, endSeconds, endSeconds)
    this.#oldestHours.set(name, isOld ? from : oldest)
  }
}
