import { takeRequests, toRate, type Rate } from '../../shared/gcra.js'

/** Bounds of the limits of all keys. */
export type RateLimitOptions = {
  readonly perMinuteMax: number
  readonly burstMax: number
  /** Keys that are remembered. A further one evicts the one that was used least recently. */
  readonly keysMax: number
}

const SECONDS_PER_MINUTE = 60
const NS_PER_SECOND = 1e9

/** A rate limit for each key, such as a person or an address, in memory. */
export class RateLimits {
  private readonly rate: Rate
  private readonly keysMax: number
  private readonly nowNs: () => bigint
  /** The theoretical arrival time of each key; the last used one at the end. */
  private readonly words = new Map<string, BigInt64Array>()

  constructor(
    { perMinuteMax, burstMax, keysMax }: RateLimitOptions,
    nowNs: () => bigint = process.hrtime.bigint,
  ) {
    this.rate = toRate(perMinuteMax / SECONDS_PER_MINUTE, burstMax)
    this.keysMax = keysMax
    this.nowNs = nowNs
  }

  /** Takes one request of a key: 0. Otherwise the whole seconds until there may be one. */
  take(key: string): number {
    const word = this.words.get(key) ?? new BigInt64Array(1)
    this.words.delete(key)
    this.words.set(key, word)
    const [oldest] = this.words.keys()
    if (this.words.size > this.keysMax && oldest !== undefined) this.words.delete(oldest)
    const leftNs = takeRequests(word, 0, this.rate, { count: 1, nowNs: this.nowNs })
    return leftNs >= 0n ? 0 : Math.ceil(-Number(leftNs) / NS_PER_SECOND)
  }
}
