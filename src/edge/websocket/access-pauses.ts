import type { Socket } from '../../shared/socket.js'
import type { Timers } from '../../shared/event-loop/timers.js'

/** Bounds of the refused messages of an access. */
export type PauseOptions = {
  readonly socketRefusedMax: number
  readonly socketPauseMs: number
}

/** A socket that can be paused. */
export type PausedSocket = Pick<Socket, 'pause' | 'resume'>

/**
 * Sockets that are paused at once, about 1 µs each; any other one of the access is paused at its
 * next refused message.
 */
const PAUSED_AT_ONCE = 256

/** The refused messages of one access at this edge, and its sockets. */
export class AccessPause {
  private readonly options: PauseOptions
  private readonly timers: Timers
  private readonly onUnused: () => void
  private readonly sockets = new Set<PausedSocket>()
  private readonly paused = new Set<PausedSocket>()
  private count = 0
  private sinceMs: number
  private isPaused = false
  /** Cancels the end of the pause, or of the time that an access without sockets is known for. */
  private cancel: (() => void) | undefined

  constructor(options: PauseOptions, timers: Timers, onUnused: () => void) {
    this.options = options
    this.timers = timers
    this.onUnused = onUnused
    this.sinceMs = timers.now()
  }

  /** A socket has opened. A new one does not escape the pause. */
  add(socket: PausedSocket): void {
    this.sockets.add(socket)
    if (this.isPaused) this.pause(socket)
    else this.clear()
  }

  remove(socket: PausedSocket): void {
    if (!this.sockets.delete(socket)) return
    this.paused.delete(socket)
    if (this.sockets.size === 0 && !this.isPaused) this.forgetLater()
  }

  /** Counts refused messages. At the bound no socket of the access is read for a time. */
  refuse(socket: PausedSocket, count = 1): void {
    const { options, timers } = this
    if (this.isPaused) return this.pause(socket)
    const nowMs = timers.now()
    if (nowMs - this.sinceMs >= options.socketPauseMs) {
      this.sinceMs = nowMs
      this.count = 0
    }
    this.count += count
    if (this.count < options.socketRefusedMax) return
    this.isPaused = true
    this.clear()
    this.cancel = timers.setTimer(() => this.end(), options.socketPauseMs)
    this.pause(socket)
    for (const one of this.sockets) {
      if (this.paused.size >= PAUSED_AT_ONCE) break
      this.pause(one)
    }
  }

  private pause(socket: PausedSocket): void {
    if (this.paused.has(socket) || !this.sockets.has(socket)) return
    this.paused.add(socket)
    socket.pause()
  }

  private end(): void {
    this.isPaused = false
    this.cancel = undefined
    this.count = 0
    this.sinceMs = this.timers.now()
    // Each may close its socket, and so remove it.
    for (const socket of Array.from(this.paused)) socket.resume()
    this.paused.clear()
    if (this.sockets.size === 0) this.forgetLater()
  }

  /** What was refused counts for new sockets, too. */
  private forgetLater(): void {
    this.clear()
    const leftMs = this.sinceMs + this.options.socketPauseMs - this.timers.now()
    if (this.count === 0 || leftMs <= 0) this.onUnused()
    else this.cancel = this.timers.setTimer(this.onUnused, leftMs)
  }

  private clear(): void {
    this.cancel?.()
    this.cancel = undefined
  }
}

/** The accesses that have sockets at this edge, and those that had some a moment ago. */
export class AccessPauses {
  private readonly options: PauseOptions
  private readonly timers: Timers
  private readonly byAccess = new Map<string, AccessPause>()

  constructor(options: PauseOptions, timers: Timers) {
    this.options = options
    this.timers = timers
  }

  get size(): number {
    return this.byAccess.size
  }

  of(accessId: string): AccessPause {
    const known = this.byAccess.get(accessId)
    if (known !== undefined) return known
    const forget = (): void => void this.byAccess.delete(accessId)
    const made = new AccessPause(this.options, this.timers, forget)
    this.byAccess.set(accessId, made)
    return made
  }
}
