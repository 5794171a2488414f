/** Bounds of the subscriptions to one network at one edge. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Subscriptions of all sockets of one edge. Agave's bound of a node. */
  subscriptionsMax: 1_000_000,
  /**
   * Filters of one programSubscribe. Every change of the program is compared with them. Agave's
   * bound.
   */
  filtersMax: 4,
  /**
   * Ended ids that are kept for a socket. To unsubscribe one of them succeeds: web3.js would
   * repeat a failure without end.
   */
  idsRememberedMax: 1_024,
  /** Bytes of frames that are delivered per turn of the event loop; one frame may be larger. */
  chunkBytesMax: 4 * 1024 ** 2,
  /** Failing subscribes and unsubscribes in a row that are answered without a delay. */
  failuresFreeMax: 3,
  /** Delay of the reply to the next one; it doubles up to `failureWaitLongMs`. */
  failureWaitMs: 100,
  /** Longest of these delays. */
  failureWaitLongMs: 5_000,
  /** Delayed replies of one socket; a socket with more is closed. */
  failuresWaitingMax: 16,
  /** Failures without a success in between after which a socket is closed. */
  failuresMax: 100,
  /** The number of failures of a socket halves at this interval. */
  failuresHalveMs: 10_000,
}
