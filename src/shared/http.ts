import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * A large reply body, read in chunks at the pace of the client. The server calls `close` exactly
 * once: after the last byte, on abort, or on failure. On abort a `read` may be pending: it may
 * write to its buffer until it settles, and its result is ignored.
 */
export type BodySource = {
  /** Total bytes, sent as Content-Length; `undefined` where unknown: then the reply is chunked. */
  readonly byteLength: number | undefined
  /**
   * Copies the next bytes into `into` and returns their number; 0 is the end. Rejects if the
   * rest cannot be read.
   */
  read(into: Uint8Array): number | Promise<number>
  /**
   * How often replies found no room beside this one: it rises while others wait for its memory, and
   * then a slow client is not waited for. Absent if its memory is not shared.
   */
  refusedCount?(): number
  close(): void
}

/** A source whose length is known. */
export type SizedSource = BodySource & { readonly byteLength: number }

/**
 * A reply body. A `Uint8Array` may be a view into a reused buffer: it is valid until the next
 * native read, so the server writes or copies it before it returns to the event loop.
 */
export type Body = Uint8Array | string | BodySource

/** A whole reply. Header names are sent as written. */
export type Reply = {
  readonly status: number
  /** Not sent where it is empty. */
  readonly contentType: string
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A request, without uWebSockets. Each value is looked up at its first read. Path, query and
 * headers must be read in `open`: a first read later throws, because the head is not kept for a
 * reply that is awaited. Values that were read once can be read again at any time.
 */
export type Request = {
  readonly method: string
  /** Path without the query string. */
  readonly path: string
  /** Query string without `?`; empty if there is none. */
  readonly query: string
  /** Value of a header by its lower-case name; empty if it is absent. */
  header(name: string): string
  /**
   * The client's address (contract: client-address) as text, IPv4-mapped IPv6 unmapped. Costs
   * 1.5 µs, so read it only where it is needed. Empty if it is first read after the client has
   * disconnected.
   */
  readonly address: string
  /** UUID of this request in log lines. Created at its first read. */
  readonly id: string
  /** The body is in memory of its own, which stays as it is until the reply has been sent. */
  readonly ownsBody: boolean
}

/**
 * A route. `open` runs after the headers and before the body: it refuses with a Reply, or returns
 * the context for `handle`. So the body of an unauthenticated request is never read.
 */
export type Route<T = unknown> = {
  readonly method: 'GET' | 'POST'
  /** uWebSockets pattern: literal segments, `:name`, or `/*`. */
  readonly pattern: string
  /**
   * The accepted content type, with any parameters; others are refused with 415. All are accepted
   * where it is not set. Clients may omit the header for JSON, not for bytes.
   */
  readonly contentType?: 'application/json' | 'application/octet-stream'
  /** Bound of the body in bytes; 0 where there is none. */
  readonly bodyBytesMax: number
  /** `open` admits only requests with valid credentials. */
  readonly isAuthenticated?: boolean
  open(request: Request): T | Reply
  /**
   * Called after `open` for the first request of a connection that it admitted, and for each that
   * came through a proxy.
   */
  onClient?(context: T, request: Request): void
  /**
   * Checks again what `open` decided: before `handle`, before a reply that was awaited is sent, and
   * before each chunk of a long one. A Reply refuses; the rest of a reply in progress is not sent.
   */
  recheck?(context: T, request: Request): Reply | undefined
  /**
   * Handles a whole body. The next request of the connection waits for this reply. `body` is valid
   * until the first await, or until the reply if the request owns it.
   */
  handle(context: T, body: Uint8Array, request: Request): Reply | Promise<Reply>
  /**
   * Who takes the memory of the body and the reply. One owner cannot take all that the server has
   * for bodies or replies.
   */
  ownerOf?(context: T): string
  /** Headers added to each refusal, of `open` or of the server itself. */
  refusalHeaders?(): Readonly<Record<string, string>>
  /**
   * Called exactly once for each context that `open` returned: when the reply is sent or the client
   * has disconnected, and `handle` has settled. Releases what `open` acquired.
   */
  done?(context: T): void
}

/** True if `open` refused. */
export const isReply = (value: unknown): value is Reply =>
  typeof value === 'object' && value !== null && 'status' in value && 'contentType' in value

/** How often a server that closes looks for connections that have nothing left to do. */
const SWEEP_MS = 50
/** How long a new connection may take to send its request to a server that closes. */
const FIRST_BYTE_MS = 100

type Closed = Pick<Server, 'close' | 'closeAllConnections' | 'closeIdleConnections' | 'on' | 'once'>

/**
 * Returns what closes the server: it accepts no more connections, waits `drainMs` for requests in
 * flight, and closes the rest. Node takes a connection without any request, as browsers open in
 * advance, for one with a request in flight, and keeps one that became idle while it closes: both
 * would take all of `drainMs`. To be called before the server listens.
 */
export const createServerCloser = (server: Closed): ((drainMs: number) => Promise<void>) => {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return async drainMs => {
    const startMs = performance.now()
    const sweep = setInterval(() => {
      server.closeIdleConnections()
      if (performance.now() - startMs < FIRST_BYTE_MS) return
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    }, SWEEP_MS)
    const timer = setTimeout(() => server.closeAllConnections(), drainMs)
    server.close()
    await once(server as Server, 'close')
    clearInterval(sweep)
    clearTimeout(timer)
  }
}
