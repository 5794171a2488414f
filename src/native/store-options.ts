/**
 * Bounds of an accounts store. Every process that opens it must use the same map and the same read
 * slots.
 */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Address space of the map, set once and sparse, so that no process ever meets a grown map. */
  mapBytes: 1024 ** 4,
  /** Read slots over all processes: one for each thread that ever reads. */
  readersMax: 512,
  /**
   * A process that has one read open for longer than this, and does not answer, is ended: what its
   * read sees cannot be reused, so the store grows. One that answers has `rpc.readTimeoutMs` more.
   */
  readerSecondsMax: 10,
  /**
   * The indexer stops when the disk has less than this free, so that an operator has room to act.
   */
  diskReserveBytes: 1024 ** 3,
  /**
   * Newest slots whose changes are kept for subscribers that are a little late: three and a half
   * minutes.
   */
  feedSlotsMax: 512,
  /** Bytes of those changes; 0 keeps none. */
  feedBytesMax: 256 * 1024 ** 2,
  /** Newest slots whose transaction outcomes are kept: longer than any blockhash is valid. */
  signatureSlotsMax: 512,
}
