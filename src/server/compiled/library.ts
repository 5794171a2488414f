import {
  loadFunctions,
  slotOf,
  type AppOptions,
  type ExceededBound,
  type Functions,
  type Handle,
  type Handlers,
  type Received,
  type Sendable,
} from './functions.js'
import { HttpRequest } from './request.js'
import { HttpResponse } from './response.js'
import { WebSocket, type SocketBehavior } from './socket.js'

export type RequestHandler = (res: HttpResponse, req: HttpRequest) => void

/** A certificate with its chain, and its key, in PEM. */
export type Pem = { readonly chain: Uint8Array; readonly key: Uint8Array }

/** Codes of `CompressOptions` in uWebSockets. */
const DISABLED = 0
const SHARED_COMPRESSOR = 1

/** Bytes of the longest message, or chunk of a body, that needs no memory of its own. */
const RECEIVED_BYTES = 1024 ** 2

/** A behaviour with the data of the socket that opens under it. */
type Opening = { readonly behavior: SocketBehavior<unknown>; readonly data: unknown }

/** Live responses and WebSockets by slot, and what happens to them. */
class Events implements Handlers {
  private readonly functions: Functions
  private readonly responses: (HttpResponse | undefined)[] = []
  private readonly sockets: (WebSocket<unknown> | undefined)[] = []
  private readonly received = new ArrayBuffer(RECEIVED_BYTES)
  private opening: Opening | undefined

  constructor(functions: Functions) {
    this.functions = functions
    functions.setHandlers(
      {
        onData: (slot, chunk, isLast) => this.onData(slot, chunk, isLast),
        onAborted: slot => this.onAborted(slot),
        onWritable: (slot, offset) => this.onWritable(slot, offset),
        onOpen: handle => this.onOpen(handle),
        onMessage: (slot, message, isBinary) => this.onMessage(slot, message, isBinary),
        onDrain: slot => this.onDrain(slot),
        onExceeded: (slot, bound) => this.onExceeded(slot, bound),
        onIdleFrames: (slot, count) => this.onIdleFrames(slot, count),
        onClose: (slot, code) => this.onClose(slot, code),
      },
      this.received,
    )
  }

  /** The object of a response that C++ has just registered. A slot is reused after its end. */
  openResponse(handle: Handle, behavior?: SocketBehavior<unknown>): HttpResponse {
    const response = new HttpResponse(this.functions, handle, (data, upgrade) => {
      if (behavior === undefined) throw new Error('not a request for a WebSocket')
      this.opening = { behavior, data }
      upgrade()
    })
    this.responses[slotOf(handle)] = response
    return response
  }

  onData(slot: number, chunk: Received, isLast: boolean): void {
    this.responses[slot]?.dataHandler?.(this.toBytes(chunk), isLast)
  }

  onAborted(slot: number): void {
    const response = this.responses[slot]
    this.responses[slot] = undefined
    response?.abortHandler?.()
  }

  onWritable(slot: number, offset: number): boolean {
    return this.responses[slot]?.writableHandler?.(offset) ?? true
  }

  onOpen(handle: Handle): void {
    const { opening } = this
    this.opening = undefined
    if (opening === undefined) return
    const socket = new WebSocket(this.functions, handle, opening)
    this.sockets[slotOf(handle)] = socket
    opening.behavior.open(socket)
  }

  onMessage(slot: number, message: Received, isBinary: boolean): void {
    const socket = this.sockets[slot]
    socket?.behavior.message(socket, this.toBytes(message), isBinary)
  }

  onDrain(slot: number): void {
    const socket = this.sockets[slot]
    socket?.behavior.drain(socket)
  }

  onExceeded(slot: number, bound: ExceededBound): void {
    const socket = this.sockets[slot]
    socket?.behavior.exceeded(socket, bound)
  }

  onIdleFrames(slot: number, count: number): void {
    const socket = this.sockets[slot]
    socket?.behavior.idleFrames(socket, count)
  }

  onClose(slot: number, code: number): void {
    const socket = this.sockets[slot]
    this.sockets[slot] = undefined
    socket?.behavior.close(socket, code)
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

  get(pattern: string, handler: RequestHandler): void {
    this.mount('GET', pattern, handler)
  }

  head(pattern: string, handler: RequestHandler): void {
    this.mount('HEAD', pattern, handler)
  }

  post(pattern: string, handler: RequestHandler): void {
    this.mount('POST', pattern, handler)
  }

  options(pattern: string, handler: RequestHandler): void {
    this.mount('OPTIONS', pattern, handler)
  }

  any(pattern: string, handler: RequestHandler): void {
    this.mount('*', pattern, handler)
  }

  ws<Data>(pattern: string, behavior: SocketBehavior<Data>): void {
    // The data of a socket is what `upgrade` of the same route was given.
    const known = behavior as SocketBehavior<unknown>
    this.functions.mountSockets(this.index, pattern, behavior, (handle, head, context) =>
      known.upgrade(this.events.openResponse(handle, known), new HttpRequest(head), context),
    )
  }

  /** `change` is 1 for a connection that opens, −1 for one that closes. */
  filter(handle: (change: number) => void): void {
    this.functions.filter(this.index, handle)
  }

  /** Undefined where it failed. */
  listen(host: string, port: number): Handle | undefined {
    const listener = this.functions.listen(this.index, host, port, false)
    return listener === -1 ? undefined : listener
  }

  /** The same on an inherited socket that listens already. */
  listenOn(descriptor: number): Handle | undefined {
    const listener = this.functions.listen(this.index, '', descriptor, true)
    return listener === -1 ? undefined : listener
  }

  publish(topic: string, frame: Sendable, isBinary = false, isCompressed = false): void {
    this.functions.publish(this.index, topic, frame, isBinary, isCompressed)
  }

  /** Reports sockets that exceed a bound. False where it must be called again in a later turn. */
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

  private mount(method: string, pattern: string, handler: RequestHandler): void {
    this.functions.mount(this.index, method, pattern, (handle, head) =>
      handler(this.events.openResponse(handle), new HttpRequest(head)),
    )
  }
}

/** The server in the addon, under the names of uWebSockets.js. */
export type Library = {
  createApp(options: AppOptions): App
  us_listen_socket_close(listener: Handle): void
  us_socket_local_port(listener: Handle): number
  /**
   * Has a listener speak TLS, with this as its certificate number `index` for the next connections;
   * throws where OpenSSL refuses it. `plainReply` answers requests without TLS.
   */
  setCertificate(listener: Handle, index: number, pem: Pem, plainReply: string): void
  readonly SHARED_COMPRESSOR: number
  readonly DISABLED: number
}

let loaded: Library | undefined

/** The server for this thread's event loop. Throws one line where the addon has none. */
export const loadCompiled = (): Library => {
  if (loaded !== undefined) return loaded
  const functions = loadFunctions()
  const events = new Events(functions)
  loaded = {
    createApp: options => new App(functions, events, options),
    us_listen_socket_close: listener => functions.closeListener(listener),
    us_socket_local_port: listener => functions.localPort(listener),
    setCertificate: (listener, index, { chain, key }, plainReply) =>
      functions.setCertificate(listener, index, chain, key, plainReply),
    SHARED_COMPRESSOR,
    DISABLED,
  }
  return loaded
}
