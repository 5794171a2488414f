/** Bounds of the counts of one edge. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Tokens whose requests an edge counts at a time, 28 KiB each. The least recently used one is
   * evicted.
   */
  tokensMax: 2_048,
  /** How often the counts of tokens that were not used for a day are removed. */
  sweepMs: 3_600_000,
}
