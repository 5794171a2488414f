import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/** Bounds of the counts of one edge. */
export type Options = Readonly<typeof defaults>

export const options = {
  keptDaysMax: {
    default: 100,
    unit: 'days',
    min: 7,
    max: 3_650,
    why: 'Days whose counts by method are kept for billing: three months and some days to fetch them.',
  },
  historyDaysMax: {
    default: 30,
    unit: 'days',
    max: 366,
    why: 'Days whose minutes and hours are kept for the dashboard.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /**
   * Bytes of minutes and hours of all places at one edge. Over it those of the place that was not
   * used for the longest time are removed.
   */
  historyTotalBytesMax: 1024 ** 3,
  /**
   * Bytes of these days at one edge, compressed: 10,000 places with ten methods each take 1 MB a
   * day. Over it the oldest day is removed.
   */
  keptBytesMax: 256 * 1024 ** 2,
  /**
   * Places (a network at a location of an access) whose requests an edge counts at a time, 92 KiB
   * each. The least recently used one is evicted.
   */
  tokensMax: 2_048,
  /**
   * Places whose counts an edge keeps on disk, 92 KiB each; those in use are never removed. Over it
   * the counts of the place that was not used for the longest time are removed.
   */
  filesMax: 8_192,
  /**
   * How often hours and days that are over are written, and counts of places unused for a day
   * removed.
   */
  sweepMs: 3_600_000,
  /**
   * Bytes of them of one place at one edge: 30 days with requests in every minute take 110 KiB.
   * Over it the oldest minutes are reduced to their hours.
   */
  historyBytesMax: 256 * 1024,
  /**
   * Accesses whose failed requests an edge keeps, the newest 1,000 of each in 680 KiB. Over it
   * those of the access that failed first are removed.
   */
  failureLogsMax: 1_024,
  /** Failed requests of an access that an edge writes in a second, after 1,000 at once. */
  failuresPerSecondMax: 20,
}
