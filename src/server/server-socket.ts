import { randomUUID } from 'node:crypto'
import type { WebSocket } from 'uWebSockets.js'
import { CLOSE, type CloseCode, type Socket, type SocketRoute } from '../shared/socket.js'
import type { SocketKeeper } from './socket-keeper.js'

/** What uWebSockets.js keeps with each WebSocket. */
export type SocketData = { readonly handle: ServerSocket }

/** What `send` of uWebSockets.js answers where the kernel or its own buffer for this tick took all. */
const SENT = 1

/** One WebSocket. There are many that do nothing, so it holds no more than it must. */
export class ServerSocket implements Socket {
  private readonly keeper: SocketKeeper
  private readonly route: SocketRoute
  private readonly context: unknown
  /** Undefined before the upgrade and after the close: uWebSockets.js throws on each use of a closed one. */
  private ws: WebSocket<SocketData> | undefined
  private knownId: string | undefined
  private topicCount = 0
  /** Bytes of a frame too large for the queue, which stands at its front. */
  private frontBytes = 0
  /** Why it is closed, once it is by us. */
  private code: CloseCode | undefined
  private reason = ''
  private isTold = false
  /** When the client last took something of what waits. */
  progressAtMs = 0
  /** What waited at the last look. */
  private seenBytes = 0
  /** When it is cut, where it is to be closed and something still waits. */
  cutAtMs = Infinity

  constructor(keeper: SocketKeeper, route: SocketRoute, context: unknown) {
    this.keeper = keeper
    this.route = route
    this.context = context
  }

  get id(): string {
    return (this.knownId ??= randomUUID())
  }

  get isClosed(): boolean {
    return this.ws === undefined || this.code !== undefined
  }

  get queuedBytes(): number {
    const bytes = this.ws === undefined ? 0 : this.ws.getBufferedAmount()
    // Whoever asks may wait for the end of it: uWebSockets.js does not tell where a later `send` brings it.
    if (bytes > 0) this.keeper.watch(this)
    return bytes
  }

  /** Largest queue that it may have now. */
  get queueBytesMax(): number {
    return this.keeper.options.socketQueueBytesMax + this.frontBytes
  }

  send(frame: Uint8Array | string, isBinary = false): boolean {
    const { ws, keeper } = this
    if (ws === undefined || this.code !== undefined) return false
    const bytes = frame.length
    if (bytes > keeper.options.socketQueueBytesMax / 2 && ws.getBufferedAmount() === 0)
      this.frontBytes = bytes
    if (ws.send(frame, isBinary, keeper.isCompressed) === SENT) return true
    keeper.press(this, bytes)
    return this.code === undefined
  }

  subscribe(topic: string): void {
    const { ws } = this
    if (ws === undefined || this.code !== undefined || ws.isSubscribed(topic)) return
    ws.subscribe(topic)
    if (this.topicCount++ === 0) this.keeper.listen(this)
  }

  unsubscribe(topic: string): void {
    const { ws } = this
    if (ws === undefined || this.code !== undefined || !ws.unsubscribe(topic)) return
    if (--this.topicCount === 0) this.keeper.unlisten(this)
  }

  close(code: CloseCode, reason: string): void {
    const { ws } = this
    if (ws === undefined || this.code !== undefined) return
    this.code = code
    this.reason = reason
    if (ws.getBufferedAmount() === 0) return this.end(ws)
    // The close frame would come after all of it.
    if (code === CLOSE.policy) return void ws.close()
    for (const topic of ws.getTopics()) ws.unsubscribe(topic)
    this.keeper.leave(this)
    this.tell()
  }

  /** Closes it whatever still waits. */
  cut(): void {
    this.code ??= CLOSE.overload
    this.ws?.close()
  }

  /** The bytes that wait, after looking whether it may go on. */
  look(nowMs: number): number {
    const { ws } = this
    if (ws === undefined) return 0
    const bytes = ws.getBufferedAmount()
    if (bytes < this.seenBytes) this.progressAtMs = nowMs
    this.seenBytes = bytes
    if (bytes <= this.keeper.options.socketQueueBytesMax) this.frontBytes = 0
    if (this.code !== undefined) {
      if (bytes === 0) this.end(ws)
      else if (nowMs >= this.cutAtMs) ws.close()
    } else if (bytes > this.queueBytesMax) {
      this.close(CLOSE.overload, 'lagging')
    } else if (bytes > 0 && nowMs - this.progressAtMs > this.keeper.options.socketStallMs) {
      this.close(CLOSE.overload, 'not reading')
    } else if (bytes === 0) {
      this.onEmpty()
    }
    return this.queuedBytes
  }

  onOpen(ws: WebSocket<SocketData>): void {
    this.ws = ws
    this.keeper.add(this)
    this.guard(() => this.route.onOpen(this.context, this))
  }

  onMessage(message: ArrayBuffer, isBinary: boolean): void {
    if (this.isClosed) return
    this.keeper.messagesCount++
    const { frameBytesMax } = this.route
    if (message.byteLength > frameBytesMax)
      return this.close(CLOSE.tooLarge, `message exceeds ${frameBytesMax} bytes`)
    this.guard(() => this.route.onMessage(this.context, this, new Uint8Array(message), isBinary))
  }

  onDrain(): void {
    const { ws, keeper } = this
    if (ws === undefined) return
    this.progressAtMs = keeper.now()
    // Not in this call: what is sent in it and not taken at once, this build forgets to send.
    if (ws.getBufferedAmount() === 0) keeper.defer(this)
  }

  /** The client has taken all of it, and nothing else is going on. */
  onEmpty(): void {
    const { ws, route } = this
    if (ws === undefined || ws.getBufferedAmount() > 0) return
    if (this.code !== undefined) return this.end(ws)
    if (route.onDrain !== undefined) this.guard(() => route.onDrain?.(this.context, this))
  }

  /** uWebSockets.js has forgotten it, or never made it. `code` is what the peer said, or 1006. */
  onClose(code: number): void {
    this.ws = undefined
    this.keeper.remove(this, this.code ?? code)
    this.tell()
  }

  private end(ws: WebSocket<SocketData>): void {
    ws.end(this.code, this.reason)
  }

  private tell(): void {
    if (this.isTold) return
    this.isTold = true
    this.guard(() => this.route.onClose(this.context, this))
  }

  /** Nothing escapes: an exception here would end the process. */
  private guard(handle: () => void): void {
    try {
      handle()
    } catch (error) {
      this.keeper.log.error({ err: error, socketId: this.id }, 'a handler of a WebSocket threw')
      this.close(CLOSE.fault, 'internal error')
    }
  }
}
