import type { TemplatedApp } from 'uWebSockets.js'
import type { Log } from '../../shared/log.js'
import type { CloseCode } from '../../shared/socket.js'
import { Holdings } from './slow-consumers.js'
import type { Options } from '../options.js'
import type { ServerSocket } from './server-socket.js'

/** What a server's WebSockets hold at this moment, and two counts since it opened. */
export type SocketStats = {
  readonly sockets: number
  /** Bytes that clients have not taken, as of the last sweep. */
  readonly socketQueuedBytes: number
  readonly messagesCount: number
  /** Closes so far by code: ours, or what the client said. */
  readonly closes: ReadonlyMap<number, number>
}

/** Codes that are counted apart; a client may say any. */
export const CLOSE_CODES = [1000, 1001, 1005, 1006, 1008, 1009, 1011, 1012, 1013] as const
/** Under this the others are counted. */
export const OTHER_CLOSE = 0

/** What a keeper works with. */
export type KeeperParts = {
  readonly options: Options
  readonly log: Log
  readonly now: () => number
}

/**
 * All WebSockets of one server, and the bounds of what waits for them. uWebSockets.js queues what a
 * client does not take, and over a bound leaves frames out without a word: so its bound stands
 * where it is never met first, and queues are looked at here.
 */
export class SocketKeeper {
  readonly options: Options
  readonly log: Log
  readonly now: () => number
  readonly isCompressed: boolean
  readonly holdings = new Holdings()
  messagesCount = 0
  isClosing = false
  private readonly app: TemplatedApp
  private readonly all = new Set<ServerSocket>()
  private readonly listening = new Set<ServerSocket>()
  /** Those for which something waits. */
  private readonly pressed = new Set<ServerSocket>()
  private readonly emptied: ServerSocket[] = []
  private readonly closes = new Map<number, number>()
  private readonly sweeper: NodeJS.Timeout
  /** Where a round of looks stands that takes more than one turn. */
  private looking: readonly ServerSocket[] = []
  private lookedCount = 0
  private queuedBytes = 0
  /** What queues may have grown since the last sweep. */
  private grownBytes = 0
  /**
   * Something was published since the last sweep by the clock: uWebSockets.js may hold it back to
   * the tick's end.
   */
  private isPublished = false

  constructor(app: TemplatedApp, { options, log, now }: KeeperParts) {
    this.app = app
    this.options = options
    this.log = log
    this.now = now
    this.isCompressed = options.socketCompression === 'shared'
    this.sweeper = setInterval(() => this.tick(), options.socketSweepMs)
    this.sweeper.unref()
  }

  get count(): number {
    return this.all.size
  }

  stats(): SocketStats {
    const { messagesCount, closes, queuedBytes } = this
    return { sockets: this.all.size, socketQueuedBytes: queuedBytes, messagesCount, closes }
  }

  publish(topic: string, frame: Uint8Array): void {
    const { app, holdings } = this
    if (holdings.publish(topic, frame) > 0) this.grow(frame.byteLength)
    const count = app.numSubscribers(topic)
    if (count === 0) return
    app.publish(topic, frame, false, this.isCompressed)
    this.isPublished = true
    this.grow(frame.byteLength * count)
  }

  closeAll(code: CloseCode, reason: string): void {
    this.isClosing = true
    for (const socket of this.all) socket.close(code, reason)
  }

  /** After the app is closed. */
  close(): void {
    clearInterval(this.sweeper)
  }

  add(socket: ServerSocket): void {
    this.all.add(socket)
  }

  remove(socket: ServerSocket, code: number): void {
    if (!this.all.delete(socket)) return
    this.listening.delete(socket)
    this.pressed.delete(socket)
    const counted = CLOSE_CODES.some(known => known === code) ? code : OTHER_CLOSE
    this.closes.set(counted, (this.closes.get(counted) ?? 0) + 1)
  }

  listen(socket: ServerSocket): void {
    this.listening.add(socket)
  }

  unlisten(socket: ServerSocket): void {
    this.listening.delete(socket)
  }

  /** Something waits for it, `bytes` of them new. */
  press(socket: ServerSocket, bytes: number): void {
    this.watch(socket)
    // Not only at the next sweep: in one tick a client can ask for more than there is memory.
    if (socket.queuedBytes > socket.queueBytesMax) socket.look(this.now())
    this.grow(bytes)
  }

  /** It is to be closed, and what waits may still leave. */
  leave(socket: ServerSocket): void {
    this.listening.delete(socket)
    this.watch(socket)
    socket.cutAtMs = this.now() + this.options.socketCloseMs
  }

  /** Lets it know, after this call into JavaScript, that nothing waits for it. */
  defer(socket: ServerSocket): void {
    if (this.emptied.push(socket) > 1) return
    setImmediate(() => {
      for (const one of this.emptied.splice(0)) one.onEmpty()
    })
  }

  /** Looks at it until nothing waits for it. */
  watch(socket: ServerSocket): void {
    if (this.pressed.has(socket)) return
    socket.progressAtMs = this.now()
    this.pressed.add(socket)
  }

  private grow(bytes: number): void {
    this.grownBytes += bytes
    if (this.grownBytes <= this.options.socketsQueuedBytesMax / 4) return
    this.watchPublished()
    this.measure()
  }

  private tick(): void {
    const { isPublished } = this
    this.isPublished = false
    if (isPublished) this.watchPublished()
    this.measure()
    if (this.looking.length > 0 || this.pressed.size === 0) return
    this.looking = Array.from(this.pressed)
    this.lookedCount = 0
    this.lookOn()
  }

  /** To ask is to watch it where something waits. */
  private watchPublished(): void {
    for (const socket of this.listening) void socket.queuedBytes
  }

  private measure(): void {
    this.grownBytes = 0
    let queuedBytes = this.holdings.bytes
    for (const socket of this.pressed) queuedBytes += socket.ownBytes
    this.queuedBytes = queuedBytes
    if (queuedBytes > this.options.socketsQueuedBytesMax) this.relieve()
  }

  /**
   * Looks at those for which something waits, some of them in a turn: to close a thousand takes a
   * while.
   */
  private lookOn(): void {
    const startMs = this.now()
    for (let nowMs = startMs; nowMs - startMs <= this.options.socketTurnMs; nowMs = this.now()) {
      const socket = this.looking[this.lookedCount++]
      if (socket === undefined) {
        this.looking = []
        return
      }
      socket.look(nowMs)
      if (socket.queuedBytes === 0) this.pressed.delete(socket)
    }
    setImmediate(() => this.lookOn())
  }

  /** Cuts the fullest until the others fit. */
  private relieve(): void {
    const { holdings } = this
    const fullest = Array.from(this.pressed, socket => ({ socket, bytes: socket.queuedBytes }))
    fullest.sort((a, b) => b.bytes - a.bytes)
    for (const { socket } of fullest) {
      if (this.queuedBytes <= this.options.socketsQueuedBytesMax) return
      this.queuedBytes -= socket.ownBytes + holdings.bytes
      socket.cut()
      this.queuedBytes += holdings.bytes
    }
  }
}
