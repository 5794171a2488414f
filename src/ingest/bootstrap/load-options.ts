/** Bounds of a load. */
export const defaults = {
  /**
   * Bytes that are sorted in memory at a time; more memory means fewer and longer runs on the disk.
   * A load takes about this much.
   */
  sortMemoryBytes: 1024 ** 3,
  /** Bytes of rows that go to the new store at a time. */
  transactionBytes: 32 * 1024 ** 2,
}
