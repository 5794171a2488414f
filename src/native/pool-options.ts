import { type Declaration, defaultsOf } from '../shared/options/declaration.js'

/** Bounds of what one process runs beside its event loop. */
export const options = {
  scanThreads: {
    default: 2,
    unit: 'threads',
    why: 'Threads for pages and scans, so that one long scan does not delay every page behind it.',
  },
  streamThreads: {
    default: 8,
    unit: 'threads',
    why: 'Threads for long lists of addresses and large records. Each may wait for one slow reader, unless another access needs it; an access holds no more of them than it leaves free.',
  },
  replyBytesInFlightMax: {
    default: 256 * 1024 ** 2,
    unit: 'bytes',
    why: 'Bytes of replies that clients have not read yet: four of the largest pages, or fifty of 10,000 token accounts. An access may take no more of it than it leaves free; what finds no room is refused at once.',
  },
  verifyThreads: {
    default: 2,
    unit: 'threads',
    why: 'Threads that check transactions, apart from reads: a scan must not delay a submission.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Niceness added to scan threads, so that a scan does not slow down a point read. */
  scanNiceness: 10,
  /**
   * Reads that may wait for each of the two; a further one is refused, so that no wait exceeds its
   * time-out.
   */
  queueMax: 1_024,
  /**
   * Bytes in flight of one streamed reply: what is made ahead of its reader while no other access
   * waits for its thread. Most replies fit, and free their thread.
   */
  streamBytesMax: 8 * 1024 ** 2,
  /** Niceness added to them. A bundle of many signatures waits for these threads. */
  verifyNiceness: 0,
  /**
   * Requests that may wait for a check; a further one is refused. 256 batches of 16 signatures take
   * 0.1 s.
   */
  verifyQueueMax: 256,
}
