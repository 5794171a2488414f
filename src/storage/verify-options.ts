/** Bounds of `slotline verify`, which works beside a running service. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Rows per second over all tables: less than a tenth of what one core can verify (750,000), so
   * that reads are hardly slower. A token account has about 5.5 rows. `--rate` overrides it.
   */
  rowsPerSecondMax: 50_000,
  /** Rows of one read transaction: 20 ms of the rate, and a few ms of a core. */
  sliceRowsMax: 1_000,
  /** Longest read transaction: pages that are freed while it is open cannot be reused. */
  sliceMs: 50,
  /**
   * A program with more accounts is not counted by itself, because that needs one long read
   * transaction: this many take 60 ms in memory, and longer from disk. Such programs are compared
   * by their sum.
   */
  programRowsMax: 1_000_000,
  /** Differences after which it stops: the store is known to be wrong by then. */
  differencesMax: 100,
}
