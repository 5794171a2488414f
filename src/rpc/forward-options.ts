/** Bounds of the calls that an upstream RPC answers for one network. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Bytes of one call. A validator takes 50 KiB, and answers a longer one with plain HTTP 413. */
  callBytesMax: 50 * 1024,
  /**
   * What becomes of a point read outside the indexed scope: error, or forward, which answers at the
   * upstream's slot.
   */
  outsideScope: 'error',
}

/** What differs for an RPC from what an edge asks of a lander. */
export const upstreamDefaults = {
  /** A validator answers it without counting it as a call. */
  pingPath: '/health',
  /** Far below the 30 s that a read may take; the slowest usual call, a block, takes 5 s. */
  answerMs: 20_000,
  /**
   * The longest usual answer is a block of some MiB; with `inFlightMax` it bounds memory to 1 GiB.
   */
  replyBytesMax: 16 * 1024 ** 2,
  inFlightMax: 64,
}
