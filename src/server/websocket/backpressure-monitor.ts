import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../compiled/library.js'
import type { Log } from '../../shared/log.js'
import type { CloseCode } from '../../shared/socket.js'
import type { ReplyScheduler } from '../http/reply-scheduler.js'
import type { Options } from '../options.js'
import { SlowConsumers } from './slow-consumers.js'

/** WebSockets of one server: current values, and two counts since it opened. */
export type SocketStats = {
  readonly sockets: number
  /** Bytes not yet taken by clients, as of the last sweep. */
  readonly socketQueuedBytes: number
  readonly messagesCount: number
  /** Closes by code: the server's own, or what the client sent. */
  readonly closes: ReadonlyMap<number, number>
}

/** Codes that are counted apart; a client may send any. */
export const CLOSE_CODES = [1000, 1001, 1005, 1006, 1008, 1009, 1011, 1012, 1013] as const
/** All other codes are counted under this one. */
export const OTHER_CLOSE = 0

/**
 * To look at 10,000 subscribers takes 15 ms. Until frames of a quarter of a socket's bound are
 * published, no socket can be over it, and every tenth sweep is enough to find those that do not
 * read.
 */
const SWEEPS_PER_SCAN = 10

export type BackpressureMonitorParts = {
  readonly options: Options
  readonly log: Log
  readonly now: () => number
  /** Writes the long messages, beside the long replies of HTTP. */
  readonly scheduler: ReplyScheduler
}

/** A socket as the monitor sees it. */
export type MonitoredSocket = {
  /** Bytes not yet taken by the client, frames shared with other sockets included. */
  readonly queuedBytes: number
  /** Bytes in the buffer of uWebSockets, which are this socket's alone. */
  readonly bufferedBytes: number
  /** Current bound of `queuedBytes`. */
  readonly queuedBytesMax: number
  /** When the client last took something that was queued. */
  progressAtMs: number
  /** When a closing socket is terminated, if something is still queued. */
  terminateAtMs: number
  /** A message waits for its reply. */
  readonly isBusy: boolean
  close(code: CloseCode, reason: string): void
  /** Takes no further message, and closes the socket once no message waits for its reply. */
  closeOnceIdle(code: CloseCode, reason: string): void
  /** Closes the socket where it is over a bound; sends pending frames where its buffer is empty. */
  check(nowMs: number): void
  /** Closes the socket without sending what is queued. */
  terminate(): void
  onDrained(): void
}

/**
 * All WebSockets of one server and the bounds of their queues. uWebSockets silently drops frames
 * over its own bound of a socket's buffer, so that bound is set high enough never to be reached,
 * and queues are measured here.
 */
export class BackpressureMonitor {
  readonly options: Options
  readonly log: Log
  readonly now: () => number
  readonly scheduler: ReplyScheduler
  readonly isCompressed: boolean
  readonly slowConsumers = new SlowConsumers()
  messagesCount = 0
  /** Upgrades are answered with 503. */
  isClosing = false
  private readonly app: Pick<App, 'publish' | 'numSubscribers' | 'answeredMessages'>
  private readonly sockets = new Set<MonitoredSocket>()
  private readonly subscribers = new Set<MonitoredSocket>()
  /** Sockets with queued bytes. */
  private readonly backlogged = new Set<MonitoredSocket>()
  private readonly drained: MonitoredSocket[] = []
  private readonly closes = new Map<number, number>()
  private readonly timer: NodeJS.Timeout
  /** Subscribers that a scan has not looked at yet; undefined where none runs. */
  private scanning: Iterator<MonitoredSocket> | undefined
  private sweepsSinceScan = 0
  /** Sockets that a sweep has not looked at yet; undefined where none runs. */
  private sweeping: Iterator<MonitoredSocket> | undefined
  /** Bytes of the sockets that the sweep has looked at; undefined once all are measured at once. */
  private sweptBytes: number | undefined
  /** Part of `growthBytes` that the sweep will have measured. */
  private growthBeforeSweep = 0
  private queuedBytes = 0
  /** Upper bound of what queues have grown since they were last measured. */
  private growthBytes = 0
  /**
   * Frames were published since the last scan. uWebSockets may keep them until the end of the
   * tick.
   */
  private hasPublished = false

  constructor(
    app: Pick<App, 'publish' | 'numSubscribers' | 'answeredMessages'>,
    { options, log, now, scheduler }: BackpressureMonitorParts,
  ) {
    this.app = app
    this.options = options
    this.log = log
    this.now = now
    this.scheduler = scheduler
    this.isCompressed = options.socketCompression === 'shared'
    this.timer = setInterval(() => this.sweep(), options.socketSweepMs)
    this.timer.unref()
  }

  get count(): number {
    return this.sockets.size
  }

  stats(): SocketStats {
    const { closes, queuedBytes } = this
    const messagesCount = this.messagesCount + this.app.answeredMessages()
    return { sockets: this.sockets.size, socketQueuedBytes: queuedBytes, messagesCount, closes }
  }

  publish(topic: string, frame: Uint8Array): void {
    const { app, slowConsumers } = this
    if (slowConsumers.publish(topic, frame) > 0) this.addGrowth(frame.byteLength)
    const count = app.numSubscribers(topic)
    if (count === 0) return
    app.publish(topic, frame, false, this.isCompressed)
    this.hasPublished = true
    this.addGrowth(frame.byteLength * count)
  }

  closeAll(code: CloseCode, reason: string): void {
    for (const socket of this.sockets) socket.close(code, reason)
  }

  closeAllOnceIdle(code: CloseCode, reason: string): void {
    for (const socket of this.sockets) socket.closeOnceIdle(code, reason)
  }

  get isBusy(): boolean {
    for (const socket of this.sockets) if (socket.isBusy) return true
    return false
  }

  /**
   * Closes each once it is idle, one after another: over `socketsDrainMs` or, where they are few,
   * with `socketsDrainStepMs` for each. One that opens meanwhile is closed last.
   */
  async closeGradually(code: CloseCode, reason: string): Promise<void> {
    const { socketsDrainMs, socketsDrainStepMs } = this.options
    const open = Array.from(this.sockets)
    const endMs = this.now() + Math.min(socketsDrainMs, open.length * socketsDrainStepMs)
    while (open.length > 0) {
      const steps = Math.max(1, Math.ceil((endMs - this.now()) / socketsDrainStepMs))
      for (const socket of open.splice(0, Math.ceil(open.length / steps)))
        socket.closeOnceIdle(code, reason)
      await sleep(socketsDrainStepMs)
    }
    this.closeAllOnceIdle(code, reason)
  }

  /** To be called after the app is closed. */
  close(): void {
    clearInterval(this.timer)
  }

  add(socket: MonitoredSocket): void {
    this.sockets.add(socket)
  }

  remove(socket: MonitoredSocket, code: number): void {
    if (!this.sockets.delete(socket)) return
    this.subscribers.delete(socket)
    this.backlogged.delete(socket)
    const counted = CLOSE_CODES.some(known => known === code) ? code : OTHER_CLOSE
    this.closes.set(counted, (this.closes.get(counted) ?? 0) + 1)
  }

  addSubscriber(socket: MonitoredSocket): void {
    this.subscribers.add(socket)
  }

  removeSubscriber(socket: MonitoredSocket): void {
    this.subscribers.delete(socket)
  }

  /** `bytes` were queued because the client did not take them at once. */
  onBackpressure(socket: MonitoredSocket, bytes: number): void {
    this.track(socket)
    // Checked here too: within one tick a client can request more than there is memory.
    if (socket.queuedBytes > socket.queuedBytesMax) socket.check(this.now())
    this.addGrowth(bytes)
  }

  /** The socket closes after its queued bytes are sent, or is terminated after `socketCloseMs`. */
  onClosing(socket: MonitoredSocket): void {
    this.subscribers.delete(socket)
    this.track(socket)
    socket.terminateAtMs = this.now() + this.options.socketCloseMs
  }

  /** Calls `onDrained` after the current callback of uWebSockets. */
  scheduleDrained(socket: MonitoredSocket): void {
    if (this.drained.push(socket) > 1) return
    setImmediate(() => {
      for (const one of this.drained.splice(0)) one.onDrained()
    })
  }

  /** Checks the socket at each sweep until its queue is empty. */
  track(socket: MonitoredSocket): void {
    if (this.backlogged.has(socket)) return
    socket.progressAtMs = this.now()
    this.backlogged.add(socket)
  }

  private addGrowth(bytes: number): void {
    this.growthBytes += bytes
    const growthMax = this.options.socketsQueuedBytesMax / 4
    if (this.growthBytes > growthMax) this.measureAtOnce()
    else if (this.growthBytes > growthMax / 2) this.startScan()
  }

  private sweep(): void {
    this.sweepsSinceScan += 1
    const isDue =
      this.growthBytes > this.options.socketQueueBytesMax / 4 ||
      this.sweepsSinceScan >= SWEEPS_PER_SCAN
    if (this.hasPublished && isDue) this.startScan()
    // What was published may be queued where a sweep does not look.
    else this.startSweep(this.hasPublished ? 0 : this.growthBytes)
  }

  /** Finds subscribers with queued bytes, and then measures and checks all such sockets. */
  private startScan(): void {
    if (this.scanning !== undefined || this.sweeping !== undefined) return
    this.scanning = this.subscribers.values()
    this.hasPublished = false
    this.sweepsSinceScan = 0
    this.scheduleScan(this.scanning, this.growthBytes)
  }

  /** In another turn: a scan checks sockets, and may begin while one of them is written to. */
  private scheduleScan(scanning: Iterator<MonitoredSocket>, growthBefore: number): void {
    setImmediate(() => {
      // Not one that was given up meanwhile.
      if (scanning === this.scanning) this.continueScan(scanning, growthBefore)
    })
  }

  /** Looks at subscribers for at most `socketTurnMs` per turn of the event loop. */
  private continueScan(scanning: Iterator<MonitoredSocket>, growthBefore: number): void {
    const startMs = this.now()
    while (this.now() - startMs <= this.options.socketTurnMs) {
      const next = scanning.next()
      if (next.done === true) {
        this.scanning = undefined
        return this.startSweep(growthBefore)
      }
      this.trackQueued(next.value)
    }
    this.scheduleScan(scanning, growthBefore)
  }

  private trackQueued(socket: MonitoredSocket): void {
    if (socket.queuedBytes > 0) this.track(socket)
  }

  /** Measures and checks sockets with queued bytes; `growthBefore` is measured at its end. */
  private startSweep(growthBefore: number): void {
    if (this.scanning !== undefined || this.sweeping !== undefined) return
    this.sweeping = Array.from(this.backlogged).values()
    this.sweptBytes = 0
    this.growthBeforeSweep = growthBefore
    this.continueSweep(this.sweeping)
  }

  /** Looks at sockets for at most `socketTurnMs` per turn of the event loop. */
  private continueSweep(sweeping: Iterator<MonitoredSocket>): void {
    const startMs = this.now()
    for (let nowMs = startMs; nowMs - startMs <= this.options.socketTurnMs; nowMs = this.now()) {
      const next = sweeping.next()
      if (next.done === true) return this.endSweep()
      const socket = next.value
      socket.check(nowMs)
      if (socket.queuedBytes === 0) this.backlogged.delete(socket)
      else if (this.sweptBytes !== undefined) this.sweptBytes += socket.bufferedBytes
    }
    setImmediate(() => this.continueSweep(sweeping))
  }

  private endSweep(): void {
    this.sweeping = undefined
    if (this.sweptBytes === undefined) return
    this.growthBytes -= this.growthBeforeSweep
    this.setQueuedBytes(this.sweptBytes)
  }

  /** In this turn, where so much may be queued that several turns are too late. */
  private measureAtOnce(): void {
    this.scanning = undefined
    this.sweptBytes = undefined
    for (const socket of this.subscribers) this.trackQueued(socket)
    this.growthBytes = 0
    let bufferedBytes = 0
    for (const socket of this.backlogged) bufferedBytes += socket.bufferedBytes
    this.setQueuedBytes(bufferedBytes)
  }

  private setQueuedBytes(bufferedBytes: number): void {
    this.queuedBytes = this.slowConsumers.bytes + bufferedBytes
    if (this.queuedBytes > this.options.socketsQueuedBytesMax) this.evictSlowest()
  }

  /** Terminates the sockets with the longest queues until the rest fits the bound. */
  private evictSlowest(): void {
    const { slowConsumers } = this
    const slowest = Array.from(this.backlogged, socket => ({ socket, bytes: socket.queuedBytes }))
    slowest.sort((a, b) => b.bytes - a.bytes)
    for (const { socket } of slowest) {
      if (this.queuedBytes <= this.options.socketsQueuedBytesMax) return
      this.queuedBytes -= socket.bufferedBytes + slowConsumers.bytes
      socket.terminate()
      this.queuedBytes += slowConsumers.bytes
    }
  }
}
