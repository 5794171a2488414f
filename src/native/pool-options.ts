/** Bounds of what one process runs beside its event loop. */
export const defaults = {
  /** Threads for pages and scans, so that one long scan does not hold up every page behind it. */
  scanThreads: 2,
  /** Added to the niceness of scan threads, so that a scan never slows a point read. */
  scanNiceness: 10,
  /**
   * Threads for long lists of addresses and for large records. Each may wait for one slow reader.
   */
  streamThreads: 8,
  /**
   * Reads that may wait for each of the two; one more is refused, so that no wait outlasts its
   * time-out.
   */
  queueMax: 1_024,
  /**
   * Replies that were made and not yet taken, over all clients: 50 of the largest pages, a few of
   * them slow.
   */
  replyBytesInFlightMax: 256 * 1024 ** 2,
  /**
   * The same for one streamed reply: what is made ahead of its reader. Most replies fit, and free
   * their thread.
   */
  streamBytesMax: 8 * 1024 ** 2,
  /** Threads that check transactions, not those of reads: a scan must not hold up a submission. */
  verifyThreads: 2,
  /**
   * Added to their niceness: a full batch takes milliseconds, for which no point read should wait.
   */
  verifyNiceness: 5,
  /**
   * Requests that may wait for a check; one more is refused. 256 batches of 16 signatures take 0.1
   * s.
   */
  verifyQueueMax: 256,
}
