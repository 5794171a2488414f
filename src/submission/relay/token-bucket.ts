import { takeRequests, toRate } from '../../shared/gcra.js'
import type { Options } from './options.js'

/** Where a bucket is. */
type BucketPlace = {
  /** Words shared by all edges of the machine: the engine counts them as one client. */
  readonly words: BigInt64Array
  /** The word of this bucket. */
  readonly index: number
  /** Nanoseconds of a clock shared by all processes of the machine. */
  readonly nowNs: () => bigint
}

/** Tokens for requests to an engine, shared by all edges of the machine. */
export type TokenBucket = {
  /** Takes one token, unless fewer than `reserve` would remain. */
  take(reserve?: number): boolean
}

/** A rate limit (GCRA) in one shared word. A burst of 1 allows one request per interval. */
export const createTokenBucket = (
  {
    requestsPerSecondMax,
    requestsBurstMax,
  }: Pick<Options, 'requestsPerSecondMax' | 'requestsBurstMax'>,
  { words, index, nowNs }: BucketPlace,
): TokenBucket => {
  const rate = toRate(requestsPerSecondMax, requestsBurstMax)
  return {
    take(reserve = 0) {
      const reserveNs = rate.intervalNs * BigInt(Math.min(reserve, requestsBurstMax - 1))
      // The words survive a reboot, after which the monotonic clock starts at 0.
      const request = { count: 1, nowNs, reserveNs, isStaleReset: true }
      return takeRequests(words, index, rate, request) >= 0n
    },
  }
}
