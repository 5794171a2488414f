/** Options of the lander routes of one network. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Least tip of a transaction, or of one member of a bundle. */
  tipFloorLamports: 1_000_000,
  /**
   * Findings become errors before anything is forwarded. Without it the lander is the judge, and
   * may count tips that are not seen here.
   */
  enforce: false,
  /** Follows each URL, for one transaction. */
  transactionPath: '/send',
  /** Follows each URL, for a bundle. */
  bundlePath: '/sendBundle',
  /** Follows each URL, for a batch. */
  batchPath: '/sendBatch',
  /**
   * An answer that is here before its findings waits for them this long: 0 holds none up. Checks
   * take 0.1 ms, a full batch 1 ms; landers that are not next door take longer.
   */
  findingsWaitMs: 0,
}
