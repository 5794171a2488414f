/**
 * Bounds of an accounts store. Every process that opens it must use the same map and the same read
 * slots.
 */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Address space of the map, fixed and sparse, so that no process has to remap it. */
  mapBytes: 1024 ** 4,
  /** LMDB reader slots over all processes: one for each thread that ever reads. */
  readersMax: 512,
  /**
   * A process with a read open for longer than this that does not answer is ended: pages that its
   * read sees cannot be reused, so the store grows. One that answers has `rpc.readTimeoutMs` more.
   */
  readerSecondsMax: 10,
  /** The indexer stops when the disk has less free space than this, so that an operator can act. */
  diskReserveBytes: 1024 ** 3,
  /** Newest slots whose changes are kept for edges that are behind: three and a half minutes. */
  feedSlotsMax: 512,
  /** Bytes of those changes; 0 keeps none. */
  feedBytesMax: 256 * 1024 ** 2,
  /** Newest slots whose transaction outcomes are kept: longer than any blockhash is valid. */
  signatureSlotsMax: 512,
}
