import {
  loadFunctions,
  slotOf,
  type AppOptions,
  type Functions,
  type Handle,
  type Received,
  type Sendable,
  type SocketOptions,
} from './functions.js'
import { HttpRequest } from './request.js'
import { HttpResponse, type SocketContext } from './response.js'
import { WebSocket, type SocketHandlers } from './socket.js'

export type RequestHandler = (res: HttpResponse, req: HttpRequest) => void
export type UpgradeHandler = (res: HttpResponse, req: HttpRequest, context: SocketContext) => void

/** A certificate with its chain, and its key, in PEM. */
export type Pem = { readonly chain: Uint8Array; readonly key: Uint8Array }

/** Bytes of the longest message, or chunk of a body, that needs no memory of its own. */
const RECEIVED_BYTES = 1024 ** 2

/** Live responses and WebSockets by slot, and what happens to them. */
class Events {
  private readonly functions: Functions
  private readonly responses: (HttpResponse | undefined)[] = []
  private readonly sockets: (SocketHandlers | undefined)[] = []
  private readonly received = new ArrayBuffer(RECEIVED_BYTES)
  /** Of the socket that opens during a call. */
  private opening: SocketHandlers | undefined

  constructor(functions: Functions) {
    this.functions = functions
    functions.setHandlers(
      {
        onData: (slot, chunk, isLast) => this.onData(slot, chunk, isLast),
        onAborted: slot => this.onAborted(slot),
        onWritable: (slot, offset) => this.onWritable(slot, offset),
        onOpen: handle => this.onOpen(handle),
        onMessage: (slot, message, isBinary) => this.onMessage(slot, message, isBinary),
        onDrain: slot => this.sockets[slot]?.onDrain(),
        onExceeded: (slot, bound) => this.sockets[slot]?.onExceeded(bound),
        onIdleFrames: (slot, count) => this.sockets[slot]?.onIdleFrames(count),
        onClose: (slot, code) => this.onClose(slot, code),
      },
      this.received,
    )
  }

  /** The object of a response that C++ has just registered. A slot is reused after its end. */
  openResponse(handle: Handle): HttpResponse {
    const response = new HttpResponse(this.functions, handle, this.openSocket)
    this.responses[slotOf(handle)] = response
    return response
  }

  private readonly openSocket = (handlers: SocketHandlers, upgrade: () => void): void => {
    this.opening = handlers
    upgrade()
  }

  private onData(slot: number, chunk: Received, isLast: boolean): void {
    this.responses[slot]?.dataHandler?.(this.toBytes(chunk), isLast)
  }

  private onAborted(slot: number): void {
    const response = this.responses[slot]
    this.responses[slot] = undefined
    response?.abortHandler?.()
  }

  private onWritable(slot: number, offset: number): boolean {
    return this.responses[slot]?.writableHandler?.(offset) ?? true
  }

  private onOpen(handle: Handle): void {
    const { opening } = this
    this.opening = undefined
    this.sockets[slotOf(handle)] = opening
    opening?.onOpen(new WebSocket(this.functions, handle))
  }

  private onMessage(slot: number, message: Received, isBinary: boolean): void {
    this.sockets[slot]?.onMessage(this.toBytes(message), isBinary)
  }

  private onClose(slot: number, code: number): void {
    const socket = this.sockets[slot]
    this.sockets[slot] = undefined
    socket?.onClose(code)
  }

  private toBytes(received: Received): Uint8Array {
    return typeof received === 'number'
      ? new Uint8Array(this.received, 0, received)
      : new Uint8Array(received)
  }
}

/** Routes, listeners and connections of one server. */
export class App {
  private readonly functions: Functions
  private readonly events: Events
  /** Names the app to what answers its requests before JavaScript. */
  readonly index: number

  constructor(functions: Functions, events: Events, options: AppOptions) {
    this.functions = functions
    this.events = events
    this.index = functions.createApp(options)
  }

  /** A method, or `*` for any. */
  on(method: string, pattern: string, handler: RequestHandler): void {
    this.functions.mount(this.index, method, pattern, (handle, head) =>
      handler(this.events.openResponse(handle), new HttpRequest(head)),
    )
  }

  ws(pattern: string, options: SocketOptions, upgrade: UpgradeHandler): void {
    this.functions.mountSockets(this.index, pattern, options, (handle, head, context) =>
      upgrade(this.events.openResponse(handle), new HttpRequest(head), context),
    )
  }

  /** `change` is 1 for a connection that opens, −1 for one that closes. */
  filter(handle: (change: number) => void): void {
    this.functions.filter(this.index, handle)
  }

  /** On an inherited socket that listens already, or on a port. Undefined where it failed. */
  listen(host: string, port: number, descriptor?: number): Handle | undefined {
    const isInherited = descriptor !== undefined
    const listener = this.functions.listen(this.index, host, descriptor ?? port, isInherited)
    return listener === -1 ? undefined : listener
  }

  localPort(listener: Handle): number {
    return this.functions.localPort(listener)
  }

  closeListener(listener: Handle): void {
    this.functions.closeListener(listener)
  }

  /**
   * Has a listener speak TLS, with this as its certificate number `index` for the next connections;
   * throws if OpenSSL refuses it. `plainReply` answers requests without TLS.
   */
  setCertificate(listener: Handle, index: number, { chain, key }: Pem, plainReply: string): void {
    this.functions.setCertificate(listener, index, chain, key, plainReply)
  }

  publish(topic: string, frame: Sendable, isBinary = false, isCompressed = false): void {
    this.functions.publish(this.index, topic, frame, isBinary, isCompressed)
  }

  /** Reports sockets that exceed a bound. False if it must be called again in a later turn. */
  checkSockets(): boolean {
    return this.functions.checkSockets(this.index)
  }

  /** Bytes in memory that clients of WebSockets have not taken. */
  queuedBytes(): number {
    return this.functions.queuedBytes(this.index)
  }

  /** Messages of WebSockets that were answered before JavaScript. */
  answeredMessages(): number {
    return this.functions.answeredMessages(this.index)
  }

  close(): void {
    this.functions.closeApp(this.index)
  }
}

let loaded: { readonly functions: Functions; readonly events: Events } | undefined

/** An app on this thread's event loop. Throws one line where the addon has no server. */
export const createApp = (options: AppOptions): App => {
  if (loaded === undefined) {
    const functions = loadFunctions()
    loaded = { functions, events: new Events(functions) }
  }
  return new App(loaded.functions, loaded.events, options)
}
