/**
 * The part of uWebSockets.js that this server uses, under its names. Two libraries have it: the one
 * that is compiled with the addon, and the prebuilt package.
 */

/** Text, or bytes that are copied or sent before the call returns. */
export type Sendable = string | Uint8Array | ArrayBuffer

/** What was received; valid until the handler returns. */
export type Received = Uint8Array | ArrayBuffer

export const toBytes = (received: Received): Uint8Array =>
  received instanceof Uint8Array ? received : new Uint8Array(received)

/** The head of a request; valid until its handler returns. */
export interface HttpRequest {
  /** Whether it is of HTTP/1.0, which the prebuilt package refuses by itself. */
  isAncient?(): boolean
  /** Whether a part of the body has not come. Only of the compiled server. */
  isBodyDue?(): boolean
  getUrl(): string
  /** The prebuilt package returns undefined where there is none. */
  getQuery(): string | undefined
  getHeader(lowerCaseName: string): string
  getCaseSensitiveMethod(): string
  forEach(handle: (name: string, value: string) => void): void
}

/** One response. Every call throws after it was answered or aborted. */
export interface HttpResponse {
  /**
   * The request was authenticated: its connection is not closed for others. Returns whether it is
   * the first one of its connection. Only of the compiled server.
   */
  setAuthenticated?(): boolean
  /**
   * The connection ends after this response, whose head is not written yet. Only of the compiled
   * server, which states by itself in every head whether it ends.
   */
  closeAfter?(): void
  writeStatus(status: string): unknown
  writeHeader(name: string, value: string): unknown
  end(body?: Sendable, closeConnection?: boolean): unknown
  endWithoutBody(): unknown
  /** Returns whether the client took everything, and whether the response is whole. */
  tryEnd(body: Sendable, totalBytes: number): [boolean, boolean]
  /** Returns whether the client took everything. */
  write(chunk: Sendable): boolean
  cork(write: () => void): unknown
  /** Closes the connection. */
  close(): unknown
  getWriteOffset(): number
  getRemoteAddress(): ArrayBuffer
  onAborted(handle: () => void): unknown
  onData(handle: (chunk: Received, isLast: boolean) => void): unknown
  onWritable(handle: (offset: number) => boolean): unknown
  upgrade<Data>(
    data: Data,
    key: string,
    protocol: string,
    extensions: string,
    context: SocketContext,
  ): void
}

/** Names the route of a handshake; passed to `upgrade` unchanged. */
export type SocketContext = unknown

/** One WebSocket. Every call throws after it was closed. */
export interface WebSocket<Data> {
  getUserData(): Data
  send(frame: Sendable, isBinary?: boolean, isCompressed?: boolean): number
  /**
   * Has canonical point reads of this token answered before JavaScript, in messages up to a size;
   * an empty token ends it. Only of the compiled server.
   */
  setToken?(token: string, messageBytesMax: number): void
  end(code?: number, reason?: Sendable): unknown
  close(): unknown
  /**
   * Begins a frame whose payload follows by `writeFrame`, which returns how many bytes were taken;
   * `drain` tells when more can be. No other frame may be sent meanwhile. Not while a message is
   * handled. Only of the compiled server.
   */
  beginFrame?(byteLength: number, isBinary?: boolean): void
  writeFrame?(piece: Uint8Array): number
  /**
   * Messages are not read until `resume`; of one that is read now a few more may follow. `resume`
   * closes a socket whose client has left. Only of the compiled server.
   */
  pause?(): void
  resume?(): void
  getBufferedAmount(): number
  subscribe(topic: string): boolean
  unsubscribe(topic: string): boolean
  isSubscribed(topic: string): boolean
  getTopics(): string[]
}

export type RequestHandler = (res: HttpResponse, req: HttpRequest) => void

/** Handlers and bounds of the WebSockets of one pattern. */
export type SocketBehavior<Data> = {
  readonly compression: number
  readonly idleTimeout: number
  readonly sendPingsAutomatically: boolean
  readonly maxPayloadLength: number
  readonly maxBackpressure: number
  readonly closeOnBackpressureLimit: number
  readonly upgrade: (res: HttpResponse, req: HttpRequest, context: SocketContext) => void
  readonly open: (ws: WebSocket<Data>) => void
  readonly message: (ws: WebSocket<Data>, message: Received, isBinary: boolean) => void
  readonly drain: (ws: WebSocket<Data>) => void
  /** A reply before JavaScript was not taken at once. */
  readonly queued?: (ws: WebSocket<Data>, bytes: number) => void
  /** Pings, pongs and small fragments, which are no message; only of the compiled server. */
  readonly idleFrames?: (ws: WebSocket<Data>, count: number) => void
  readonly close: (ws: WebSocket<Data>, code: number) => void
}

/** Routes, listeners and connections of one server. */
export interface App<Listener> {
  /** Number of the app, for what answers its requests natively; only of the compiled server. */
  readonly index?: number
  get(pattern: string, handler: RequestHandler): unknown
  head(pattern: string, handler: RequestHandler): unknown
  post(pattern: string, handler: RequestHandler): unknown
  options(pattern: string, handler: RequestHandler): unknown
  any(pattern: string, handler: RequestHandler): unknown
  ws<Data>(pattern: string, behavior: SocketBehavior<Data>): unknown
  /** `change` is 1 for a connection that opens, −1 for one that closes. */
  filter(handle: (res: unknown, change: { valueOf(): number }) => void): unknown
  /** Calls back before it returns, with `false` where it failed. */
  listen(host: string, port: number, handle: (listener: Listener | false) => void): unknown
  /** The same on an inherited socket that listens already. Only of the compiled server. */
  listenOn?(descriptor: number, handle: (listener: Listener | false) => void): void
  publish(topic: string, frame: Sendable, isBinary?: boolean, isCompressed?: boolean): boolean
  numSubscribers(topic: string): number
  /** Messages of WebSockets that were answered before JavaScript. */
  answeredMessages?(): number
  close(): unknown
}

/**
 * What a connection exceeded for which the compiled server has closed it, as
 * `native/uws/cpp/closed.h` explains.
 */
export const CONNECTION_LIMITS = [
  'address',
  'total',
  'descriptors',
  'handshake',
  'records',
  'idle',
  'request',
  'response',
  'linger',
] as const

export type ConnectionLimit = (typeof CONNECTION_LIMITS)[number]

/** Options of the compiled server only. */
export type AppOptions = {
  /** A connection without a request is closed after this time. */
  readonly idleSeconds: number
  /** Connections and WebSockets at a time: of all addresses, and of one that is no proxy. */
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  /** Whether the bytes of an address are those of a trusted proxy. */
  readonly isProxy: (address: ArrayBuffer) => boolean
  /** Value of `Keep-Alive` where a connection stays open. */
  readonly keepAlive: string
  /** Bytes that are read and dropped once the end of a connection was sent. */
  readonly lingerBytesMax: number
  /** Whole replies to requests that cannot be parsed. */
  readonly badRequest: string
  readonly headTooLarge: string
  readonly urlTooLong: string
  readonly versionUnsupported: string
}

/** A certificate with its chain, and its key, in PEM. */
export type Pem = { readonly chain: Uint8Array; readonly key: Uint8Array }

export interface Library<Listener> {
  /** Chunked bodies are read strictly; else one could hide another request behind a proxy. */
  readonly acceptsChunked: boolean
  /** States in every head whether the connection stays open. */
  readonly writesKeepAlive: boolean
  createApp(options: AppOptions): App<Listener>
  us_listen_socket_close(listener: Listener): void
  us_socket_local_port(listener: Listener): number
  /**
   * Has a listener speak TLS, with this as its certificate number `index` for the next connections;
   * throws where OpenSSL refuses it. `plainReply` answers requests without TLS. Only of the
   * compiled server.
   */
  setCertificate?(listener: Listener, index: number, pem: Pem, plainReply: string): void
  readonly SHARED_COMPRESSOR: number
  readonly DISABLED: number
}
