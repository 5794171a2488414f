import type { TokenBucket } from '../relay/token-bucket.js'

/** An access shares a rate for so long after a transaction. */
const ACTIVE_MS = 10_000
/** Accesses whose turns are known; beyond that the one seen longest ago is forgotten. */
const ACCESSES_MAX = 1_024

/** What one access has taken: when it will have none of its share in use, and when it was seen. */
type Share = { fullMs: number; seenMs: number }

export type LaneRateParts = {
  /** Of the lane as a whole. */
  readonly bucket: Pick<TokenBucket, 'take'>
  readonly requestsPerSecondMax: number
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * The rate of a lane, of which each access that was active lately has an equal share. One that is
 * alone has all of it.
 */
export class LaneRate {
  private readonly parts: LaneRateParts
  /** By access, the one seen longest ago first. */
  private readonly shares = new Map<string, Share>()

  constructor(parts: LaneRateParts) {
    this.parts = parts
  }

  /** Takes a turn of an access; false where there is none. */
  take(accessId: string): boolean {
    const { bucket, now, requestsPerSecondMax } = this.parts
    const nowMs = now()
    const share = this.shares.get(accessId) ?? { fullMs: 0, seenMs: nowMs }
    share.seenMs = nowMs
    this.shares.delete(accessId)
    this.shares.set(accessId, share)
    this.forget(nowMs)
    const intervalMs = (1_000 * this.shares.size) / requestsPerSecondMax
    const isOver = share.fullMs - nowMs > Math.max(0, 1_000 - intervalMs)
    if (isOver || bucket.take() > 0) return false
    share.fullMs = Math.max(share.fullMs, nowMs) + intervalMs
    return true
  }

  private forget(nowMs: number): void {
    for (const [accessId, { seenMs }] of this.shares) {
      if (nowMs - seenMs < ACTIVE_MS && this.shares.size <= ACCESSES_MAX) return
      this.shares.delete(accessId)
    }
  }
}
