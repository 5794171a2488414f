import type {
  App,
  AppOptions,
  Library,
  RequestHandler,
  Sendable,
  SocketBehavior,
} from '../library.js'
import {
  loadFunctions,
  slotOf,
  type Functions,
  type Handle,
  type Handlers,
  type Received,
} from './functions.js'
import { CompiledRequest } from './request.js'
import { CompiledResponse } from './response.js'
import { CompiledSocket } from './socket.js'

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
  private readonly responses: (CompiledResponse | undefined)[] = []
  private readonly sockets: (CompiledSocket<unknown> | undefined)[] = []
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
        onQueued: (slot, bytes) => this.onQueued(slot, bytes),
        onIdleFrames: (slot, count) => this.onIdleFrames(slot, count),
        onClose: (slot, code) => this.onClose(slot, code),
      },
      this.received,
    )
  }

  /** The object of a response that C++ has just registered. A slot is reused after its end. */
  openResponse(handle: Handle, behavior?: SocketBehavior<unknown>): CompiledResponse {
    const response = new CompiledResponse(this.functions, handle, (data, upgrade) => {
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
    const socket = new CompiledSocket(this.functions, handle, opening)
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

  onQueued(slot: number, bytes: number): void {
    const socket = this.sockets[slot]
    socket?.behavior.queued?.(socket, bytes)
  }

  onIdleFrames(slot: number, count: number): void {
    const socket = this.sockets[slot]
    socket?.behavior.idleFrames?.(socket, count)
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

class CompiledApp implements App<Handle> {
  private readonly functions: Functions
  private readonly events: Events
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
      known.upgrade(this.events.openResponse(handle, known), new CompiledRequest(head), context),
    )
  }

  filter(handle: (res: unknown, change: number) => void): void {
    this.functions.filter(this.index, change => handle(undefined, change))
  }

  listen(host: string, port: number, handle: (listener: Handle | false) => void): void {
    const listener = this.functions.listen(this.index, host, port, false)
    handle(listener === -1 ? false : listener)
  }

  listenOn(descriptor: number, handle: (listener: Handle | false) => void): void {
    const listener = this.functions.listen(this.index, '', descriptor, true)
    handle(listener === -1 ? false : listener)
  }

  publish(topic: string, frame: Sendable, isBinary = false, isCompressed = false): boolean {
    return this.functions.publish(this.index, topic, frame, isBinary, isCompressed)
  }

  numSubscribers(topic: string): number {
    return this.functions.numSubscribers(this.index, topic)
  }

  answeredMessages(): number {
    return this.functions.answeredMessages(this.index)
  }

  close(): void {
    this.functions.closeApp(this.index)
  }

  private mount(method: string, pattern: string, handler: RequestHandler): void {
    this.functions.mount(this.index, method, pattern, (handle, head) =>
      handler(this.events.openResponse(handle), new CompiledRequest(head)),
    )
  }
}

let loaded: Library<Handle> | undefined

/**
 * uWebSockets as it is compiled with the addon, with the names of uWebSockets.js; undefined where
 * it was not compiled.
 */
export const loadCompiled = (): Library<Handle> | undefined => {
  if (loaded !== undefined) return loaded
  const functions = loadFunctions()
  if (functions === undefined) return undefined
  const events = new Events(functions)
  loaded = {
    acceptsChunked: true,
    writesKeepAlive: true,
    createApp: options => new CompiledApp(functions, events, options),
    us_listen_socket_close: listener => functions.closeListener(listener),
    us_socket_local_port: listener => functions.localPort(listener),
    setCertificate: (listener, index, { chain, key }, plainReply) =>
      functions.setCertificate(listener, index, chain, key, plainReply),
    SHARED_COMPRESSOR,
    DISABLED,
  }
  return loaded
}
