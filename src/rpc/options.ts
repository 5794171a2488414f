import { type Declaration, defaultsOf } from '../shared/options/declaration.js'

/** Bounds of the JSON-RPC part of one edge. */
export type Options = Readonly<typeof defaults>

export const options = {
  batchCountMax: {
    default: 100,
    unit: 'count',
    why: 'Calls in one batch, so that one message cannot block the event loop.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /**
   * Results of the fast lane that are cached until the next commit, each of at most 2 KiB: within a
   * slot many clients read the same accounts. 0 disables the cache.
   */
  recentResultsMax: 4_096,
  /**
   * Time for the reads named in the contract's rule read-timeout, waiting included. The error's
   * text says 30 seconds.
   */
  readTimeoutMs: 30_000,
  /**
   * Time that one page may scan: long enough for a million rows, short enough for other pages to
   * get their turn.
   */
  scanMs: 2_000,
  /**
   * Bytes of one page. 10,000 token accounts need 5 MiB; 10,000 accounts of 10 MiB would need 130
   * GiB.
   */
  pageReplyBytesMax: 64 * 1024 * 1024,
  /**
   * Calls of one batch that are queued in the pools at a time, so that one message cannot fill
   * their queues; fewer where its access may have fewer requests in flight.
   */
  batchWaitingMax: 8,
  /** Bytes of all results of one batch: half of what an edge may have in flight. */
  batchReplyBytesMax: 128 * 1024 * 1024,
  /**
   * Arrays and objects inside each other, the message itself included; serde_json, and so Agave,
   * stops there too.
   */
  nestingMax: 127,
  /**
   * Elements and members of one message, so that `JSON.parse` takes 1 ms at most. Lists of
   * addresses in messages longer than `loopBytesMax` are not counted.
   */
  elementsMax: 4_096,
  /**
   * Longest message whose addresses are decoded on the event loop; those of a longer one are on a
   * thread. That costs 0.1 ms where the machine is idle.
   */
  addressesBytesMax: 16 * 1024,
  /**
   * Longest message that is parsed on the event loop. Of a longer one that holds for what is left
   * without its addresses.
   */
  loopBytesMax: 64 * 1024,
  /**
   * Bytes of a message that count as one request against the rate of its access; a longer one
   * counts as several, and as one burst at most.
   */
  requestBytes: 64 * 1024,
  /**
   * Bytes of a reply that count as one request against the rate of its access; a longer one counts
   * as several, and as one burst at most.
   */
  requestReplyBytes: 64 * 1024,
  /** Time that batches may run per turn of the event loop, so that other requests get theirs. */
  batchTurnMs: 2,
  /**
   * Bytes of the buffer in which synchronous replies are assembled; larger ones are allocated.
   */
  scratchBytes: 512 * 1024,
  /**
   * Canonical point reads are answered by the native addon without a parsed message. Off, every
   * message is parsed.
   */
  fastLane: true,
}
