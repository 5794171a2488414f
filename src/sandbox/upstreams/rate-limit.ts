const WINDOW_MS = 1_000

/** By how much the current window is over the limit, and when the next window begins. */
export type RateExcess = { readonly count: number; readonly retryMs: number }

/** Counts requests in windows of one second. 0 is no limit. */
export class RateLimit {
  private readonly perSecondMax: number
  private readonly now: () => number
  private windowAt = -Infinity
  private requestCount = 0

  constructor(perSecondMax: number, now: () => number) {
    this.perSecondMax = perSecondMax
    this.now = now
  }

  /** Counts one request; `undefined` where it is within the limit. */
  count(): RateExcess | undefined {
    if (this.perSecondMax === 0) return undefined
    const now = this.now()
    if (now - this.windowAt >= WINDOW_MS) {
      this.windowAt = now
      this.requestCount = 0
    }
    this.requestCount++
    if (this.requestCount <= this.perSecondMax) return undefined
    return {
      count: this.requestCount - this.perSecondMax,
      retryMs: Math.ceil(this.windowAt + WINDOW_MS - now),
    }
  }
}
