import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/** Bounds of making a store from a snapshot or from another RPC. */
export type Options = Readonly<typeof defaults>

export const options = {
  spoolMs: {
    default: 43_200_000,
    unit: 'milliseconds',
    why: 'How long blocks of the feed may wait on disk while a store is loaded, by the times of the blocks. Over it the bootstrap fails. An archive of all of mainnet takes one hour to load, and at 3 MB/s ten to arrive.',
  },
  spoolBytesMax: {
    default: 1024 ** 4,
    unit: 'bytes',
    why: 'Bytes of these blocks, compressed to about a quarter. Over it, or without `store.diskReserveBytes` of free space, the bootstrap fails. The default holds 5 hours of all of mainnet at 225 MB/s.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Bytes of one file of the spool; a file is removed when all its blocks are applied. */
  spoolSegmentBytesMax: 256 * 1024 ** 2,
  /**
   * Longest wait for the first block of the feed. Without one the new store cannot be continued.
   */
  firstBlockMs: 120_000,
  /** The replay waits this long for the next block, while the feed reconnects by itself. */
  replayStallMs: 600_000,
  /**
   * Longest wait until the new store has reached the live store's slot, so that no reader sees
   * the slot decrease. Where the chain began again, that would take days.
   */
  catchUpMs: 60_000,
  /**
   * How often a newer snapshot is requested when the present one ends before the feed begins. Nodes
   * make one every 100 s or so.
   */
  snapshotPollMs: 30_000,
  /** Longest wait for it; then the bootstrap fails and says what is missing. */
  snapshotWaitMs: 1_800_000,
  /** Time for a server to return the name of its newest snapshot. */
  resolveMs: 15_000,
  /** Longest wait until another machine has copied its store: some minutes for 100 GB. */
  peerCopyMs: 3_600_000,
  /** Longest silence of another machine while it sends the copy. */
  peerSilenceMs: 60_000,
  /** Starts of one bootstrap, those after a crash included; then it has failed. */
  attemptsMax: 5,
  /** How often requests for a bootstrap are read, and its progress is updated. */
  pollMs: 500,
}
