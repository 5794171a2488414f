import { randomInt } from 'node:crypto'
import { encodeFrame, framesOf, KIND, type Frame } from './history-frames.js'
import { NumberReader, NumberWriter } from './history-bytes.js'
import { CELL, COUNT_INDEX, COUNTS, HISTORY, HOUR_MINUTES, minuteAt, MINUTES } from './layout.js'

/** What one file of a place has counted in one hour. */
export type HourRecord = {
  /** Of the file. */
  readonly stamp: number
  /** Since 1970. */
  readonly hour: number
  /** Each count by its index of `COUNT_INDEX`, minute by minute; absent where they are not kept. */
  readonly minutes?: readonly (readonly number[])[]
  /** Each count of the hour. */
  readonly sum: readonly number[]
}

const COUNT_INDEXES = Object.values(COUNT_INDEX)

/** A number that differs from that of an earlier file of counts of the same place. */
export const newStamp = (): number => randomInt(1, 2 ** 32)

export const hourOf = (minute: number): number => Math.floor(minute / HOUR_MINUTES)

const sumOf = (minutes: readonly (readonly number[])[]): number[] =>
  minutes.map(series => series.reduce((sum, count) => sum + count, 0))

export const encodeHour = ({ stamp, hour, minutes, sum }: HourRecord): Buffer => {
  const writer = new NumberWriter()
  for (const series of minutes ?? [sum]) writer.addCounts(series)
  const kind = minutes === undefined ? KIND.sum : KIND.minutes
  return encodeFrame({ kind, stamp, unit: hour, rest: writer.toBuffer() })
}

const decodeHour = ({ kind, stamp, unit: hour, rest }: Frame): HourRecord => {
  const reader = new NumberReader(rest)
  if (kind === KIND.sum) return { stamp, hour, sum: reader.nextCounts(COUNTS) }
  const minutes = COUNT_INDEXES.map(() => reader.nextCounts(HOUR_MINUTES))
  return { stamp, hour, minutes, sum: sumOf(minutes) }
}

const requestsOf = ({ sum }: HourRecord): number => sum[COUNT_INDEX.requests] ?? 0

/** An hour that was written twice: the counts of a file only grow. */
const mergeHours = (one: HourRecord, other: HourRecord): HourRecord => {
  const { minutes } = other
  if (one.minutes === undefined || minutes === undefined)
    return requestsOf(one) > requestsOf(other) ? one : other
  const most = one.minutes.map((series, index) =>
    series.map((count, minute) => Math.max(count, minutes[index]?.[minute] ?? 0)),
  )
  return { ...one, minutes: most, sum: sumOf(most) }
}

/** Hours or days since 1970, up to but not including the second. */
export type UnitRange = { readonly from: number; readonly until: number }
export const ALL: UnitRange = { from: 0, until: Infinity }

/** The records of hours in a range; what is not whole has none. */
export const decodeHours = (bytes: Buffer, { from, until }: UnitRange = ALL): HourRecord[] => {
  const hours = new Map<string, HourRecord>()
  for (const frame of framesOf(bytes)) {
    if (frame.kind === KIND.methods || frame.unit < from || frame.unit >= until) continue
    const hour = decodeHour(frame)
    const key = `${frame.unit} ${frame.stamp}`
    const known = hours.get(key)
    hours.set(key, known === undefined ? hour : mergeHours(known, hour))
  }
  return [...hours.values()]
}

/** The hours of a file that have counts, in a range. */
export const hoursOfFile = (file: Buffer, { from, until }: UnitRange): HourRecord[] => {
  const stamp = file.readDoubleLE(HISTORY.stamp * 8)
  const newest = file.readDoubleLE(CELL.minute * 8)
  const oldest = newest - MINUTES + 1
  const countOf = (minute: number, index: number): number =>
    minute < oldest || minute > newest ? 0 : file.readUInt32LE((minuteAt(minute) + index) * 4)
  const hours: HourRecord[] = []
  const last = Math.min(until - 1, hourOf(newest))
  for (let hour = Math.max(from, hourOf(oldest)); hour <= last; hour++) {
    const minutes = COUNT_INDEXES.map(index =>
      Array.from({ length: HOUR_MINUTES }, (_, at) => countOf(hour * HOUR_MINUTES + at, index)),
    )
    const sum = sumOf(minutes)
    if (sum.some(count => count > 0)) hours.push({ stamp, hour, minutes, sum })
  }
  return hours
}
