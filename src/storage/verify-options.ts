/** Bounds of `slotline verify`, which works beside a running service. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Rows a second, over all tables: less than a tenth of what one core can look at (750,000), so
   * that reads hardly notice. A token account has about five and a half rows. `--rate` says another
   * number.
   */
  rowsPerSecondMax: 50_000,
  /** Rows of one read transaction: 20 ms of the rate, and a few of the core. */
  sliceRowsMax: 1_000,
  /** Time of one read transaction: what is freed while it is open cannot be reused. */
  sliceMs: 50,
  /**
   * A program with more accounts is not counted by itself, since that needs one long read
   * transaction: so many take 60 ms in memory, and more from the disk. Such programs are compared
   * in a sum over all.
   */
  programRowsMax: 1_000_000,
  /** Differences after which it ends: the store is wrong, and one more line says nothing new. */
  differencesMax: 100,
}
