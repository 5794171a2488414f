import { NumberReader, NumberWriter } from './history-bytes.js'
import { encodeFrame, framesOf, KIND, type Frame } from './history-frames.js'
import { ALL, type UnitRange } from './history-records.js'
import { LATENCY_BUCKETS } from './latency.js'
import {
  CODE,
  codeAt,
  CODES,
  DAY_INDEX,
  dayAt,
  DETAIL_SLOTS,
  HISTORY,
  latenciesAt,
  methodCountsAt,
} from './layout.js'
import { readMethods } from './meter.js'

/** How often calls failed with a code. */
export type CodeCount = { readonly code: number; readonly count: number }

/** What was done with one method. */
export type MethodUsage = Readonly<Record<keyof typeof DAY_INDEX, number>> & {
  readonly method: string
  readonly codes: readonly CodeCount[]
  /** How many calls took how long, by `bucketOf`; a call that did not run is in none. */
  readonly latencies: readonly number[]
}

/** What one file of a place has counted in one day of UTC. */
export type MethodDay = {
  /** Of the file. */
  readonly stamp: number
  /** Since 1970. */
  readonly day: number
  readonly methods: readonly MethodUsage[]
}

const COUNTS = Object.keys(DAY_INDEX) as (keyof typeof DAY_INDEX)[]
/** Codes of JSON-RPC are negative. */
const zigzag = (code: number): number => (code < 0 ? -2 * code - 1 : 2 * code)
const fromZigzag = (value: number): number => (value % 2 === 1 ? -(value + 1) / 2 : value / 2)

export const encodeMethodDay = ({ stamp, day, methods }: MethodDay): Buffer => {
  const writer = new NumberWriter()
  for (const { method, codes, latencies, ...counts } of methods) {
    writer.addText(method)
    for (const name of COUNTS) writer.add(counts[name])
    writer.add(codes.length)
    for (const { code, count } of codes) {
      writer.add(zigzag(code))
      writer.add(count)
    }
    writer.addCounts(latencies)
  }
  return encodeFrame({ kind: KIND.methods, stamp, unit: day, rest: writer.toBuffer() })
}

const decodeMethodDay = ({ stamp, unit: day, rest }: Frame): MethodDay => {
  const reader = new NumberReader(rest)
  const methods: MethodUsage[] = []
  while (!reader.isAtEnd) {
    const method = reader.nextText()
    const [requests, errors, rateLimited] = [reader.next(), reader.next(), reader.next()]
    const codes = Array.from({ length: reader.next() }, () => {
      const code = fromZigzag(reader.next())
      return { code, count: reader.next() }
    })
    const latencies = reader.nextCounts(LATENCY_BUCKETS)
    methods.push({ method, requests, errors, rateLimited, codes, latencies })
  }
  return { stamp, day, methods }
}

/** The days of a history in a range; of one that was written twice the last one. */
export const decodeMethodDays = (
  bytes: Buffer,
  { from, until }: UnitRange = ALL,
): readonly MethodDay[] => {
  const days = new Map<string, MethodDay>()
  for (const frame of framesOf(bytes))
    if (frame.kind === KIND.methods && frame.unit >= from && frame.unit < until)
      days.set(`${frame.unit} ${frame.stamp}`, decodeMethodDay(frame))
  return [...days.values()]
}

const codesOf = (file: Buffer, detailCell: number, method: number): readonly CodeCount[] => {
  const codes: CodeCount[] = []
  for (let index = 0; index < CODES; index++) {
    const at = codeAt(detailCell, index) * 4
    if (file.readInt32LE(at + CODE.method * 4) !== method + 1) continue
    const count = file.readUInt32LE(at + CODE.count * 4)
    codes.push({ code: file.readInt32LE(at + CODE.code * 4), count })
  }
  return codes
}

const methodOf = (
  file: Buffer,
  { day, detailCell }: { readonly day: number; readonly detailCell: number },
  method: string,
  index: number,
): MethodUsage => {
  const at = methodCountsAt(dayAt(day), index)
  const countOf = (name: keyof typeof DAY_INDEX): number =>
    file.readDoubleLE((at + DAY_INDEX[name]) * 8)
  const first = latenciesAt(detailCell, index) * 4
  return {
    method,
    requests: countOf('requests'),
    errors: countOf('errors'),
    rateLimited: countOf('rateLimited'),
    codes: codesOf(file, detailCell, index),
    latencies: Array.from({ length: LATENCY_BUCKETS }, (_, bucket) =>
      file.readUInt32LE(first + bucket * 4),
    ),
  }
}

/** The days of a file in a range. */
export const methodDaysOfFile = (file: Buffer, { from, until }: UnitRange): MethodDay[] => {
  const stamp = file.readDoubleLE(HISTORY.stamp * 8)
  const names = readMethods(file)
  return DETAIL_SLOTS.flatMap(slot => {
    const day = file.readDoubleLE(slot * 8)
    if (day === 0 || day < from || day >= until) return []
    const methods = names
      .map((method, index) => methodOf(file, { day, detailCell: slot }, method, index))
      .filter(({ requests, errors, rateLimited }) => requests + errors + rateLimited > 0)
    return methods.length === 0 ? [] : [{ stamp, day, methods }]
  })
}

/** One row for each method, the one with the most requests first. */
export const sumMethods = (all: readonly MethodUsage[]): readonly MethodUsage[] => {
  const sums = new Map<string, MethodUsage>()
  for (const one of all) {
    const sum = sums.get(one.method)
    sums.set(one.method, sum === undefined ? one : addMethods(sum, one))
  }
  return [...sums.values()].toSorted(
    (one, other) => other.requests - one.requests || (one.method < other.method ? -1 : 1),
  )
}

const addMethods = (one: MethodUsage, other: MethodUsage): MethodUsage => {
  const codes = new Map<number, number>()
  for (const { code, count } of [...one.codes, ...other.codes])
    codes.set(code, (codes.get(code) ?? 0) + count)
  return {
    method: one.method,
    requests: one.requests + other.requests,
    errors: one.errors + other.errors,
    rateLimited: one.rateLimited + other.rateLimited,
    codes: Array.from(codes, ([code, count]) => ({ code, count })),
    latencies: one.latencies.map((count, bucket) => count + (other.latencies[bucket] ?? 0)),
  }
}
