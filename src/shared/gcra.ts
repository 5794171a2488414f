/** A rate limit in the terms of the generic cell rate algorithm (GCRA). */
export type Rate = {
  /** Time between two requests at the highest steady rate. */
  readonly intervalNs: bigint
  /** How far the theoretical arrival time may lie ahead of the clock: the burst, as a time. */
  readonly burstNs: bigint
}

/**
 * A stored time that lies further ahead than the burst, a debt of one burst, and this was written
 * before the clock was set back, before the machine was restarted, or under other limits. Processes
 * that share the time read their clocks less far apart.
 */
const CLOCK_SKEW_NS = 1_000_000_000n

const NS_PER_SECOND = 1e9

/** The interval and burst of a rate. */
export const toRate = (requestsPerSecondMax: number, requestsBurstMax: number): Rate => {
  const intervalNs = BigInt(Math.ceil(NS_PER_SECOND / requestsPerSecondMax))
  return { intervalNs, burstNs: intervalNs * BigInt(requestsBurstMax) }
}

/**
 * Takes `count` requests from the limit whose theoretical arrival time is in `words[index]`, shared
 * with other processes. Returns what is then left of the burst; a negative time means that nothing
 * was taken, and is how long to wait. A stored time that is out of range counts as a burst that is
 * used up, unless `isStaleReset`: then it counts as a whole one.
 */
export const takeRequests = (
  words: BigInt64Array,
  index: number,
  { intervalNs, burstNs }: Rate,
  {
    count,
    nowNs,
    isStaleReset = false,
  }: {
    readonly count: number
    /** Read after the stored time, which others may have moved while this process was stopped. */
    readonly nowNs: () => bigint
    readonly isStaleReset?: boolean
  },
): bigint => {
  const cost = BigInt(count) * intervalNs
  for (;;) {
    const stored = Atomics.load(words, index)
    const now = nowNs()
    const latest = now + burstNs
    const isStale = stored > latest + burstNs + CLOCK_SKEW_NS
    const arrival = isStale ? (isStaleReset ? now : latest) : stored < now ? now : stored
    const left = latest - arrival - cost
    // A stale time is replaced even by a refused call: otherwise the limit would stay closed.
    const next = left < 0n ? arrival : arrival + cost
    if (left < 0n && !isStale) return left
    if (Atomics.compareExchange(words, index, stored, next) === stored) return left
  }
}
