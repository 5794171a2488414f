import type { Reply, Request, SizedSource } from './http.js'

/**
 * Close codes that the server sends. Never 1000: web3.js 1.x does not reconnect after it, and kit
 * takes it for its own close. A client's 1000 is echoed.
 */
export const CLOSE = {
  policy: 1008,
  tooLarge: 1009,
  /** An internal error, which is logged. */
  fault: 1011,
  restart: 1012,
  overload: 1013,
} as const
export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE]

/** One open WebSocket, as handlers see it. */
export type Socket = {
  /** UUID of this socket in log lines. Created at its first read. */
  readonly id: string
  /**
   * Queues one frame, of text by default; the bytes are copied before it returns. Returns false
   * where the socket is closed. Over the bound of its queue the socket is closed with 1013; frames
   * are never dropped.
   */
  send(frame: Uint8Array | string, isBinary?: boolean): boolean
  /**
   * Sends one frame of text, read from its source and written in pieces as the client takes them;
   * what is sent meanwhile waits behind it. To be called while nothing is queued. Closes the source
   * and calls back once all is written, or once the socket is closed.
   */
  sendSource(source: SizedSource, onEnd: () => void): void
  /** Sends it the frames published on `topic` from now on. */
  subscribe(topic: string): void
  unsubscribe(topic: string): void
  /**
   * Has the server answer canonical point reads of this token before JavaScript; an empty token
   * ends it.
   */
  answerDirectly(token: string): void
  /**
   * Reads no further messages until `resume`; of one that is read now a few more may follow. A
   * client that has left meanwhile is closed by `resume`, whatever it sent.
   */
  pause(): void
  resume(): void
  /**
   * Sends nothing more but the close frame. With `discards`, and by default with `CLOSE.policy`,
   * what is queued is not sent either, and then no close frame.
   */
  close(code: CloseCode, reason: string, discards?: boolean): void
  readonly isClosed: boolean
  /** Bytes that the client has not taken yet. */
  readonly queuedBytes: number
  /** Requests `onDrain` once the client has taken everything that is queued. */
  notifyDrain(): void
}

/** A route of WebSockets. */
export type SocketRoute<T = unknown> = {
  /** uWebSockets pattern, as in `Route`. */
  readonly pattern: string
  /** Bound of a message in bytes; a larger one closes the socket with 1009. */
  readonly frameBytesMax: number
  /** Decides at the upgrade, synchronously; a Reply refuses it over HTTP. */
  open(request: Request): T | Reply
  /** Called exactly once for each context that `open` returned, before any other. */
  onOpen(context: T, socket: Socket): void
  /** A whole message; `body` is valid only during the call. */
  onMessage(context: T, socket: Socket, body: Uint8Array, isBinary: boolean): void
  /** So many frames came that are no message, as pings. */
  onIdleFrames?(context: T, socket: Socket, count: number): void
  /** True while a message waits for its reply: a server that drains does not close it yet. */
  isBusy?(context: T): boolean
  /** The client has taken all that was queued. */
  onDrain?(context: T, socket: Socket): void
  /** Called exactly once for each opened context. Nothing can be sent any more. */
  onClose(context: T, socket: Socket): void
}

/** The limit of subscriptions of one socket, which a change of its access may change. */
export type SubscriptionLimits = {
  /** Whose socket it is. */
  readonly accessId: string
  readonly subscriptionsMax: number
  /** Called for each subscription over it. */
  onExceeded(): void
}

/** A subscription that reads for itself what it sends. */
export type Follower = {
  /** The client has taken everything that was queued. */
  onDrain(): void
  close(): void
}

/** Checks a place in what an access has submitted; what it returns starts to send from there. */
export type FollowSubmissions = (
  accessId: string,
  from: string | undefined,
) => (socket: Socket, toFrame: (result: string) => string) => Follower

/** The subscription methods of one socket. */
export type Connection = {
  /**
   * Runs a call; throws `RpcError`. Undefined for any other method. `message` identifies the
   * message that contained the call.
   */
  call(method: string, params: unknown, message: object): Uint8Array | undefined
  /**
   * Starts the subscriptions of a message. To be called when its reply has been sent, because no
   * notification may precede the reply with its id; a batch may still wait for a slow call while
   * later messages are answered.
   */
  afterReply(message: object): void
  /** The client has taken everything that was queued. */
  onDrain(): void
  /** Subscriptions that it has. */
  readonly size: number
  close(): void
}
