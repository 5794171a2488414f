/** Bounds of the counts of one edge. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Tokens whose requests an edge counts at a time, 28 KiB each. The least recently used one is
   * evicted.
   */
  tokensMax: 2_048,
  /**
   * Tokens whose counts an edge keeps on disk, 28 KiB each; those in use are never removed. Over it
   * the counts of the token that was not used for the longest time are removed.
   */
  filesMax: 8_192,
  /** How often the counts of tokens that were not used for a day are removed. */
  sweepMs: 3_600_000,
}
