import { serverFunctions } from '../../native/server/functions.js'

/** Text, or bytes that are copied or sent before the call returns. */
export type Sendable = string | Uint8Array

/** A number in place of a pointer. The functions throw where it is no longer valid. */
export type Handle = number

/** Slots are the lower part of a handle: the index of an object while it lives. */
const SLOTS = 2 ** 24

export const slotOf = (handle: Handle): number => handle % SLOTS

/**
 * Bytes that were received: how many there are in the memory that `setHandlers` was given, until
 * the handler returns, or an ArrayBuffer where they do not fit.
 */
export type Received = number | ArrayBuffer

/** Bounds of a queue, by their numbers in `native/uws/cpp/sockets.h`. */
export const EXCEEDED = {
  /** Too much waits for this client. */
  lagging: 0,
  /** It has taken nothing for too long. */
  stalled: 1,
  /** Too much waits for all clients, and most of it for this one. */
  slowest: 2,
} as const
export type ExceededBound = (typeof EXCEEDED)[keyof typeof EXCEEDED]

/** Handlers of events, by the slot of the response or WebSocket. */
export type Handlers = {
  onData(slot: number, chunk: Received, isLast: boolean): void
  onAborted(slot: number): void
  onWritable(slot: number, offset: number): boolean
  onOpen(handle: Handle): void
  onMessage(slot: number, message: Received, isBinary: boolean): void
  onDrain(slot: number): void
  /** The client does not take what is sent to it. */
  onExceeded(slot: number, bound: ExceededBound): void
  /** So many frames came that are no message. */
  onIdleFrames(slot: number, count: number): void
  onClose(slot: number, code: number): void
}

/**
 * What a connection exceeded for which the server has closed it, as `native/uws/cpp/closed.h`
 * explains.
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

export type AppOptions = {
  /** A connection without a request is closed after this time. */
  readonly idleSeconds: number
  /** Connections and WebSockets at a time: of all addresses, and of one that is no proxy. */
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  /** Bytes that may be queued for one WebSocket, beside one long message, and for all. */
  readonly socketQueueBytesMax: number
  readonly socketsQueuedBytesMax: number
  /** A client that takes nothing of its queue for this long is reported. */
  readonly socketStallMs: number
  /** Time to send what is queued before the close frame. */
  readonly socketCloseMs: number
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

/** Codes of `CompressOptions` in uWebSockets: none, or one compressor for all sockets. */
export const COMPRESSION = { none: 0, shared: 1 } as const

export type SocketOptions = {
  readonly compression: number
  readonly idleTimeout: number
  readonly maxPayloadLength: number
}

/** The functions of the server in the addon, as `native/uws/cpp/server.cpp` declares them. */
export type Functions = {
  /** It has `received` alone while a handler of received bytes runs. */
  setHandlers(handlers: Handlers, received: ArrayBuffer): void
  createApp(options: AppOptions): number
  mount(
    app: number,
    method: string,
    pattern: string,
    handler: (response: Handle, head: string) => void,
  ): void
  mountSockets(
    app: number,
    pattern: string,
    options: SocketOptions,
    upgrade: (response: Handle, head: string, context: number) => void,
  ): void
  filter(app: number, handle: (change: number) => void): void
  /** Returns −1 where it failed. The descriptor of an inherited socket is in place of the port. */
  listen(app: number, host: string, port: number, isInherited: boolean): Handle
  localPort(listener: Handle): number
  closeListener(listener: Handle): void
  /** Throws if OpenSSL refuses the certificate or the key. */
  setCertificate(
    listener: Handle,
    index: number,
    chain: Uint8Array,
    key: Uint8Array,
    plainReply: string,
  ): void
  publish(
    app: number,
    topic: string,
    frame: Sendable,
    isBinary: boolean,
    isCompressed: boolean,
  ): void
  answeredMessages(app: number): number
  /** Calls `onExceeded`. False if it must be called again in a later turn. */
  checkSockets(app: number): boolean
  /** Bytes in memory that clients of WebSockets have not taken. */
  queuedBytes(app: number): number
  /** Connections of the process that were closed because of a limit, since its start. */
  closedConnections(): Readonly<Record<ConnectionLimit, number>>
  closeApp(app: number): void
  /** Measures the turns of the event loop from now on. The bounds ascend. */
  measureTurns(upperSeconds: Float64Array): void
  /** Counts by bucket since the last call, then their sum, the longest and its processor time. */
  takeTurns(): readonly number[]

  writeStatus(response: Handle, status: string): void
  writeHeader(response: Handle, name: string, value: string): void
  closeAfter(response: Handle): void
  end(response: Handle, body: Sendable | undefined, closeConnection: boolean): void
  endWithoutBody(response: Handle): void
  /** 1 where the client took everything, plus 2 where the response is whole. */
  tryEnd(response: Handle, body: Sendable, totalBytes: number): number
  write(response: Handle, chunk: Sendable): boolean
  cork(response: Handle, write: () => void): void
  close(response: Handle): void
  getWriteOffset(response: Handle): number
  getRemoteAddress(response: Handle): ArrayBuffer
  setAuthenticated(response: Handle): boolean
  readBody(response: Handle): void
  watchWritable(response: Handle): void
  upgrade(
    response: Handle,
    key: string,
    protocol: string,
    extensions: string,
    context: number,
  ): void

  /** May call `onExceeded`. */
  sendFrame(socket: Handle, frame: Sendable, isBinary: boolean, isCompressed: boolean): void
  /** No other frame is sent until all of its bytes are written. */
  beginFrame(socket: Handle, byteLength: number, isBinary: boolean): void
  /** Gives up a frame of which nothing was written. */
  cancelFrame(socket: Handle): void
  /** Returns how many bytes were taken; where not all, `onDrain` follows. May call `onClose`. */
  writeFrame(socket: Handle, piece: Uint8Array): number
  setSocketToken(socket: Handle, token: string, messageBytesMax: number): void
  /** Once all before it was taken. Calls `onClose` then. */
  endSocket(socket: Handle, code: number, reason: Sendable): void
  pauseSocket(socket: Handle): void
  /** May call `onClose`: for a client that has left. */
  resumeSocket(socket: Handle): void
  closeSocket(socket: Handle): void
  getBufferedAmount(socket: Handle): number
  subscribe(socket: Handle, topic: string): boolean
  unsubscribe(socket: Handle, topic: string): boolean
}

const isFunctions = (value: object): value is Functions => 'setHandlers' in value

const NOT_COMPILED =
  'the addon has no server: install a C++ compiler and the headers of Node.js, whose folders may ' +
  'be named in SLOTLINE_NODE_HEADERS, and run `node scripts/setup.mjs`'

/** The functions for this thread's event loop. Throws one line where the addon has none. */
export const loadFunctions = (): Functions => {
  const functions = serverFunctions()
  if (functions === undefined || !isFunctions(functions)) throw new Error(NOT_COMPILED)
  return functions
}
