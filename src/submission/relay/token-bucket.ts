import { takeRequests, toRate } from '../../shared/gcra.js'

/** Bounds of one route's requests to its engine. */
export type BucketOptions = {
  readonly requestsPerSecondMax: number
  /** Requests that may be sent at once after a pause. */
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

/** Tokens for requests to an engine, shared by all edges of the machine. */
export type TokenBucket = {
  /** Takes one token, unless fewer than `reserve` others would be left. */
  take(reserve?: number): boolean
}

/** A rate limit (GCRA) in one shared word. A burst of 1 allows one request per interval. */
export const createTokenBucket = (
  { requestsPerSecondMax, requestsBurstMax }: BucketOptions,
  { words, index, nowNs }: BucketModules,
): TokenBucket => {
  const rate = toRate(requestsPerSecondMax, requestsBurstMax)
  return {
    take(reserve = 0) {
      const reserveNs = rate.intervalNs * BigInt(Math.min(reserve, requestsBurstMax - 1))
      // The words outlive a restart of the machine, whose monotonic clock then starts at 0.
      const request = { count: 1, nowNs: nowNs(), reserveNs, isStaleReset: true }
      return takeRequests(words, index, rate, request) >= 0n
    },
  }
}
