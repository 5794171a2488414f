const WINDOW_MS = 1_000

/** A request over the limit: how many came over it in this window, and when the next one begins. */
export type RateExcess = { readonly count: number; readonly retryMs: number }

/** Counts requests by the second. No limit is 0. */
export class RateLimit {
  private readonly perSecondMax: number
  private readonly now: () => number
  private windowAt = -Infinity
  private count = 0

  constructor(perSecondMax: number, now: () => number) {
    this.perSecondMax = perSecondMax
    this.now = now
  }

  /** Counts one; `undefined` where it may pass. */
  take(): RateExcess | undefined {
    if (this.perSecondMax === 0) return undefined
    const now = this.now()
    if (now - this.windowAt >= WINDOW_MS) {
      this.windowAt = now
      this.count = 0
    }
    this.count++
    if (this.count <= this.perSecondMax) return undefined
    return {
      count: this.count - this.perSecondMax,
      retryMs: Math.ceil(this.windowAt + WINDOW_MS - now),
    }
  }
}
