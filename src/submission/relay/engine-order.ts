/**
 * What is longer ago does not count: an access that never got a token is not before one that waited
 * as long, so that accesses without end, each with its first request, keep no other one waiting.
 */
const MEMORY_MS = 10_000
/** A client is told to come back after a second, and may then wait for more than one. */
const RETURN_MS = 3_000
/** Accesses that are remembered of each kind. The one that was added first goes first. */
const ACCESSES_MAX = 4_096

/** A request that waits, or may. */
export type Position = {
  /** When its access last got a token; 0 if never. */
  readonly servedMs: number
  /** When the request arrived, or the first refused one of its access since its last token. */
  readonly arrivedMs: number
}

/** When an access was first refused since its last token, and when it was refused or came last. */
type Refused = { readonly firstMs: number; lastMs: number }

const addTo = <T>(map: Map<string, T>, key: string, value: T): void => {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > ACCESSES_MAX && oldest !== undefined) map.delete(oldest)
}

/**
 * Which request an engine gets next: that of the access which got a token least recently, and of
 * equal ones the one that arrived first.
 */
export class EngineOrder {
  /** Monotonic milliseconds, above 0. */
  readonly now: () => number
  private readonly served = new Map<string, number>()
  private readonly refused = new Map<string, Refused>()

  constructor(now: () => number) {
    this.now = now
  }

  /** When the access last got a token; 0 if never, or too long ago to count. */
  servedMs(accessId: string): number {
    return this.served.get(accessId) ?? 0
  }

  /**
   * The access has a request: when it was first refused since its last token; 0 if it was not, or
   * has not come back in time.
   */
  comesBack(accessId: string): number {
    const known = this.refused.get(accessId)
    const nowMs = this.now()
    if (known === undefined || nowMs - known.lastMs >= RETURN_MS) return 0
    known.lastMs = nowMs
    return known.firstMs
  }

  /** The access gets a token. */
  markServed(accessId: string): void {
    addTo(this.served, accessId, this.now())
    this.refused.delete(accessId)
  }

  /** The access is told to come back. */
  markRefused(accessId: string): void {
    const nowMs = this.now()
    const firstMs = this.comesBack(accessId)
    addTo(this.refused, accessId, { firstMs: firstMs === 0 ? nowMs : firstMs, lastMs: nowMs })
  }

  /** Whether one request is before another. */
  isBefore(one: Position, other: Position, nowMs = this.now()): boolean {
    const oldestMs = nowMs - MEMORY_MS
    const [first, second] = [Math.max(one.servedMs, oldestMs), Math.max(other.servedMs, oldestMs)]
    return first < second || (first === second && one.arrivedMs < other.arrivedMs)
  }
}
