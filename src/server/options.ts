import { type Declaration, defaultsOf } from '../shared/options/declaration.js'

/** Bounds of one HTTP server. */
export type Options = Readonly<typeof defaults>

export const options = {
  bodiesInFlightBytesMax: {
    default: 256 * 1024 ** 2,
    unit: 'bytes',
    why: 'Bytes in memory of request bodies that arrived in several chunks or whose reply is still awaited. Over it: 503. An access may take no more of it than it leaves free.',
  },
  socketsQueuedBytesMax: {
    default: 512 * 1024 ** 2,
    unit: 'bytes',
    min: 1024 ** 2,
    max: 2 ** 30,
    why: 'Bytes that may be queued for all WebSockets of a server, shared frames counted once; over it those with the longest queues are closed. Memory is up to twice this, because buffers grow by doubling.',
  },
  socketIdleSeconds: {
    default: 120,
    unit: 'seconds',
    min: 8,
    max: 960,
    why: 'A WebSocket without traffic for this long is closed; pings are sent before.',
  },
  socketCompression: {
    default: 'none',
    words: ['none', 'shared'],
    why: 'Compression for clients that offer permessage-deflate: `shared` uses one compressor for all, `none` is off.',
  },
  idleSeconds: {
    default: 75,
    unit: 'seconds',
    max: 900,
    why: 'A connection without a request is closed after this time, which replies state in `Keep-Alive`. Longer than that of common proxies in front, so that these close their idle connections first.',
  },
  connectionsMax: {
    default: 65_536,
    unit: 'connections',
    min: 16,
    max: 2 ** 20,
    why: 'Connections of one location at one edge, WebSockets included. One that opens over it has the oldest closed that idles and never sent a valid token, or is closed itself where there is none.',
  },
  connectionsPerAddressMax: {
    default: 16_384,
    unit: 'connections',
    min: 16,
    max: 2 ** 20,
    why: 'The same for one address (of IPv6, for its first 64 bits) that is no trusted proxy: enough for many clients behind one address, and too few to take the connections of all others.',
  },
  drainMs: {
    default: 10_000,
    unit: 'milliseconds',
    why: 'Time that requests in flight have to finish while draining; then their connections are closed.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /**
   * Bytes by which a body's buffer may exceed the bytes received, whatever Content-Length says,
   * before it is rounded up to a power of two. The buffer doubles up to an eighth of it, so that no
   * more than that is copied at once.
   */
  bodyStepBytesMax: 8 * 1024 ** 2,
  /**
   * Bytes in memory of replies over 384 KiB. Over it: 503. An access may take no more of it than it
   * leaves free: half for one alone, which is more than its largest pages in flight.
   */
  repliesInFlightBytesMax: 256 * 1024 ** 2,
  /** Bytes of buffers of bodies that are kept for reuse. */
  bodiesPooledBytesMax: 64 * 1024 ** 2,
  /** Those that were not needed for this long are given back to the system. */
  bodiesPooledMs: 10_000,
  /**
   * Bytes of a refused request's body that are read and dropped, so that its client reads the
   * refusal: with bytes unread the system resets the connection. After more it is closed.
   */
  lingerBytesMax: 64 * 1024 ** 2,
  /**
   * Replies up to this size are written at once, and uWebSockets buffers what the kernel does
   * not take. Enough for 256 KiB of account data in base64, the largest read that is answered
   * synchronously.
   */
  replyDirectBytesMax: 384 * 1024,
  /** A larger reply is written in chunks of this many bytes, each about 20 µs of the event loop. */
  chunkBytes: 64 * 1024,
  /**
   * Bytes of large replies written per turn of the event loop: the longest delay of a small request
   * behind them.
   */
  turnBytesMax: 128 * 1024,
  /** Chunk buffers that are kept for reuse. */
  chunksPooledMax: 32,
  /**
   * A large reply whose client takes nothing for this long is ended and its connection closed. So
   * is one of which it takes less than 64 KiB in this time, while others find no room for theirs.
   */
  replyStallMs: 10_000,
  /**
   * Time that a client may take for a large reply. The largest page in this time is 1.8 Mbit/s.
   */
  replyMs: 300_000,
  /**
   * Bytes that may be queued for one WebSocket, beside one frame that may be larger; over it the
   * socket is closed with 1013. 16 MiB are 1,000 updates of 12 KB.
   */
  socketQueueBytesMax: 16 * 1024 ** 2,
  /** A client that takes nothing of its queue for this long is closed with 1013. */
  socketStallMs: 3_000,
  /** Time to send what is queued before the close frame; then the connection is terminated. */
  socketCloseMs: 1_000,
  /**
   * Interval at which queues are checked. They may exceed their bounds by what is queued in
   * between.
   */
  socketSweepMs: 100,
  /**
   * Messages up to this size are read to their end, so that one over its route's bound is closed
   * with 1009. Longer ones terminate the connection (1006).
   */
  socketReadBytesMax: 4 * 1024 ** 2,
  /** Peers whose X-Forwarded-For is trusted: addresses or `address/bits`. */
  trustedProxies: Object.freeze([]) as readonly string[],
  /**
   * Interval at which the files of listeners' certificates are checked. A change is taken at the
   * second check, so that it is whole.
   */
  certificateCheckSeconds: 2,
  /**
   * WebSockets are closed one after another over this time while draining, so that their clients do
   * not reconnect all at once. Few of them take less: each has `socketsDrainStepMs`.
   */
  socketsDrainMs: 5_000,
  /** See `socketsDrainMs`. */
  socketsDrainStepMs: 10,
  /** While draining, idle connections are closed after this time without a new request. */
  drainQuietMs: 250,
}
