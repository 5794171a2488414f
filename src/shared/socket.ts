import type { Reply, Request } from './http.js'

/**
 * Close codes that the server uses. Never 1000: web3.js 1.x does not come back after it, and kit
 * takes it for the end that it asked for. A client's own 1000 is echoed.
 */
export const CLOSE = {
  policy: 1008,
  tooLarge: 1009,
  /** A fault of ours, which the log tells. */
  fault: 1011,
  restart: 1012,
  overload: 1013,
} as const
export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE]

/** One open WebSocket, as handlers see it. */
export type Socket = {
  /** UUID of its log lines. Made only when it is read. */
  readonly id: string
  /**
   * Queues one frame, of text unless it is said to be binary; the bytes are copied before it
   * returns. False where the socket is closed: then nothing is sent. Over the bound of its queue
   * the socket is closed with 1013, never is a frame left out.
   */
  send(frame: Uint8Array | string, isBinary?: boolean): boolean
  /** From here on it is sent what is published on `topic`. */
  subscribe(topic: string): void
  unsubscribe(topic: string): void
  /**
   * Nothing is sent after it but the close frame. `CLOSE.policy` cuts also what is queued: it
   * belongs to somebody who may have it no more.
   */
  close(code: CloseCode, reason: string): void
  readonly isClosed: boolean
  /** Bytes that the client has not taken yet. */
  readonly queuedBytes: number
  /** Requests `onDrain` once the client has taken everything that is queued. */
  notifyDrain(): void
}

/** One pattern at which WebSockets are opened. */
export type SocketRoute<T = unknown> = {
  /** uWebSockets.js pattern, as in `Route`. */
  readonly pattern: string
  /** Bound of a message in bytes; a larger one closes the socket with 1009. */
  readonly frameBytesMax: number
  /** Decides at the upgrade, at once; a Reply refuses it by plain HTTP. */
  open(request: Request): T | Reply
  /** Called exactly once for each context that `open` returned, before any other. */
  onOpen(context: T, socket: Socket): void
  /** A whole message; `body` is valid only during the call. */
  onMessage(context: T, socket: Socket, body: Uint8Array, isBinary: boolean): void
  /** The client has taken all that was queued. */
  onDrain?(context: T, socket: Socket): void
  /** Called exactly once for each context that was opened: nothing can be sent any more. */
  onClose(context: T, socket: Socket): void
}

/** What answers the subscription methods of one socket. */
export type Connection = {
  /**
   * The result of a call, or throws `RpcError`; a Promise where a repeated failure is answered
   * later. Undefined where it is none of its methods. `message` is any object that stands for the
   * message which the call came in.
   */
  call(
    method: string,
    params: unknown,
    message: object,
  ): Uint8Array | Promise<Uint8Array> | undefined
  /**
   * The reply to this message has been handed to the socket: what it subscribed to begins. Told of
   * each message, for a batch may wait for a slow call while others are answered, and no frame may
   * come before its id is known.
   */
  afterReply(message: object): void
  close(): void
}
