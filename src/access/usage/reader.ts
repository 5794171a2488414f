import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { mergeFailures, readFailureLog, type Failures } from './failure-log.js'
import {
  ADDRESS_AT,
  attemptAt,
  ATTEMPTS,
  BYTES_WITHOUT_CLIENTS,
  CELL,
  CLIENTS,
  COUNT_INDEX,
  COUNTS,
  dayOf,
  failuresPath,
  fileOf,
  LAYOUT,
  MINUTE_MS,
  minuteAt,
  MINUTES,
  REASON_AT,
  REFUSAL_REASONS,
  REPLACED,
  REPLACED_COUNT,
  REPLACED_DAY,
  USAGE_CELLS,
  usagePath,
  type Place,
  type RefusalReason,
} from './layout.js'
import { readRecent } from './recent-table.js'

/** Counts of one place in one minute, over all edges. */
export type UsageMinute = { readonly startMs: number } & Readonly<
  Record<keyof typeof COUNT_INDEX, number>
>

/** A refused attempt. */
export type RefusedAttempt = {
  readonly atMs: number
  /** As the edge saw it; empty if the client had already disconnected. */
  readonly address: string
  readonly reason: RefusalReason
}

/** An address from which requests were admitted. */
export type Client = { readonly address: string; readonly lastSeenMs: number }

/** Attempts from one address with one former token of a place. */
export type ReplacedAttempts = {
  /** The last characters of the token. */
  readonly tail: string
  readonly address: string
  readonly lastSeenMs: number
  /** How many were in this day, of UTC. */
  readonly today: number
}

/** Usage of one place in the last 24 hours. */
export type PlaceUsage = {
  /** Oldest first, including minutes without requests. */
  readonly minutes: readonly UsageMinute[]
  /** Newest first. */
  readonly refused: readonly RefusedAttempt[]
  /** Those that were seen last, newest first. */
  readonly clients: readonly Client[]
  /** The one that was seen last first. */
  readonly replaced: readonly ReplacedAttempts[]
}

/** The edges that have counted on this machine. */
export const edgesOf = (dataDir: string): number[] => {
  try {
    return readdirSync(join(dataDir, 'edges'))
      .filter(name => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

/** The current content of the file; undefined if the edge never saw the place. */
export const readCells = (path: string): Buffer | undefined => {
  try {
    const bytes = readFileSync(path)
    if (bytes.length < BYTES_WITHOUT_CLIENTS || bytes.readDoubleLE(0) !== LAYOUT) return undefined
    if (bytes.length >= USAGE_CELLS * 8) return bytes
    return Buffer.concat([bytes], USAGE_CELLS * 8)
  } catch {
    return undefined
  }
}

const addMinutes = (sums: number[][], bytes: Buffer, newest: number): void => {
  const kept = bytes.readDoubleLE(CELL.minute * 8)
  for (const [age, sum] of sums.entries()) {
    const minute = newest - age
    if (minute > kept || minute <= kept - MINUTES) continue
    const at = minuteAt(minute) * 4
    for (let index = 0; index < COUNTS; index++)
      sum[index] = (sum[index] ?? 0) + bytes.readUInt32LE(at + index * 4)
  }
}

const attemptsOf = (bytes: Buffer, sinceMs: number): RefusedAttempt[] => {
  const count = Math.min(ATTEMPTS, bytes.readDoubleLE(CELL.refused * 8))
  return Array.from({ length: count }, (_, index) => {
    const at = attemptAt(index)
    const chars = bytes[at + REASON_AT + 1] ?? 0
    return {
      atMs: bytes.readDoubleLE(at),
      address: bytes.toString('latin1', at + ADDRESS_AT, at + ADDRESS_AT + chars),
      reason: REFUSAL_REASONS[bytes[at + REASON_AT] ?? 0] ?? 'unknown',
    }
  }).filter(attempt => attempt.atMs >= sinceMs)
}

const replacedOf = (bytes: Buffer, sinceMs: number, nowMs: number): ReplacedAttempts[] =>
  readRecent(bytes, REPLACED)
    .filter(({ lastSeenMs }) => lastSeenMs >= sinceMs)
    .map(({ at, text, lastSeenMs }) => {
      const [tail = '', address = ''] = text.split(' ')
      const isToday = bytes.readDoubleLE(at + REPLACED_DAY * 8) === dayOf(nowMs)
      const today = isToday ? bytes.readDoubleLE(at + REPLACED_COUNT * 8) : 0
      return { tail, address, lastSeenMs, today }
    })

/** Adds the attempts with a token from an address up, the one that was seen last first. */
export const mergeReplaced = (attempts: readonly ReplacedAttempts[]): ReplacedAttempts[] => {
  const sums = new Map<string, ReplacedAttempts>()
  for (const one of attempts) {
    const key = `${one.tail} ${one.address}`
    const { lastSeenMs = 0, today = 0 } = sums.get(key) ?? {}
    sums.set(key, {
      tail: one.tail,
      address: one.address,
      lastSeenMs: Math.max(one.lastSeenMs, lastSeenMs),
      today: one.today + today,
    })
  }
  return [...sums.values()]
    .sort((one, other) => other.lastSeenMs - one.lastSeenMs)
    .slice(0, REPLACED.entries)
}

/** Each address once, the one that was seen last first. */
export const mergeClients = (clients: readonly Client[]): readonly Client[] => {
  const newestFirst = clients.toSorted((one, other) => other.lastSeenMs - one.lastSeenMs)
  const seen = new Set<string>()
  return newestFirst
    .filter(({ address }) => !seen.has(address) && seen.add(address))
    .slice(0, CLIENTS.entries)
}

/** Reads the counts of a place at all edges of this machine: a file of 92 KiB for each edge. */
export const readUsage = (dataDir: string, place: Place, nowMs: number): PlaceUsage => {
  const newest = Math.floor(nowMs / MINUTE_MS)
  const sums = Array.from({ length: MINUTES }, () => Array<number>(COUNTS).fill(0))
  const sinceMs = (newest - MINUTES) * MINUTE_MS
  const refused: RefusedAttempt[] = []
  const clients: Client[] = []
  const replaced: ReplacedAttempts[] = []
  for (const edge of edgesOf(dataDir)) {
    const bytes = readCells(join(usagePath(dataDir, edge), fileOf(place)))
    if (bytes === undefined) continue
    addMinutes(sums, bytes, newest)
    refused.push(...attemptsOf(bytes, sinceMs))
    for (const { text: address, lastSeenMs } of readRecent(bytes, CLIENTS))
      if (lastSeenMs >= sinceMs) clients.push({ address, lastSeenMs })
    replaced.push(...replacedOf(bytes, sinceMs, nowMs))
  }
  const minutes = sums.map((sum, age) => ({
    startMs: (newest - age) * MINUTE_MS,
    requests: sum[COUNT_INDEX.requests] ?? 0,
    errors: sum[COUNT_INDEX.errors] ?? 0,
    rateLimited: sum[COUNT_INDEX.rateLimited] ?? 0,
    refused: sum[COUNT_INDEX.refused] ?? 0,
  }))
  return {
    minutes: minutes.reverse(),
    refused: refused.sort((one, other) => other.atMs - one.atMs).slice(0, ATTEMPTS),
    clients: mergeClients(clients),
    replaced: mergeReplaced(replaced),
  }
}

/** The failed requests of an access at all edges of this machine, the newest ones. */
export const readFailures = (dataDir: string, accessId: string, limit: number): Failures =>
  mergeFailures(
    edgesOf(dataDir).map(edge => readFailureLog(join(failuresPath(dataDir, edge), accessId))),
    limit,
  )

/** Admitted requests per second of some places together, over the last minute. */
export const readRate = (dataDir: string, places: readonly Place[], nowMs: number): number => {
  let requests = 0
  // The share of the previous minute that completes the current one to a whole minute.
  const lastShare = (MINUTE_MS - (nowMs % MINUTE_MS)) / MINUTE_MS
  for (const place of places) {
    const { minutes } = readUsage(dataDir, place, nowMs)
    const [last = 0, present = 0] = minutes
      .slice(-2)
      .map(minute => minute.requests - minute.rateLimited)
    requests += present + last * lastShare
  }
  return (requests * 1_000) / MINUTE_MS
}
