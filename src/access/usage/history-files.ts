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
import { allocateFile } from '../store/allocate-file.js'
import {
  decodeHistory,
  encodeHour,
  hourOf,
  hoursOfFile,
  newStamp,
  wholeBytesOf,
  type HourRecord,
} from './history-records.js'
import { CELL, DAY_MS, HISTORY, HOUR_MS, USAGE_CELLS } from './layout.js'
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

/** Removes an incomplete record from the end of a history; returns its oldest hour. */
const repair = (path: string): number | undefined => {
  const bytes = readOptional(path)
  const { hours } = decodeHistory(bytes)
  const whole = wholeBytesOf(bytes)
  if (whole < bytes.length) truncateSync(path, whole)
  return hours.length === 0 ? undefined : Math.min(...hours.map(({ hour }) => hour))
}

/** Records without their oldest minutes, then without the oldest hours, until they fit. */
const shrink = (hours: readonly HourRecord[], bytesMax: number): Buffer => {
  const newestFirst = hours.toSorted((one, other) => other.hour - one.hour)
  const records = newestFirst.map(encodeHour)
  let bytes = records.reduce((sum, { length }) => sum + length, 0)
  for (let index = records.length - 1; index >= 0 && bytes > bytesMax; index--) {
    const { minutes: _, ...sums } = newestFirst[index] ?? { stamp: 0, hour: 0, sum: [] }
    const smaller = encodeHour(sums)
    bytes += smaller.length - (records[index]?.length ?? 0)
    records[index] = smaller
  }
  while (bytes > bytesMax) bytes -= records.pop()?.length ?? bytes
  return Buffer.concat(records.toReversed())
}

/**
 * The minutes and hours of places at one edge, a file for each place: its records are appended once
 * their hours are over. The edge is the only writer.
 */
export class HistoryFiles {
  readonly #dirs: { readonly usage: string; readonly history: string }
  readonly #options: HistoryOptions
  /** The first hour of each file of counts that its history lacks. */
  readonly #nextHours = new Map<string, number>()
  /** The oldest hour of each history that ends with a whole record. */
  readonly #oldestHours = new Map<string, number>()

  constructor(dirs: { readonly usage: string; readonly history: string }, options: HistoryOptions) {
    mkdirSync(dirs.history, { recursive: true, mode: 0o700 })
    this.#dirs = dirs
    this.#options = options
  }

  /** Whether a file of counts may have hours before this one that its history lacks. */
  lacks(name: string, minute: number, until: number): boolean {
    const next = this.#nextHours.get(name) ?? 0
    return minute > 0 && next < until && next <= hourOf(minute)
  }

  /** Appends the hours of a file of counts that its history lacks, up to but not including one. */
  append(name: string, file: Buffer, until: number): void {
    const counts = join(this.#dirs.usage, name)
    const stamp = file.readDoubleLE(HISTORY.stamp * 8) || newStamp()
    file.writeDoubleLE(stamp, HISTORY.stamp * 8)
    const from = file.readDoubleLE(HISTORY.hour * 8)
    const hours = hoursOfFile(file, { from, until })
    if (hours.length > 0) this.#write(name, hours)
    const next = Math.max(from, Math.min(until, hourOf(file.readDoubleLE(CELL.minute * 8)) + 1))
    file.writeDoubleLE(next, HISTORY.hour * 8)
    allocateFile(counts, USAGE_CELLS * 8)
    const descriptor = openSync(counts, 'r+')
    try {
      writeSync(descriptor, file, HISTORY.stamp * 8, 16, HISTORY.stamp * 8)
    } finally {
      closeSync(descriptor)
    }
    this.#nextHours.set(name, next)
  }

  /** A file of counts was removed. */
  forget(name: string): void {
    this.#nextHours.delete(name)
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

  #write(name: string, hours: readonly HourRecord[]): void {
    const { historyBytesMax, historyDaysMax } = this.#options
    const path = join(this.#dirs.history, name)
    const newest = hours.at(-1)?.hour ?? 0
    const oldest = this.#oldestHours.get(name) ?? repair(path) ?? newest
    // What is thrown below may leave an incomplete record.
    this.#oldestHours.delete(name)
    appendFileSync(path, Buffer.concat(hours.map(encodeHour)), { mode: 0o600 })
    const from = newest - historyDaysMax * HOURS_A_DAY
    // Once a day, where only old hours have to be removed.
    const isOld = oldest < from - HOURS_A_DAY
    if (isOld || statSync(path).size > historyBytesMax) {
      const kept = decodeHistory(readFileSync(path), { from, until: Infinity })
      replaceFile(path, shrink(kept.hours, historyBytesMax * SHRUNK_SHARE))
    }
    // Its age is that of what it has.
    const endSeconds = ((newest + 1) * HOUR_MS) / 1_000
    utimesSync(path, endSeconds, endSeconds)
    this.#oldestHours.set(name, isOld ? from : oldest)
  }
}
