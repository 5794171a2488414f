/** Bounds of the JSON-RPC part of one edge. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Time for the reads named in the contract's rule read-timeout, waiting included. The error's text
   * says 30 seconds.
   */
  readTimeoutMs: 30_000,
  /**
   * Time that one page may scan: long enough for a million rows, short enough that
   * pages take turns.
   */
  scanMs: 2_000,
  /**
   * Bytes of one page. 10,000 token accounts need 5 MiB; 10,000 accounts of 10 MiB would need 130
   * GiB.
   */
  pageReplyBytesMax: 64 * 1024 * 1024,
  /** Calls in one batch, so that one message cannot hold the event loop. */
  batchCountMax: 100,
  /**
   * Calls of one batch that wait for the pools at a time, so that one message cannot fill their
   * queue.
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
   * Bytes of the buffer in which replies at once are put together; larger ones get memory of their
   * own.
   */
  scratchBytes: 512 * 1024,
  /**
   * Canonical point reads are answered by the kernel alone. Off, every call takes the
   * ordinary way.
   */
  fastLane: true,
  /**
   * Results of the fast lane kept until the next commit, each of at most 2 KiB: within a slot many
   * ask for the same accounts. A reply is the same with 0, which keeps none.
   */
  recentResultsMax: 4_096,
}
