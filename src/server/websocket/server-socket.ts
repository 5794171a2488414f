import { randomUUID } from 'node:crypto'
import { EXCEEDED, type ExceededBound } from '../compiled/functions.js'
import type { SocketHandlers, WebSocket } from '../compiled/socket.js'
import type { SizedSource } from '../../shared/http.js'
import { CLOSE, type CloseCode, type Socket, type SocketRoute } from '../../shared/socket.js'
import { FrameStream } from './frame-stream.js'
import type { RegisteredSocket, SocketRegistry } from './socket-registry.js'

/** One WebSocket. Most of the sockets are idle, so state is allocated only when it is needed. */
export class ServerSocket implements Socket, SocketHandlers, RegisteredSocket {
  private readonly registry: SocketRegistry
  private readonly route: SocketRoute
  private readonly context: unknown
  /** Undefined before the upgrade and after the close: any use of a closed socket throws. */
  private ws: WebSocket | undefined
  private knownId: string | undefined
  /** A long message, behind which all others wait. */
  private stream: FrameStream | undefined
  /** The token whose point reads are answered before JavaScript; empty: none. */
  private directToken = ''
  /** Set by the first `close`. */
  private closeCode: CloseCode | undefined
  private isCloseReported = false
  private isPaused = false
  /** Set by `closeOnceIdle`. */
  private closesOnceIdle: { readonly code: CloseCode; readonly reason: string } | undefined

  constructor(registry: SocketRegistry, route: SocketRoute, context: unknown) {
    this.registry = registry
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
    return this.ws === undefined ? 0 : this.ws.getBufferedAmount()
  }

  send(frame: Uint8Array | string, isBinary = false): boolean {
    if (this.isClosed) return false
    this.ws?.send(frame, isBinary, this.registry.isCompressed)
    const isOpen = !this.isClosed
    this.closeIfIdle()
    return isOpen
  }

  sendSource(source: SizedSource, onEnd: () => void): void {
    const { ws, registry } = this
    if (ws === undefined || this.closeCode !== undefined) {
      source.close()
      return onEnd()
    }
    ws.beginFrame(source.byteLength)
    this.stream = new FrameStream({
      source,
      scheduler: registry.scheduler,
      write: piece => ws.writeFrame(piece),
      onEnd: (failure, hasBegun) => {
        this.stream = undefined
        onEnd()
        this.onStreamEnd(failure, hasBegun)
      },
    })
  }

  subscribe(topic: string): void {
    if (!this.isClosed) this.ws?.subscribe(topic)
  }

  unsubscribe(topic: string): void {
    if (!this.isClosed) this.ws?.unsubscribe(topic)
  }

  answerDirectly(token: string): void {
    const { ws, registry, route } = this
    const isClosing = this.closeCode !== undefined || this.closesOnceIdle !== undefined
    const next = isClosing || registry.isCompressed ? '' : token
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
    if (this.queuedBytes === 0) setImmediate(() => this.onDrained())
  }

  close(code: CloseCode, reason: string, discards = code === CLOSE.policy): void {
    if (this.isClosed) return
    this.closeCode = code
    this.answerDirectly('')
    // A close frame would come after all queued frames, which must not be sent any more.
    if (discards && this.queuedBytes > 0) return void this.ws?.close()
    // The end of the connection must be read. A client that has left is closed by it.
    this.resume()
    this.ws?.end(code, reason)
    this.reportClose()
  }

  closeOnceIdle(code: CloseCode, reason: string): void {
    if (!this.isBusy) return this.close(code, reason)
    this.closesOnceIdle ??= { code, reason }
    this.answerDirectly('')
  }

  onOpen(ws: WebSocket): void {
    this.ws = ws
    this.registry.add(this)
    this.guard(() => this.route.onOpen(this.context, this))
  }

  onMessage(message: Uint8Array, isBinary: boolean): void {
    // One that came behind the close frame would not be taken either.
    if (this.isClosed || this.closesOnceIdle !== undefined) return
    this.registry.messagesCount++
    const { frameBytesMax } = this.route
    if (message.byteLength > frameBytesMax)
      return this.close(CLOSE.tooLarge, `message exceeds ${frameBytesMax} bytes`)
    this.guard(() => this.route.onMessage(this.context, this, message, isBinary))
  }

  onIdleFrames(count: number): void {
    if (!this.isClosed) this.guard(() => this.route.onIdleFrames?.(this.context, this, count))
  }

  /** The client does not take what is sent to it. Called from within `send` too. */
  onExceeded(bound: ExceededBound): void {
    if (bound !== EXCEEDED.slowest)
      return this.close(CLOSE.overload, bound === EXCEEDED.lagging ? 'lagging' : 'not reading')
    // There is no memory for what is queued.
    this.closeCode ??= CLOSE.overload
    this.ws?.close()
  }

  /** Nothing is queued any more, or the next piece of a long message can be written. */
  onDrain(): void {
    if (this.stream === undefined) this.onDrained()
    else this.stream.onWritable()
  }

  /** The socket is closed, or was never opened. `code` is what the peer sent, or 1006. */
  onClose(code: number): void {
    this.ws = undefined
    this.stream?.abort()
    this.registry.remove(this, this.closeCode ?? code)
    this.reportClose()
  }

  private onDrained(): void {
    const { route } = this
    if (this.isClosed || this.queuedBytes > 0 || route.onDrain === undefined) return
    this.guard(() => route.onDrain?.(this.context, this))
  }

  private onStreamEnd(failure: unknown, hasBegun: boolean): void {
    const { ws, registry } = this
    if (ws === undefined) return
    if (failure !== undefined) {
      registry.log.warn({ err: failure, socketId: this.id }, 'a long message was not completed')
      // Nothing may be sent within the frame, and it has no end.
      if (hasBegun) {
        this.closeCode ??= CLOSE.fault
        return void ws.close()
      }
      ws.cancelFrame()
      return this.close(CLOSE.fault, 'internal error')
    }
    this.notifyDrain()
    this.closeIfIdle()
  }

  private closeIfIdle(): void {
    const { closesOnceIdle } = this
    if (closesOnceIdle !== undefined) this.closeOnceIdle(closesOnceIdle.code, closesOnceIdle.reason)
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
      this.registry.log.error({ err: error, socketId: this.id }, 'a WebSocket handler threw')
      this.close(CLOSE.fault, 'internal error')
    }
  }
}
