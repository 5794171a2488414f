/** Bounds of what one route asks of its engine. */
export type BucketOptions = {
  readonly requestsPerSecondMax: number
  /** Requests that may go at once after a pause. */
  readonly requestsBurstMax: number
}

/** What one bucket works with. */
export type BucketModules = {
  /** Words that all edges of the machine map: the engine counts them as one client. */
  readonly words: BigInt64Array
  /** The one word of this bucket. */
  readonly index: number
  /** Nanoseconds of a clock that all processes of the machine share. */
  readonly nowNs: () => bigint
}

/** Leave to ask an engine, shared by all edges of the machine. */
export type TokenBucket = {
  /** Takes one token, and none where fewer than `reserve` others would be left. */
  take(reserve?: number): boolean
}

/**
 * GCRA in one word: the time at which the bucket would be full again. A burst of 1 gives one
 * request in each interval, however they come.
 */
export const createTokenBucket = (
  { requestsPerSecondMax, requestsBurstMax }: BucketOptions,
  { words, index, nowNs }: BucketModules,
): TokenBucket => {
  const intervalNs = BigInt(Math.ceil(1e9 / requestsPerSecondMax))
  const wholeNs = intervalNs * BigInt(requestsBurstMax)
  return {
    take(reserve = 0) {
      const limitNs = intervalNs * BigInt(Math.max(1, requestsBurstMax - reserve))
      for (;;) {
        // Before the clock: what another edge writes meanwhile must not lie further ahead than it
        // can.
        const stored = Atomics.load(words, index)
        const now = nowNs()
        // Further ahead than this bucket ever goes: written before the machine's last start.
        const fullAt = stored < now || stored > now + wholeNs ? now : stored
        const next = fullAt + intervalNs
        if (next - now > limitNs) return false
        if (Atomics.compareExchange(words, index, stored, next) === stored) return true
      }
    },
  }
}
