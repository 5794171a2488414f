/** Bounds of one HTTP server. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Bodies of more than one piece, and bodies whose answer is still awaited, in all. Over it: 503. Spec design: per edge. */
  bodiesInFlightBytesMax: 256 * 1024 ** 2,
  /** A body's buffer grows past the bytes really received by at most this, whatever Content-Length claims. */
  bodyStepBytesMax: 1024 ** 2,
  /**
   * Up to this a reply leaves in one write, in the same tick, and uWebSockets.js keeps what the kernel does not
   * take. 256 KiB of account data in base64 and its envelope: the largest read that is answered in one tick.
   */
  replyDirectBytesMax: 384 * 1024,
  /** Replies that were copied because they were larger than that, in all. Over it: 503. */
  repliesInFlightBytesMax: 256 * 1024 ** 2,
  /** A large reply is written in pieces of this many bytes: about 20 µs of the event loop each. */
  pieceBytes: 64 * 1024,
  /** Pieces of all large replies written before the event loop turns: what a small request waits at most. */
  turnBytesMax: 128 * 1024,
  /** Piece buffers kept for the next large reply. */
  piecesKeptMax: 32,
  /** A large reply of which not one piece left in this time is given up, and its connection closed. */
  replyStallMs: 10_000,
  /** One direct reply per this many bytes is used to look whether its client reads at all. */
  backlogProbeBytes: 256 * 1024,
  /** Probes that found an address not reading, since `backlogForgetMs`, before its connections are closed. */
  backlogProbesMax: 16,
  /** Addresses that did not read are forgotten this often. */
  backlogForgetMs: 60_000,
  /** Peers whose PROXY v2 header or X-Forwarded-For is believed: addresses or `address/bits`. */
  trustedProxies: Object.freeze([]) as readonly string[],
  /** While draining: idle connections are closed when no request has come for this long. */
  drainQuietMs: 250,
  /** Requests in flight have this long to finish; then their connections are closed. */
  drainMs: 10_000,
}

/**
 * What the process must put into its environment before the first server opens, because uWebSockets.js reads
 * it once, while it is loaded. Its default of 4,096 bytes of headers is less than a sign-in cookie needs.
 */
export const UWS_ENVIRONMENT = { UWS_HTTP_MAX_HEADERS_SIZE: '16384' } as const
