import { randomUUID } from 'node:crypto'
import type { WebSocket } from '../compiled/socket.js'
import type { SizedSource } from '../../shared/http.js'
import { CLOSE, type CloseCode, type Socket, type SocketRoute } from '../../shared/socket.js'
import type { BackpressureMonitor, MonitoredSocket } from './backpressure-monitor.js'
import { FrameStream } from './frame-stream.js'
import { toPendingFrame, type PendingFrame, type PendingFrames } from './pending-frames.js'
import type { SlowConsumer } from './slow-consumers.js'

/** User data of a WebSocket in uWebSockets. */
export type SocketData = { readonly handle: ServerSocket }

/** Result of `send` where the kernel, or the cork buffer of this tick, took the whole frame. */
const SENT = 1

/** One WebSocket. Most of the sockets are idle, so state is allocated only when it is needed. */
export class ServerSocket implements Socket, MonitoredSocket, SlowConsumer {
  progressAtMs = 0
  terminateAtMs = Infinity
  private readonly monitor: BackpressureMonitor
  private readonly route: SocketRoute
  private readonly context: unknown
  /**
   * Undefined before the upgrade and after the close: uWebSockets throws on any use of a closed
   * socket.
   */
  private ws: WebSocket<SocketData> | undefined
  private knownId: string | undefined
  private topicCount = 0
  /** Bytes of a frame larger than the bound of the queue, which is at its front. */
  private oversizeBytes = 0
  /**
   * Frames behind the buffer of uWebSockets; undefined while the client reads what is published.
   */
  private pending: PendingFrames | undefined
  /** A long message, behind which all others are pending. */
  private stream: FrameStream | undefined
  /** The token whose point reads are answered before JavaScript; empty: none. */
  private directToken = ''
  /** Set by the first `close`. */
  private closeCode: CloseCode | undefined
  private closeReason = ''
  private isCloseReported = false
  private isPaused = false
  /** Set by `closeOnceIdle`. */
  private closesOnceIdle: { readonly code: CloseCode; readonly reason: string } | undefined
  /** `queuedBytes` at the last check. */
  private checkedBytes = 0

  constructor(monitor: BackpressureMonitor, route: SocketRoute, context: unknown) {
    this.monitor = monitor
    this.route = route
    this.context = context
  }

  get id(): string {
    return (this.knownId ??= randomUUID())
  }

  get isClosed(): boolean {
    return this.ws === undefined || this.closeCode !== undefined
  }

  get isBusy(): boolean {
    return !this.isClosed && (this.route.isBusy?.(this.context) ?? false)
  }

  get queuedBytes(): number {
    return this.bufferedBytes + (this.pending?.bytes ?? 0) + (this.stream?.remainingBytes ?? 0)
  }

  get bufferedBytes(): number {
    return this.ws === undefined ? 0 : this.ws.getBufferedAmount()
  }

  get queuedBytesMax(): number {
    const { socketQueueBytesMax } = this.monitor.options
    return socketQueueBytesMax + this.oversizeBytes + (this.stream?.remainingBytes ?? 0)
  }

  send(frame: Uint8Array | string, isBinary = false): boolean {
    const isOpen = this.queue(frame, isBinary)
    this.closeIfIdle()
    return isOpen
  }

  sendSource(source: SizedSource, onEnd: () => void): void {
    const { ws, monitor } = this
    if (ws === undefined || this.closeCode !== undefined) {
      source.close()
      return onEnd()
    }
    if (this.pending === undefined) this.queueTopics(ws)
    this.stream = new FrameStream({
      source,
      scheduler: monitor.scheduler,
      begin: () => ws.beginFrame(source.byteLength),
      write: piece => ws.writeFrame(piece),
      onProgress: () => {
        this.progressAtMs = monitor.now()
      },
      onEnd: (failure, hasBegun) => {
        this.stream = undefined
        onEnd()
        this.onStreamEnd(failure, hasBegun)
      },
    })
    monitor.track(this)
  }

  subscribe(topic: string): void {
    const { ws, pending, monitor } = this
    if (ws === undefined || this.closeCode !== undefined) return
    if (pending !== undefined ? pending.topics.has(topic) : ws.isSubscribed(topic)) return
    if (pending === undefined) ws.subscribe(topic)
    else monitor.slowConsumers.subscribe(this, pending, topic)
    if (this.topicCount++ === 0) monitor.addSubscriber(this)
  }

  unsubscribe(topic: string): void {
    const { ws, pending, monitor } = this
    if (ws === undefined || this.closeCode !== undefined) return
    if (pending === undefined) {
      if (!ws.unsubscribe(topic)) return
    } else {
      if (!pending.topics.has(topic)) return
      monitor.slowConsumers.unsubscribe(this, pending, topic)
    }
    if (--this.topicCount === 0) monitor.removeSubscriber(this)
  }

  /** Appends a frame to the pending ones. */
  enqueue(frame: PendingFrame): void {
    if (this.pending !== undefined) this.monitor.slowConsumers.push(this.pending, frame)
  }

  answerDirectly(token: string): void {
    const { ws, monitor, pending, route } = this
    const isClosing = this.closeCode !== undefined || this.closesOnceIdle !== undefined
    const isPossible = pending === undefined && !isClosing && !monitor.isCompressed
    const next = isPossible ? token : ''
    if (next === this.directToken || ws === undefined) return
    this.directToken = next
    ws.setToken(next, route.frameBytesMax)
  }

  pause(): void {
    if (this.isPaused || this.isClosed) return
    this.isPaused = true
    this.ws?.pause()
  }

  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.ws?.resume()
  }

  notifyDrain(): void {
    if (this.ws !== undefined) this.monitor.track(this)
  }

  close(code: CloseCode, reason: string, discards = code === CLOSE.policy): void {
    const { ws } = this
    if (ws === undefined || this.closeCode !== undefined) return
    this.closeCode = code
    this.closeReason = reason
    this.answerDirectly('')
    if (this.queuedBytes === 0) return this.sendClose(ws)
    // A close frame would come after all queued frames, which must not be sent any more.
    if (discards) return void ws.close()
    if (this.pending === undefined) for (const topic of ws.getTopics()) ws.unsubscribe(topic)
    else this.monitor.slowConsumers.unsubscribeAll(this, this.pending)
    this.monitor.onClosing(this)
    this.reportClose()
  }

  closeOnceIdle(code: CloseCode, reason: string): void {
    if (!this.isBusy) return this.close(code, reason)
    this.closesOnceIdle ??= { code, reason }
    this.answerDirectly('')
  }

  terminate(): void {
    this.closeCode ??= CLOSE.overload
    this.ws?.close()
  }

  check(nowMs: number): void {
    const { ws, monitor } = this
    if (ws === undefined) return
    const bytes = this.queuedBytes
    if (bytes < this.checkedBytes) this.progressAtMs = nowMs
    this.checkedBytes = bytes
    if (bytes <= monitor.options.socketQueueBytesMax) this.oversizeBytes = 0
    if (this.closeCode !== undefined && bytes > 0 && nowMs >= this.terminateAtMs) ws.close()
    else if (ws.getBufferedAmount() === 0 && this.stream === undefined) this.onDrained()
    else if (this.closeCode !== undefined) return
    else if (bytes > this.queuedBytesMax) this.close(CLOSE.overload, 'lagging')
    else if (nowMs - this.progressAtMs > monitor.options.socketStallMs)
      this.close(CLOSE.overload, 'not reading')
    else if (this.topicCount > 0 && this.pending === undefined) this.queueTopics(ws)
  }

  onOpen(ws: WebSocket<SocketData>): void {
    this.ws = ws
    this.monitor.add(this)
    this.guard(() => this.route.onOpen(this.context, this))
  }

  onMessage(message: Uint8Array, isBinary: boolean): void {
    // One that came behind the close frame would not be taken either.
    if (this.isClosed || this.closesOnceIdle !== undefined) return
    this.monitor.messagesCount++
    const { frameBytesMax } = this.route
    if (message.byteLength > frameBytesMax)
      return this.close(CLOSE.tooLarge, `message exceeds ${frameBytesMax} bytes`)
    this.guard(() => this.route.onMessage(this.context, this, message, isBinary))
  }

  onIdleFrames(count: number): void {
    if (!this.isClosed) this.guard(() => this.route.onIdleFrames?.(this.context, this, count))
  }

  /** The client did not take a reply of this length at once, and had taken all before it. */
  onQueued(bytes: number): void {
    if (bytes > this.monitor.options.socketQueueBytesMax / 2) this.oversizeBytes = bytes
    this.monitor.onBackpressure(this, bytes)
  }

  onDrain(): void {
    const { ws, monitor } = this
    if (ws === undefined) return
    this.progressAtMs = monitor.now()
    // Deferred: uWebSockets does not send what is written in this callback and not taken at
    // once.
    if (ws.getBufferedAmount() === 0) monitor.scheduleDrained(this)
  }

  /** The buffer of uWebSockets is empty. */
  onDrained(): void {
    const { ws, route } = this
    if (ws === undefined || ws.getBufferedAmount() > 0) return
    if (this.stream !== undefined) return this.stream.onWritable()
    if (!this.flushPending(ws)) return
    if (this.closeCode !== undefined) return this.sendClose(ws)
    if (route.onDrain !== undefined) this.guard(() => route.onDrain?.(this.context, this))
  }

  /** The socket is closed, or was never opened. `code` is what the peer sent, or 1006. */
  onClose(code: number): void {
    this.ws = undefined
    this.stream?.abort()
    if (this.pending !== undefined) {
      this.monitor.slowConsumers.unsubscribeAll(this, this.pending)
      this.monitor.slowConsumers.clear(this.pending)
    }
    this.monitor.remove(this, this.closeCode ?? code)
    this.reportClose()
  }

  private onStreamEnd(failure: unknown, hasBegun: boolean): void {
    const { ws, monitor } = this
    if (ws === undefined) return
    if (failure !== undefined) {
      monitor.log.warn({ err: failure, socketId: this.id }, 'a long message was not completed')
      if (!hasBegun) return this.close(CLOSE.fault, 'internal error')
      // Nothing may be sent within the frame, and it has no end.
      this.closeCode ??= CLOSE.fault
      return void ws.close()
    }
    monitor.scheduleDrained(this)
    this.closeIfIdle()
  }

  private closeIfIdle(): void {
    const { closesOnceIdle } = this
    if (closesOnceIdle !== undefined) this.closeOnceIdle(closesOnceIdle.code, closesOnceIdle.reason)
  }

  /** Sends a frame, or queues it behind what the client has not taken. False where it is closed. */
  private queue(frame: Uint8Array | string, isBinary: boolean): boolean {
    const { ws, monitor } = this
    if (ws === undefined || this.closeCode !== undefined) return false
    const bytes = frame.length
    if (this.pending !== undefined) {
      this.enqueue(toPendingFrame(frame, isBinary))
      monitor.onBackpressure(this, bytes)
      return !this.isClosed
    }
    if (bytes > monitor.options.socketQueueBytesMax / 2 && ws.getBufferedAmount() === 0)
      this.oversizeBytes = bytes
    if (ws.send(frame, isBinary, monitor.isCompressed) === SENT) return true
    monitor.onBackpressure(this, bytes)
    return !this.isClosed
  }

  /** Moves the subscriptions from uWebSockets to the slow consumers. */
  private queueTopics(ws: WebSocket<SocketData>): void {
    const topics = ws.getTopics()
    for (const topic of topics) ws.unsubscribe(topic)
    this.pending = this.monitor.slowConsumers.add(this, topics)
    // Replies must not overtake the pending frames.
    this.answerDirectly('')
  }

  /**
   * Sends pending frames, a bounded number of bytes per turn. Once all are sent, uWebSockets
   * serves the subscriptions again. False where some frames are left.
   */
  private flushPending(ws: WebSocket<SocketData>): boolean {
    const { pending, monitor } = this
    if (pending === undefined) return true
    let bytesLeft = monitor.options.turnBytesMax
    for (let frame = pending.first; frame !== undefined; frame = pending.first) {
      if (bytesLeft <= 0) {
        monitor.scheduleDrained(this)
        return false
      }
      bytesLeft -= frame.bytes.length
      monitor.slowConsumers.shift(pending)
      if (ws.send(frame.bytes, frame.isBinary, monitor.isCompressed) !== SENT) {
        monitor.track(this)
        return false
      }
    }
    const topics = Array.from(pending.topics)
    monitor.slowConsumers.unsubscribeAll(this, pending)
    this.pending = undefined
    for (const topic of topics) ws.subscribe(topic)
    return true
  }

  private sendClose(ws: WebSocket<SocketData>): void {
    // The end of the connection must be read. A client that has left is closed by it.
    this.resume()
    if (this.ws !== undefined) ws.end(this.closeCode, this.closeReason)
  }

  private reportClose(): void {
    if (this.isCloseReported) return
    this.isCloseReported = true
    this.guard(() => this.route.onClose(this.context, this))
  }

  /** Catches everything: an exception in a callback of uWebSockets would end the process. */
  private guard(handle: () => void): void {
    try {
      handle()
    } catch (error) {
      this.monitor.log.error({ err: error, socketId: this.id }, 'a WebSocket handler threw')
      this.close(CLOSE.fault, 'internal error')
    }
  }
}
