/** Options of the lander routes of one network. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Least tip of a transaction, or of one member of a bundle. */
  tipFloorLamports: 1_000_000,
  /**
   * Findings are errors, and nothing is forwarded. Otherwise the lander decides, which may count
   * tips that are not seen here.
   */
  enforce: false,
  /** Appended to each URL, for one transaction. */
  transactionPath: '/send',
  /** Appended to each URL, for a bundle. */
  bundlePath: '/sendBundle',
  /** Appended to each URL, for a batch. */
  batchPath: '/sendBatch',
  /**
   * Longest wait of a response for its findings; 0 does not wait. Checks take 0.1 ms, a full batch
   * 1 ms; distant landers take longer.
   */
  findingsWaitMs: 0,
}
