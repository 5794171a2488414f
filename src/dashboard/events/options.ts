/** Bounds of the streams on which pages wait for changes. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Streams at once: one of each visible page, about 20 KiB. A further one is answered 503. */
  streamsMax: 512,
  /** The same of one session. */
  streamsPerSessionMax: 8,
  /** How often accesses and sessions of open streams are compared with what was last sent. */
  checkMs: 1_000,
  /**
   * Longest time without a byte: less than the idle time of proxies, and than `dashboard.idleMs`.
   */
  heartbeatMs: 10_000,
  /** Bytes that wait for one page. One that takes none is closed. */
  waitingBytesMax: 4_096,
}
