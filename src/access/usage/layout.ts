import { join } from 'node:path'
import type { Grant } from '../../shared/grant.js'
import { LATENCY_BUCKETS } from './latency.js'
import { RECENT_CELLS, type TablePlace } from './recent-table.js'

/** What is counted together: one network at one location of one access, whatever its token is. */
export type Place = Pick<Grant, 'accessId' | 'network' | 'location'>

/**
 * One file of `edges/<n>/usage/` counts what the tokens of one place did at one edge. Its cells are
 * 8 bytes:
 *
 *     cell 0       LAYOUT
 *     cell 1       the newest minute, in minutes since 1970
 *     cell 2       how many attempts were ever refused
 *     cell 3       names of methods that it has
 *     from METHODS the names: length (1 byte), text
 *     from DAYS    a ring of days: the day since 1970, then three counts for each method
 *     from MINUTES a ring of minutes, each of four counts of 32 bits
 *     from REFUSED a ring of refused attempts
 *     from CLIENTS the addresses that were admitted: the file of an older build ends before them
 *     from REPLACED the attempts with former tokens, by token and address
 *     from HISTORY  what the history of the place has of this file
 *     from DETAILS  a ring of days: the day since 1970, errors by method and code, latencies
 */
export const LAYOUT = 2
export const CELL = { layout: 0, minute: 1, refused: 2, methods: 3 } as const

/** Methods that a file has counts for; those after them are counted as `other`. */
export const METHODS = 64
const METHOD_CELLS = 5
export const METHOD_CHARS_MAX = METHOD_CELLS * 8 - 1
const METHODS_CELL = 4
/** Offset in bytes of the name of a method, by its index. */
export const methodAt = (index: number): number => (METHODS_CELL + index * METHOD_CELLS) * 8

/** Days whose counts are not in a file of that day yet; only one of them where all goes well. */
const DAYS = 4
/** Index of each count among those of a method. */
export const DAY_INDEX = { requests: 0, errors: 1, rateLimited: 2 } as const
const DAY_COUNTS = Object.keys(DAY_INDEX).length
const DAYS_CELL = METHODS_CELL + METHODS * METHOD_CELLS
/** Cells of a day. */
export const DAY_CELLS = 1 + METHODS * DAY_COUNTS
/** Every cell of the ring that begins a day. */
export const DAY_SLOTS = Array.from({ length: DAYS }, (_, slot) => DAYS_CELL + slot * DAY_CELLS)

/** The cell where a day since 1970 begins. */
export const dayAt = (day: number): number => DAYS_CELL + (day % DAYS) * DAY_CELLS
/** The first count of a method, in the cells of a day. */
export const methodCountsAt = (dayCell: number, method: number): number =>
  dayCell + 1 + method * DAY_COUNTS

/** One day, as the dashboard shows it. */
export const MINUTES = 1_440
/** Index of each count among those of a minute. */
export const COUNT_INDEX = { requests: 0, errors: 1, rateLimited: 2, refused: 3 } as const
/** Counts of one minute. */
export const COUNTS = Object.keys(COUNT_INDEX).length
const MINUTES_CELL = DAYS_CELL + DAYS * DAY_CELLS
/** Bytes before the minutes: all that the counts of days need. */
export const HEAD_BYTES = MINUTES_CELL * 8

/** Index among halves of cells of the first count of a minute, in minutes since 1970. */
export const minuteAt = (minute: number): number => MINUTES_CELL * 2 + (minute % MINUTES) * COUNTS

/** How many refused attempts are kept, the newest ones. */
export const ATTEMPTS = 64
/** Time (8 bytes), reason (1), length of the address (1), address. */
const ATTEMPT_BYTES = 64
export const ADDRESS_CHARS_MAX = 48
export const REASON_AT = 8
export const ADDRESS_AT = 10
const ATTEMPTS_CELL = MINUTES_CELL + (MINUTES * COUNTS) / 2

/** Offset in bytes of an attempt, by its number from 0. */
export const attemptAt = (number: number): number =>
  ATTEMPTS_CELL * 8 + (number % ATTEMPTS) * ATTEMPT_BYTES

const CLIENTS_CELL = ATTEMPTS_CELL + (ATTEMPTS * ATTEMPT_BYTES) / 8
/** Bytes of a file of a build that kept no clients. */
export const BYTES_WITHOUT_CLIENTS = CLIENTS_CELL * 8
/** Addresses of clients that were seen last. */
export const CLIENTS: TablePlace = {
  at: CLIENTS_CELL * 8,
  entries: 64,
  entryBytes: RECENT_CELLS * 8,
}

const REPLACED_CELL = CLIENTS_CELL + CLIENTS.entries * RECENT_CELLS
/** Further cells of an attempt with a former token: a day, and how many were in this day. */
export const REPLACED_DAY = RECENT_CELLS
export const REPLACED_COUNT = RECENT_CELLS + 1
const REPLACED_CELLS = RECENT_CELLS + 2
/** Attempts with former tokens: the end of the token, a space, the address. */
export const REPLACED: TablePlace = {
  at: REPLACED_CELL * 8,
  entries: 32,
  entryBytes: REPLACED_CELLS * 8,
}

const HISTORY_CELL = REPLACED_CELL + REPLACED.entries * REPLACED_CELLS
/**
 * Cells of the history: a number that this file has and a later one of the place has not, and the
 * first hour and day since 1970 that are not in the history yet.
 */
export const HISTORY = {
  stamp: HISTORY_CELL,
  hour: HISTORY_CELL + 1,
  day: HISTORY_CELL + 2,
} as const
export const HISTORY_BYTES = Object.keys(HISTORY).length * 8

const DETAILS_CELL = HISTORY_CELL + HISTORY_BYTES / 8
/** This day and the one before, which may not be in the history yet. */
const DETAIL_DAYS = 2
/** Pairs of a method and a code in a day; further ones have no code. */
export const CODES = 128
/** Halves of such a pair: the index of the method and 1, or 0 for none; the code; its count. */
export const CODE = { method: 0, code: 1, count: 2, halves: 4 } as const
const LATENCIES_CELL = 1 + (CODES * CODE.halves) / 2
/** Cells of a day. */
export const DETAIL_CELLS = LATENCIES_CELL + (METHODS * LATENCY_BUCKETS) / 2
/** Every cell of the ring that begins a day. */
export const DETAIL_SLOTS = Array.from(
  { length: DETAIL_DAYS },
  (_, slot) => DETAILS_CELL + slot * DETAIL_CELLS,
)
export const USAGE_CELLS = DETAILS_CELL + DETAIL_DAYS * DETAIL_CELLS

/** The cell where the details of a day since 1970 begin. */
export const detailsAt = (day: number): number => DETAILS_CELL + (day % DETAIL_DAYS) * DETAIL_CELLS
/** Index among halves of cells of a pair of a method and a code, in the cells of a day. */
export const codeAt = (detailCell: number, index: number): number =>
  (detailCell + 1) * 2 + index * CODE.halves
/** Index among halves of cells of the first bucket of a method's latencies, in those of a day. */
export const latenciesAt = (detailCell: number, method: number): number =>
  (detailCell + LATENCIES_CELL) * 2 + method * LATENCY_BUCKETS

export const MINUTE_MS = 60_000
export const HOUR_MINUTES = 60
export const HOUR_MS = HOUR_MINUTES * MINUTE_MS
export const DAY_MS = 86_400_000

/** Days are of UTC, counted since 1970. */
export const dayOf = (nowMs: number): number => Math.floor(nowMs / DAY_MS)

/** Reasons of refusals. The file stores their index. */
export const REFUSAL_REASONS = [
  'unknown',
  'location',
  'address',
  'early',
  'ended',
  'replaced',
] as const

/**
 * `unknown`: no such token. `location`: a token of another location. `address`: not the allowed
 * address. `early`, `ended`: before or after the validity of the access. `replaced`: a token that
 * was regenerated or revoked.
 */
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** Name of the file that counts attempts with tokens that do not exist. */
export const UNKNOWN_TOKEN = 'unknown'

/** Name of the file of a place. No id has a dot. */
export const fileOf = ({ accessId, network, location }: Place): string =>
  `${accessId}.${network}.${location}`

/** The place whose file has this name; undefined where it is of no place. */
export const placeOf = (name: string): Place | undefined => {
  const [accessId, network, location, ...rest] = name.split('.')
  if (accessId === undefined || network === undefined || location === undefined) return undefined
  return rest.length > 0 ? undefined : { accessId, network, location }
}

/** Folder of an edge's counts. */
export const usagePath = (dataDir: string, edgeIndex: number): string =>
  join(dataDir, 'edges', String(edgeIndex), 'usage')

/** Folder of an edge's failed requests. */
export const failuresPath = (dataDir: string, edgeIndex: number): string =>
  join(dataDir, 'edges', String(edgeIndex), 'failures')

/** Folder of an edge's counts of whole days. */
export const daysPath = (dataDir: string, edgeIndex: number): string =>
  join(dataDir, 'edges', String(edgeIndex), 'days')

/** Folder of an edge's minutes, hours and days by place. */
export const historyPath = (dataDir: string, edgeIndex: number): string =>
  join(dataDir, 'edges', String(edgeIndex), 'history')
