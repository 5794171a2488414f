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
  /** Bytes that wait for one page, beside an answer. One that takes none is closed. */
  waitingBytesMax: 4_096,
  /** Answers that one page watches: about as many as its cards. */
  watchedMax: 12,
  /** Longest answer that is sent, and one at a time to a page: 32 MiB for all streams. */
  watchedBytesMax: 65_536,
  /** Answers that are read at once, of all pages; others wait for the next check. */
  readsMax: 16,
}
