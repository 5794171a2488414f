import { randomUUID } from 'node:crypto'
import type { WebSocket } from 'uWebSockets.js'
import { CLOSE, type CloseCode, type Socket, type SocketRoute } from '../../shared/socket.js'
import type { HeldFrame, HeldQueue } from './pending-frames.js'
import { toHeld } from './slow-consumers.js'
import type { SocketKeeper } from './backpressure-monitor.js'

/** What uWebSockets.js keeps with each WebSocket. */
export type SocketData = { readonly handle: ServerSocket }

/**
 * What `send` of uWebSockets.js answers where the kernel or its own buffer for this tick took all.
 */
const SENT = 1

/** One WebSocket. There are many that do nothing, so it holds no more than it must. */
export class ServerSocket implements Socket {
  private readonly keeper: SocketKeeper
  private readonly route: SocketRoute
  private readonly context: unknown
  /**
   * Undefined before the upgrade and after the close: uWebSockets.js throws on each use of a closed
   * one.
   */
  private ws: WebSocket<SocketData> | undefined
  private knownId: string | undefined
  private topicCount = 0
  /** Bytes of a frame too large for the queue, which stands at its front. */
  private frontBytes = 0
  /**
   * What waits behind the queue of uWebSockets.js, where its client does not take what is
   * published.
   */
  private held: HeldQueue | undefined
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
    const { ws, held } = this
    if (ws === undefined) return 0
    const bytes = ws.getBufferedAmount() + (held === undefined ? 0 : held.bytes)
    // Whoever asks may wait for the end of it: uWebSockets.js does not tell where a later `send`
    // brings it.
    if (bytes > 0) this.keeper.watch(this)
    return bytes
  }

  /**
   * Those of the queue that take memory of their own: held ones are counted once for all who hold
   * them.
   */
  get ownBytes(): number {
    return this.ws === undefined ? 0 : this.ws.getBufferedAmount()
  }

  /** Largest queue that it may have now. */
  get queueBytesMax(): number {
    return this.keeper.options.socketQueueBytesMax + this.frontBytes
  }

  send(frame: Uint8Array | string, isBinary = false): boolean {
    const { ws, keeper } = this
    if (ws === undefined || this.code !== undefined) return false
    const bytes = frame.length
    if (this.held !== undefined) {
      this.hold(toHeld(frame, isBinary))
      keeper.press(this, bytes)
      return this.code === undefined
    }
    if (bytes > keeper.options.socketQueueBytesMax / 2 && ws.getBufferedAmount() === 0)
      this.frontBytes = bytes
    if (ws.send(frame, isBinary, keeper.isCompressed) === SENT) return true
    keeper.press(this, bytes)
    return this.code === undefined
  }

  subscribe(topic: string): void {
    const { ws, held, keeper } = this
    if (ws === undefined || this.code !== undefined) return
    if (held !== undefined ? held.topics.has(topic) : ws.isSubscribed(topic)) return
    if (held === undefined) ws.subscribe(topic)
    else keeper.holdings.subscribe(this, held, topic)
    if (this.topicCount++ === 0) keeper.listen(this)
  }

  unsubscribe(topic: string): void {
    const { ws, held, keeper } = this
    if (ws === undefined || this.code !== undefined) return
    if (held === undefined) {
      if (!ws.unsubscribe(topic)) return
    } else {
      if (!held.topics.has(topic)) return
      keeper.holdings.unsubscribe(this, held, topic)
    }
    if (--this.topicCount === 0) keeper.unlisten(this)
  }

  /** Puts it behind what is held already. */
  hold(frame: HeldFrame): void {
    if (this.held !== undefined) this.keeper.holdings.push(this.held, frame)
  }

  close(code: CloseCode, reason: string): void {
    const { ws } = this
    if (ws === undefined || this.code !== undefined) return
    this.code = code
    this.reason = reason
    if (this.queuedBytes === 0) return this.end(ws)
    // The close frame would come after all of it.
    if (code === CLOSE.policy) return void ws.close()
    if (this.held === undefined) for (const topic of ws.getTopics()) ws.unsubscribe(topic)
    else this.keeper.holdings.leave(this, this.held)
    this.keeper.leave(this)
    this.tell()
  }

  /** Closes it whatever still waits. */
  cut(): void {
    this.code ??= CLOSE.overload
    this.ws?.close()
  }

  /** Looks whether it may go on. */
  look(nowMs: number): void {
    const { ws, keeper } = this
    if (ws === undefined) return
    const bytes = this.queuedBytes
    if (bytes < this.seenBytes) this.progressAtMs = nowMs
    this.seenBytes = bytes
    if (bytes <= keeper.options.socketQueueBytesMax) this.frontBytes = 0
    if (this.code !== undefined && bytes > 0 && nowMs >= this.cutAtMs) ws.close()
    else if (ws.getBufferedAmount() === 0) this.onEmpty()
    else if (this.code !== undefined) return
    else if (bytes > this.queueBytesMax) this.close(CLOSE.overload, 'lagging')
    else if (nowMs - this.progressAtMs > keeper.options.socketStallMs)
      this.close(CLOSE.overload, 'not reading')
    else if (this.topicCount > 0 && this.held === undefined) this.beginHolding(ws)
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
    if (ws === undefined || ws.getBufferedAmount() > 0 || !this.release(ws)) return
    if (this.code !== undefined) return this.end(ws)
    if (route.onDrain !== undefined) this.guard(() => route.onDrain?.(this.context, this))
  }

  /** uWebSockets.js has forgotten it, or never made it. `code` is what the peer said, or 1006. */
  onClose(code: number): void {
    this.ws = undefined
    if (this.held !== undefined) {
      this.keeper.holdings.leave(this, this.held)
      this.keeper.holdings.clear(this.held)
    }
    this.keeper.remove(this, this.code ?? code)
    this.tell()
  }

  private beginHolding(ws: WebSocket<SocketData>): void {
    const topics = ws.getTopics()
    for (const topic of topics) ws.unsubscribe(topic)
    this.held = this.keeper.holdings.open(this, topics)
  }

  /**
   * Sends what is held, some of it in a turn, and goes on as before where that was all. False where
   * it was not.
   */
  private release(ws: WebSocket<SocketData>): boolean {
    const { held, keeper } = this
    if (held === undefined) return true
    let left = keeper.options.turnBytesMax
    for (let frame = held.first; frame !== undefined; frame = held.first) {
      if (left <= 0) {
        keeper.defer(this)
        return false
      }
      left -= frame.bytes.length
      keeper.holdings.drop(held)
      if (ws.send(frame.bytes, frame.isBinary, keeper.isCompressed) !== SENT) {
        keeper.watch(this)
        return false
      }
    }
    const topics = Array.from(held.topics)
    keeper.holdings.leave(this, held)
    this.held = undefined
    for (const topic of topics) ws.subscribe(topic)
    return true
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
