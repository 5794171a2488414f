import { join } from 'node:path'

/**
 * One file of `edges/<n>/usage/` counts what one token did at one edge. Its cells are 8 bytes:
 *
 *     cell 0       LAYOUT
 *     cell 1       the newest minute, in minutes since 1970
 *     cell 2       how many attempts were ever refused
 *     from MINUTES a ring of minutes, each of four counts of 32 bits
 *     from REFUSED a ring of refused attempts
 */
export const LAYOUT = 1
export const CELL = { layout: 0, minute: 1, refused: 2 } as const

/** One day, as the dashboard shows it. */
export const MINUTES = 1_440
/** Index of each count among those of a minute. */
export const COUNT_INDEX = { requests: 0, errors: 1, rateLimited: 2, refused: 3 } as const
/** Counts of one minute. */
export const COUNTS = Object.keys(COUNT_INDEX).length
const MINUTES_CELL = 4

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

export const USAGE_CELLS = ATTEMPTS_CELL + (ATTEMPTS * ATTEMPT_BYTES) / 8

export const MINUTE_MS = 60_000

/** Reasons of refusals. The file stores their index. */
export const REFUSAL_REASONS = ['unknown', 'location', 'address', 'early', 'ended'] as const

/**
 * `unknown`: no such token. `location`: a token of another location. `address`: not the allowed
 * address. `early`, `ended`: before or after the validity of the access.
 */
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** Name of the file that counts attempts with tokens that do not exist. */
export const UNKNOWN_TOKEN = 'unknown'

/** Folder of an edge's counts. */
export const usagePath = (dataDir: string, edgeIndex: number): string =>
  join(dataDir, 'edges', String(edgeIndex), 'usage')
