import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../compiled/library.js'
import type { Log } from '../../shared/log.js'
import type { CloseCode } from '../../shared/socket.js'
import type { ReplyScheduler } from '../http/reply-scheduler.js'
import type { Options } from '../options.js'

/** WebSockets of one server: current values, and two counts since it opened. */
export type SocketStats = {
  readonly sockets: number
  /** Bytes not yet taken by clients; a frame that waits for several of them counts once. */
  readonly socketQueuedBytes: number
  readonly messagesCount: number
  /** Closes by code: the server's own, or what the client sent. */
  readonly closes: ReadonlyMap<number, number>
}

/** Codes that are counted apart; a client may send any. */
export const CLOSE_CODES = [1000, 1001, 1005, 1006, 1008, 1009, 1011, 1012, 1013] as const
/** All other codes are counted under this one. */
export const OTHER_CLOSE = 0

type CountedApp = Pick<App, 'publish' | 'queuedBytes' | 'answeredMessages' | 'checkSockets'>

export type SocketRegistryParts = {
  readonly app: CountedApp
  readonly options: Options
  readonly log: Log
  readonly now: () => number
  /** Writes the long messages, beside the long replies of HTTP. */
  readonly scheduler: ReplyScheduler
}

/** A socket as the registry sees it. */
export type RegisteredSocket = {
  /** A message waits for its reply. */
  readonly isBusy: boolean
  close(code: CloseCode, reason: string): void
  /** Takes no further message, and closes the socket once no message waits for its reply. */
  closeOnceIdle(code: CloseCode, reason: string): void
}

/** All WebSockets of one server. What they queue is bounded by the compiled server. */
export class SocketRegistry {
  readonly options: Options
  readonly log: Log
  readonly scheduler: ReplyScheduler
  readonly isCompressed: boolean
  messagesCount = 0
  /** Upgrades are answered with 503. */
  isClosing = false
  private readonly app: CountedApp
  private readonly now: () => number
  private readonly sockets = new Set<RegisteredSocket>()
  private readonly closes = new Map<number, number>()
  private readonly timer: NodeJS.Timeout
  /** A check goes on in the next turn. */
  private isChecking = false

  constructor({ app, options, log, now, scheduler }: SocketRegistryParts) {
    this.app = app
    this.options = options
    this.log = log
    this.now = now
    this.scheduler = scheduler
    this.isCompressed = options.socketCompression === 'shared'
    this.timer = setInterval(() => {
      if (!this.isChecking) this.check()
    }, options.socketSweepMs)
    this.timer.unref()
  }

  get count(): number {
    return this.sockets.size
  }

  get isBusy(): boolean {
    for (const socket of this.sockets) if (socket.isBusy) return true
    return false
  }

  stats(): SocketStats {
    const { app, closes, sockets } = this
    return {
      sockets: sockets.size,
      socketQueuedBytes: app.queuedBytes(),
      messagesCount: this.messagesCount + app.answeredMessages(),
      closes,
    }
  }

  publish(topic: string, frame: Uint8Array): void {
    this.app.publish(topic, frame, false, this.isCompressed)
  }

  add(socket: RegisteredSocket): void {
    this.sockets.add(socket)
  }

  remove(socket: RegisteredSocket, code: number): void {
    if (!this.sockets.delete(socket)) return
    const counted = CLOSE_CODES.some(known => known === code) ? code : OTHER_CLOSE
    this.closes.set(counted, (this.closes.get(counted) ?? 0) + 1)
  }

  closeAll(code: CloseCode, reason: string): void {
    for (const socket of this.sockets) socket.close(code, reason)
  }

  closeAllOnceIdle(code: CloseCode, reason: string): void {
    for (const socket of this.sockets) socket.closeOnceIdle(code, reason)
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

  /** Has the server report sockets that exceed a bound, some of them per turn. */
  private readonly check = (): void => {
    this.isChecking = !this.app.checkSockets()
    if (this.isChecking) setImmediate(this.check)
  }
}
