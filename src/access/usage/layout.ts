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

/** A day: what the dashboard shows. */
export const MINUTES = 1_440
/** Counts of one minute, in this order. */
export const COUNTS = ['requests', 'errors', 'rateLimited', 'refused'] as const
const MINUTES_CELL = 4
/** Index of the first minute among halves of cells. */
export const MINUTES_AT = MINUTES_CELL * 2

/** The newest refused attempts that are kept: enough to see who asks, whoever asks how often. */
export const ATTEMPTS = 64
/** Time (8), reason (1), length of the address (1), the address. */
export const ATTEMPT_BYTES = 64
export const ADDRESS_CHARS_MAX = 48
export const REASON_AT = 8
export const ADDRESS_AT = 10
const ATTEMPTS_CELL = MINUTES_CELL + (MINUTES * COUNTS.length) / 2
/** Offset in bytes of the first attempt. */
export const ATTEMPTS_AT = ATTEMPTS_CELL * 8

export const USAGE_CELLS = ATTEMPTS_CELL + (ATTEMPTS * ATTEMPT_BYTES) / 8

export const MINUTE_MS = 60_000

/** Why a token was refused; what it stands for in the file is its index here. */
export const REFUSAL_REASONS = ['unknown', 'location', 'address', 'early', 'ended'] as const

/**
 * Why an attempt was refused: no such token, or one of another location; a known one from another
 * address, before its access begins, or after its end.
 */
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** Where attempts are counted that belong to no token. */
export const UNKNOWN_TOKEN = 'unknown'

/** Folder of an edge's counts. */
export const usagePath = (dataDir: string, edgeIndex: number): string =>
  join(dataDir, 'edges', String(edgeIndex), 'usage')
