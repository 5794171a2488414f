import { type Declaration, defaultsOf } from '../shared/options/declaration.js'

/** Bounds of what is counted. */
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
    why: 'Days whose minutes, hours and lists are kept for the dashboard.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /**
   * Bytes of the store. Over it the oldest minutes are reduced to their hours, then the oldest days
   * are removed. A scope with requests in every minute takes 80 KiB a day.
   */
  bytesMax: 4 * 1024 ** 3,
  /**
   * Rows that an edge counts in at a time, 768 bytes each: one for each network at a location of an
   * access that is in use, and one for each of its methods. Without a free one, calls are counted
   * for the access `(other)`.
   */
  slotsMax: 16_384,
  /** Failed requests of an access that an edge lists in a second, after 1,000 at once. */
  failuresPerSecondMax: 20,
}
