import type { Timers } from '../../shared/event-loop/timers.js'

/** Multiples of it, modulo a number, are spread evenly. */
const GOLDEN_RATIO = 0.618

/** Bounds of the delays of one WebSocket. */
export type BackoffOptions = {
  readonly socketFailuresFreeMax: number
  readonly socketFailureWaitMs: number
  readonly socketFailureWaitLongMs: number
  readonly socketFailuresWaitingMax: number
  readonly socketFailuresHalveMs: number
}

/**
 * Exponential backoff for failing subscribes and unsubscribes: web3.js repeats them without a pause
 * for as long as its socket is open. The socket is never closed for it: web3.js would spin between
 * the close and its own report of it, until its memory is used up.
 */
export class FailureBackoff {
  private readonly options: BackoffOptions
  private readonly timers: Timers
  /** Delayed replies, the oldest first, and what cancels their timers. */
  private readonly waiting = new Map<() => void, () => void>()
  private failures = 0
  private halvedMs: number

  constructor(options: BackoffOptions, timers: Timers) {
    this.options = options
    this.timers = timers
    this.halvedMs = timers.now()
  }

  /** Counts a failure and sends its reply, now or later. The oldest is sent at the bound. */
  delay(send: () => void): void {
    const { options, timers, waiting } = this
    this.decay()
    this.failures++
    const delayed = this.failures - options.socketFailuresFreeMax
    if (delayed <= 0) return send()
    const { socketFailureWaitMs, socketFailureWaitLongMs, socketFailuresWaitingMax } = options
    const longestMs = Math.min(socketFailureWaitMs * 2 ** (delayed - 1), socketFailureWaitLongMs)
    // Spread over the second half, so that what failed together is not repeated together.
    const waitMs = Math.ceil(longestMs * (0.5 + ((this.failures * GOLDEN_RATIO) % 0.5)))
    const settle = (): void => {
      waiting.get(settle)?.()
      waiting.delete(settle)
      send()
    }
    waiting.set(settle, timers.setTimer(settle, waitMs))
    const [oldest] = waiting.keys()
    if (waiting.size > socketFailuresWaitingMax) oldest?.()
  }

  /** A call succeeded. */
  reset(): void {
    this.failures = 0
  }

  /** Drops the delayed replies. */
  close(): void {
    for (const cancel of this.waiting.values()) cancel()
    this.waiting.clear()
  }

  private decay(): void {
    const { socketFailuresHalveMs } = this.options
    const halvings = Math.floor((this.timers.now() - this.halvedMs) / socketFailuresHalveMs)
    this.failures = Math.floor(this.failures / 2 ** halvings)
    this.halvedMs += halvings * socketFailuresHalveMs
  }
}
