/** Bounds of making a store from a snapshot or from another RPC. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Blocks of the feed, compressed, that may lie on the disk while a store is loaded. Over it the
   * bootstrap fails. A mainnet feed is some MB/s: an hour of it is about 16 GiB.
   */
  spoolBytesMax: 64 * 1024 ** 3,
  /** Bytes of one file of the spool; a file goes when all its blocks are applied. */
  spoolSegmentBytesMax: 256 * 1024 ** 2,
  /**
   * Longest wait for the first block of the feed. One that brings none for so long cannot be
   * continued.
   */
  firstBlockMs: 120_000,
  /** The replay waits this long for a further block, while the feed tries by itself. */
  replayStallMs: 600_000,
  /**
   * The new store takes the place of the live one once it is as far, so that no reader sees a slot
   * go back. It waits no longer than this: where the chain began anew it will not be for days.
   */
  catchUpMs: 60_000,
  /**
   * A snapshot that ends before the feed begins is looked for anew this often. Nodes make one each
   * 100 s or so.
   */
  snapshotPollMs: 30_000,
  /** And for this long; then the bootstrap fails and says what is missing. */
  snapshotWaitMs: 1_800_000,
  /** Time for a server to say the name of its newest snapshot. */
  resolveMs: 15_000,
  /** Starts of one bootstrap, those after a crash included; then it has failed. */
  attemptsMax: 5,
  /** How often requests for a bootstrap are looked for, and its progress is looked at. */
  pollMs: 500,
}
