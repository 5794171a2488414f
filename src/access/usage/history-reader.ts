import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  decodeHours,
  hourOf,
  hoursOfFile,
  type HourRecord,
  type UnitRange,
} from './history-records.js'
import {
  CELL,
  COUNT_INDEX,
  DAY_MS,
  fileOf,
  HISTORY,
  historyPath,
  HOUR_MINUTES,
  HOUR_MS,
  MINUTE_MS,
  MINUTES,
  usagePath,
  type Place,
} from './layout.js'
import {
  decodeMethodDays,
  methodDaysOfFile,
  sumMethods,
  type MethodDay,
  type MethodUsage,
} from './method-days.js'
import { edgesOf, readCells, type UsageMinute } from './reader.js'

/** Lengths of periods; days are of UTC. */
export const GRAIN_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const
export type Grain = keyof typeof GRAIN_MS

/** What is read, from a time up to but not including another one, in Unix milliseconds. */
export type HistoryQuery = {
  readonly grain: Grain
  readonly fromMs: number
  readonly untilMs: number
}

/** Counts of one place, over all edges. */
export type UsageHistory = {
  /** Minutes, hours or days with counts, oldest first. */
  readonly periods: readonly UsageMinute[]
  /** Since when all minutes are kept; of what was before, some were reduced to their hours. */
  readonly minutesFromMs: number
}

/** The hours of a place at one edge, each once. */
const hoursAt = (dataDir: string, edge: number, place: Place, query: HistoryQuery) => {
  const name = fileOf(place)
  const range = {
    from: Math.floor(query.fromMs / HOUR_MS),
    until: Math.ceil(query.untilMs / HOUR_MS),
  }
  // First: an hour that is appended meanwhile is in both.
  const file = readCells(join(usagePath(dataDir, edge), name))
  const hours = decodeHours(readOptional(join(historyPath(dataDir, edge), name)), range)
  if (file === undefined) return hours
  const stamp = file.readDoubleLE(HISTORY.stamp * 8)
  const newest = file.readDoubleLE(CELL.minute * 8)
  // The oldest hour of the file may lack minutes that the history has.
  const wholeFrom = hourOf(newest - MINUTES) + 1
  const kept = hours.filter(hour => hour.stamp !== stamp || hour.hour < wholeFrom)
  const known = new Set(kept.filter(hour => hour.stamp === stamp).map(({ hour }) => hour))
  return kept.concat(hoursOfFile(file, range).filter(({ hour }) => !known.has(hour)))
}

const readOptional = (path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}

class Periods {
  readonly #query: HistoryQuery
  readonly #sums = new Map<number, number[]>()

  constructor(query: HistoryQuery) {
    this.#query = query
  }

  get sorted(): UsageMinute[] {
    return [...this.#sums]
      .toSorted(([one], [other]) => one - other)
      .map(([startMs, sum]) => ({
        startMs,
        requests: sum[COUNT_INDEX.requests] ?? 0,
        errors: sum[COUNT_INDEX.errors] ?? 0,
        rateLimited: sum[COUNT_INDEX.rateLimited] ?? 0,
        refused: sum[COUNT_INDEX.refused] ?? 0,
      }))
  }

  /** Adds one hour; false where its minutes are wanted and not kept. */
  add({ hour, minutes, sum }: HourRecord): boolean {
    if (this.#query.grain !== 'minute') {
      for (const [index, count] of sum.entries()) this.#add(hour * HOUR_MS, index, count)
      return true
    }
    for (const [index, series] of (minutes ?? []).entries())
      for (const [minute, count] of series.entries())
        this.#add((hour * HOUR_MINUTES + minute) * MINUTE_MS, index, count)
    return minutes !== undefined
  }

  #add(atMs: number, index: number, count: number): void {
    const { fromMs, grain, untilMs } = this.#query
    if (count === 0 || atMs < fromMs || atMs >= untilMs) return
    const startMs = Math.floor(atMs / GRAIN_MS[grain]) * GRAIN_MS[grain]
    const sum = this.#sums.get(startMs) ?? [0, 0, 0, 0]
    sum[index] = (sum[index] ?? 0) + count
    this.#sums.set(startMs, sum)
  }
}

/** Reads the counts of a place at all edges of this machine. */
export const readHistory = (dataDir: string, place: Place, query: HistoryQuery): UsageHistory => {
  const periods = new Periods(query)
  let minutesFromMs = 0
  for (const edge of edgesOf(dataDir))
    for (const hour of hoursAt(dataDir, edge, place, query))
      if (!periods.add(hour)) minutesFromMs = Math.max(minutesFromMs, (hour.hour + 1) * HOUR_MS)
  return { periods: periods.sorted, minutesFromMs }
}

/** The days of a place at one edge, each once. */
const methodDaysAt = (dataDir: string, edge: number, place: Place, range: UnitRange) => {
  const name = fileOf(place)
  // First: a day that is appended meanwhile is in both.
  const file = readCells(join(usagePath(dataDir, edge), name))
  const days = decodeMethodDays(readOptional(join(historyPath(dataDir, edge), name)), range)
  if (file === undefined) return days
  const own = methodDaysOfFile(file, range)
  const isOwn = (one: MethodDay): boolean =>
    own.some(({ stamp, day }) => stamp === one.stamp && day === one.day)
  return days.filter(one => !isOwn(one)).concat(own)
}

/** What was done with each method of a place in a range of days since 1970, on this machine. */
export const readMethodUsage = (
  dataDir: string,
  place: Place,
  range: UnitRange,
): readonly MethodUsage[] =>
  sumMethods(
    edgesOf(dataDir)
      .flatMap(edge => methodDaysAt(dataDir, edge, place, range))
      .flatMap(({ methods }) => methods),
  )
