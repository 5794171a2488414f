/** Bounds of one HTTP server. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Bodies of more than one piece, and bodies whose answer is still awaited, in all. Over it: 503.
   */
  bodiesInFlightBytesMax: 256 * 1024 ** 2,
  /**
   * A body's buffer grows past the bytes really received by at most this, whatever Content-Length
   * claims.
   */
  bodyStepBytesMax: 1024 ** 2,
  /**
   * Up to this a reply leaves in one write, in the same tick, and uWebSockets.js keeps what the
   * kernel does not take. 256 KiB of account data in base64 and its envelope: the largest read that
   * is answered in one tick.
   */
  replyDirectBytesMax: 384 * 1024,
  /** Replies that were copied because they were larger than that, in all. Over it: 503. */
  repliesInFlightBytesMax: 256 * 1024 ** 2,
  /** A large reply is written in pieces of this many bytes: about 20 µs of the event loop each. */
  pieceBytes: 64 * 1024,
  /**
   * Pieces of all large replies written before the event loop turns: what a small request waits at
   * most.
   */
  turnBytesMax: 128 * 1024,
  /** Piece buffers kept for the next large reply. */
  piecesKeptMax: 32,
  /**
   * A large reply of which not one piece left in this time is given up, and its connection closed.
   */
  replyStallMs: 10_000,
  /** One direct reply per this many bytes is used to look whether its client reads at all. */
  backlogProbeBytes: 256 * 1024,
  /**
   * Probes that found an address not reading, since `backlogForgetMs`, before its connections are
   * closed.
   */
  backlogProbesMax: 16,
  /** Addresses that did not read are forgotten this often. */
  backlogForgetMs: 60_000,
  /**
   * Bytes that wait for one WebSocket's client, beside the one frame that may be larger; over it
   * the socket is closed with 1013. The longest pause of a client that still is in time: 16 MiB are
   * 1,000 updates of 12 KB.
   */
  socketQueueBytesMax: 16 * 1024 ** 2,
  /**
   * The same over all WebSockets of a server, what many hold counted once; over it the fullest are
   * cut. Memory is up to twice this, because buffers grow by doubling.
   */
  socketsQueuedBytesMax: 512 * 1024 ** 2,
  /** A client that takes nothing of what waits for it for this long does not read: 1013. */
  socketStallMs: 3_000,
  /** How long what waits may still leave before the close frame; then the connection is cut. */
  socketCloseMs: 1_000,
  /** How often queues are looked at. What they grow in between comes on top of their bounds. */
  socketSweepMs: 100,
  /**
   * What such a look may take of the event loop at a time: a thousand to close at once would hold
   * up all others.
   */
  socketTurnMs: 1,
  /** A WebSocket on which nothing is heard for this long is closed; pings ask before. */
  socketIdleSeconds: 120,
  /**
   * Messages up to this are read to their end, so that what is over a route's own bound is closed
   * with 1009. Over this one it is cut (1006), because nothing tells how much of it has come.
   */
  socketReadBytesMax: 4 * 1024 ** 2,
  /**
   * Frames to clients that offer permessage-deflate: `shared` packs them with one compressor for
   * all, `none` does not.
   */
  socketCompression: 'none',
  /** Peers whose PROXY v2 header or X-Forwarded-For is believed: addresses or `address/bits`. */
  trustedProxies: Object.freeze([]) as readonly string[],
  /** While draining: idle connections are closed when no request has come for this long. */
  drainQuietMs: 250,
  /** Requests in flight have this long to finish; then their connections are closed. */
  drainMs: 10_000,
}

/** What `socketCompression` may be. */
export const COMPRESSIONS = ['none', 'shared'] as const

/**
 * What the process must put into its environment before the first server opens, because
 * uWebSockets.js reads it once, while it is loaded. Its default of 4,096 bytes of headers is less
 * than a sign-in cookie needs.
 */
export const UWS_ENVIRONMENT = { UWS_HTTP_MAX_HEADERS_SIZE: '16384' } as const
