import { join } from 'node:path'
import {
  CELL,
  COUNT_INDEX,
  COUNTS,
  fileOf,
  MINUTE_MS,
  minuteAt,
  MINUTES,
  usagePath,
  type Place,
} from './layout.js'
import { edgesOf, readCells } from './reader.js'

/** Counts of a place in some time. */
export type Counts = Readonly<Record<keyof typeof COUNT_INDEX, number>>

/** What a place did: in the last hour, in the last 24, and its requests in each of these. */
export type Traffic = {
  readonly hour: Counts
  readonly day: Counts
  /** Requests, the oldest hour first. */
  readonly hours: readonly number[]
}

const HOUR_MINUTES = 60
const HOURS = MINUTES / HOUR_MINUTES
const NAMES = Object.keys(COUNT_INDEX) as readonly (keyof Counts)[]

const toCounts = (sums: readonly number[]): Counts =>
  Object.fromEntries(NAMES.map(name => [name, sums[COUNT_INDEX[name]] ?? 0])) as Counts

/** Reads what a place did at all edges of this machine: a file of 43 KiB for each edge. */
export const readTraffic = (dataDir: string, place: Place, nowMs: number): Traffic => {
  const newest = Math.floor(nowMs / MINUTE_MS)
  const hour = Array<number>(COUNTS).fill(0)
  const day = Array<number>(COUNTS).fill(0)
  const hours = Array<number>(HOURS).fill(0)
  for (const edge of edgesOf(dataDir)) {
    const bytes = readCells(join(usagePath(dataDir, edge), fileOf(place)))
    if (bytes === undefined) continue
    const kept = bytes.readDoubleLE(CELL.minute * 8)
    for (let age = 0; age < MINUTES; age++) {
      const minute = newest - age
      if (minute > kept) continue
      if (minute <= kept - MINUTES) break
      const at = minuteAt(minute) * 4
      for (let index = 0; index < COUNTS; index++) {
        const count = bytes.readUInt32LE(at + index * 4)
        day[index] = (day[index] ?? 0) + count
        if (age < HOUR_MINUTES) hour[index] = (hour[index] ?? 0) + count
      }
      const slot = HOURS - 1 - Math.floor(age / HOUR_MINUTES)
      hours[slot] = (hours[slot] ?? 0) + bytes.readUInt32LE(at + COUNT_INDEX.requests * 4)
    }
  }
  return { hour: toCounts(hour), day: toCounts(day), hours }
}

const sum = (one: readonly number[], other: readonly number[]): readonly number[] =>
  one.map((count, index) => count + (other[index] ?? 0))

const sumCounts = (one: Counts, other: Counts): Counts =>
  Object.fromEntries(NAMES.map(name => [name, one[name] + other[name]])) as Counts

/** The traffic of a place at two machines, added up. */
export const addTraffic = (one: Traffic, other: Traffic): Traffic => ({
  hour: sumCounts(one.hour, other.hour),
  day: sumCounts(one.day, other.day),
  hours: sum(one.hours, other.hours),
})
