/**
 * A reply body too large to build in one piece: read it in pieces, at the reader's pace. The server
 * calls `close` exactly once: after the last byte, on abort, or on failure. On abort that may be
 * while a `read` is pending: the buffer stays the read's own until it settles, and what it settles
 * to is ignored.
 */
export type BodySource = {
  /** Bytes in all, sent as Content-Length; `undefined` where they are not known (then chunked). */
  readonly byteLength: number | undefined
  /**
   * Copies the next bytes into `into` and says how many; 0 is the end. Rejects where the rest
   * cannot come.
   */
  read(into: Uint8Array): number | Promise<number>
  close(): void
}

/**
 * What is sent back. A `Uint8Array` may be a view into a reused buffer: it is valid only until the
 * next native read, so the server writes (or copies) it before it returns to the event loop.
 */
export type Body = Uint8Array | string | BodySource

/** A whole reply. Header names are as they go on the wire. */
export type Reply = {
  readonly status: number
  /** None is sent where it is empty. */
  readonly contentType: string
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * What a handler may know of a request: plain values, no uWebSockets.js. Each is looked up when it
 * is first read. Path, query and headers must be read in `open`, and can be read again whenever the
 * handler wants; read later for the first time they throw, because uWebSockets.js has forgotten
 * them.
 */
export type Request = {
  readonly method: string
  /** Path without the query string. */
  readonly path: string
  /** Query string without `?`; empty where there is none. */
  readonly query: string
  /** Value of a header by its lower-case name; empty where it is absent. */
  header(name: string): string
  /**
   * The address that counts (contract: client-address), as text, IPv4-mapped IPv6 unmapped.
   * Costs 1.5 µs, so read it where it decides something. Empty where it is first read after the
   * client is gone.
   */
  readonly address: string
  /** UUID of the log lines of this request. Made only when it is read. */
  readonly id: string
}

/**
 * One thing the server answers. `open` runs when the headers are in and before any body byte is
 * read: it refuses (a Reply) or returns what `handle` needs, so that an unauthenticated body is
 * never read.
 */
export type Route<T = unknown> = {
  readonly method: 'GET' | 'POST'
  /** uWebSockets.js pattern: literal segments, `:name`, or `/*`. */
  readonly pattern: string
  /**
   * The only content type taken, with any parameters; others are 415. Any where it is not set. For
   * JSON it may be absent, since clients leave it out; bytes must be called so.
   */
  readonly contentType?: 'application/json' | 'application/octet-stream'
  /** Bound of the body in bytes; 0 where the route takes none. */
  readonly bodyBytesMax: number
  open(request: Request): T | Reply
  /**
   * Whether what `open` decided still holds: asked before `handle`, before a reply that was waited
   * for is sent, and before each piece of a long one. A Reply refuses; of a reply that is on its
   * way the rest is not sent.
   */
  recheck?(context: T, request: Request): Reply | undefined
  /**
   * Answers a whole body. Synchronous wherever nothing waits: uWebSockets.js closes a connection
   * whose next pipelined request comes before this answer. `body` is valid only until the first
   * await.
   */
  handle(context: T, body: Uint8Array, request: Request): Reply | Promise<Reply>
  /** What else stands in the head of each refusal, be it of `open` or of the server itself. */
  refusalHeaders?(): Readonly<Record<string, string>>
  /**
   * Called exactly once for each context that `open` returned: when the reply is sent or the client
   * is gone, and `handle`, where it was called, has settled. Whatever `open` took is given back
   * here.
   */
  done?(context: T): void
}

/** True where `open` refused. */
export const isReply = (value: unknown): value is Reply =>
  typeof value === 'object' && value !== null && 'status' in value && 'contentType' in value
