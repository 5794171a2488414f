import { type Declaration, defaultsOf } from '../shared/options/declaration.js'

/** Bounds of the subscriptions to one network at one edge, and of streams. */
export type Options = Readonly<typeof defaults>

export const options = {
  streamBytesPerSecondMax: {
    default: 64 * 1024 ** 2,
    unit: 'bytes',
    min: 1024 ** 2,
    max: 2 ** 40,
    why: 'Bytes of updates a second of an access over all its gRPC streams on this machine, and at once after a pause; more waits. The default is several times what a chain brings on most days; a client of all accounts of mainnet may need 225 MB.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Subscriptions of all sockets of one edge. Agave's bound of a node. */
  subscriptionsMax: 1_000_000,
  /**
   * Filters of one programSubscribe. Every change of the program is compared with them. Agave's
   * bound.
   */
  filtersMax: 4,
  /** Accounts in a list of a filter of one transactionSubscribe. */
  filterKeysMax: 10_000,
  /**
   * Accounts in the filters of all subscriptions of an access at one edge: each takes up to 250
   * bytes.
   */
  accessKeysMax: 100_000,
  /** The same of all accesses at one edge: 125 MB. */
  keysMax: 500_000,
  /**
   * Subscriptions of an access to fees and tips at one edge. Each is a read of the index for each
   * block, of 5 to 50 ms on another thread, and one runs at a time.
   */
  accessReadsMax: 8,
  /** The same of all accesses at one edge. */
  readsMax: 64,
  /**
   * Ended ids that are kept for a socket. To unsubscribe one of them succeeds: web3.js would
   * repeat a failure without end.
   */
  idsRememberedMax: 1_024,
  /**
   * Bytes queued for a socket over which nothing more is replayed for it until it has taken them:
   * a part of the queue that would close it.
   */
  replayQueuedBytesMax: 1024 ** 2,
  /** Bytes of frames that are made at once; one frame may be larger. */
  chunkBytesMax: 4 * 1024 ** 2,
  /**
   * Frames that are sent per turn of the event loop, each counted for every socket that it is sent
   * to: at most twice as many. A write to a socket takes 3 to 7 µs.
   */
  turnFramesMax: 128,
  /** Milliseconds of a turn of the event loop that frames are sent for. */
  turnMs: 1,
}
