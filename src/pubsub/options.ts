/** Bounds of the subscriptions to one network at one edge. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Subscriptions of all sockets together, as Agave bounds a node. */
  subscriptionsMax: 1_000_000,
  /**
   * Filters of one programSubscribe: every change of the program is compared with them. Agave's
   * bound.
   */
  filtersMax: 4,
  /**
   * Ids that a socket remembers after they ended: to unsubscribe once more is then no failure,
   * which web3.js would repeat without end.
   */
  idsRememberedMax: 1_024,
  /**
   * Bytes of frames that are handed over in one turn of the event loop; one frame may be larger.
   */
  chunkBytesMax: 4 * 1024 ** 2,
  /** Failing subscribes and unsubscribes in a row that a socket is told of at once. */
  failuresFreeMax: 3,
  /**
   * Wait before the next one is answered; it doubles up to `failureWaitLongMs`. web3.js repeats
   * without a pause.
   */
  failureWaitMs: 100,
  /** Longest of these waits: a repeated mistake costs one call in this time. */
  failureWaitLongMs: 5_000,
  /** Such answers that wait at once; a socket with more is closed. */
  failuresWaitingMax: 16,
  /** A socket that has failed so often without a success is closed. */
  failuresMax: 100,
  /** The failures that count against a socket halve this often. */
  failuresHalveMs: 10_000,
}
