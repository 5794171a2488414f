/** Bounds of the counts of one edge. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Places (a network at a location of an access) whose requests an edge counts at a time, 43 KiB
   * each. The least recently used one is evicted.
   */
  tokensMax: 2_048,
  /**
   * Places whose counts an edge keeps on disk, 43 KiB each; those in use are never removed. Over it
   * the counts of the place that was not used for the longest time are removed.
   */
  filesMax: 8_192,
  /** How often days that are over are written, and counts of places unused for a day removed. */
  sweepMs: 3_600_000,
  /** Days whose counts by method are kept for billing: three months and some days to fetch them. */
  keptDaysMax: 100,
  /**
   * Bytes of these days at one edge, compressed: 10,000 places with ten methods each take 1 MB a
   * day. Over it the oldest day is removed.
   */
  keptBytesMax: 256 * 1024 ** 2,
}
