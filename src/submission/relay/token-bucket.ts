import { takeRequests, toRate } from '../../shared/gcra.js'
import type { Options } from './options.js'

const NS_PER_MS = 1e6

/** The word of a bucket, and its clock. */
type BucketParts = {
  /** Words of a mapped file: the rate goes on over restarts and replacements of the sender. */
  readonly words: BigInt64Array
  /** The word of this bucket. */
  readonly index: number
  /** Nanoseconds of the clock of the machine. */
  readonly nowNs: () => bigint
}

/** Tokens for requests to an engine. */
export type TokenBucket = {
  /** Takes one token: 0. Otherwise the milliseconds until there may be one. */
  take(): number
  /** The milliseconds until there may be one; it stays. */
  waitMs(): number
}

/** A rate limit (GCRA) in one word. A burst of 1 allows one request per interval. */
export const createTokenBucket = (
  {
    requestsPerSecondMax,
    requestsBurstMax,
  }: Pick<Options, 'requestsPerSecondMax' | 'requestsBurstMax'>,
  { words, index, nowNs }: BucketParts,
): TokenBucket => {
  const rate = toRate(requestsPerSecondMax, requestsBurstMax)
  // The words survive a reboot, after which the monotonic clock starts at 0.
  const leftOf = (count: number): bigint =>
    takeRequests(words, index, rate, { count, nowNs, isStaleReset: true })
  const toWaitMs = (leftNs: bigint): number => (leftNs >= 0n ? 0 : -Number(leftNs) / NS_PER_MS)
  return {
    take: () => toWaitMs(leftOf(1)),
    waitMs: () => toWaitMs(leftOf(0) - rate.intervalNs),
  }
}
