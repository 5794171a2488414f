import type { EdgeTurns, Turn } from './edge-turns.js'
import type { TokenBucket } from './token-bucket.js'

/** Bounds of a queue. */
export type QueueOptions = {
  /** Longest wait of a request. */
  readonly queueMs: number
  /** Requests of one access that wait at once. */
  readonly queuedPerAccessMax: number
  /** Requests that wait at once. */
  readonly queuedMax: number
}

type QueueModules = {
  readonly bucket: TokenBucket
  readonly turns: EdgeTurns
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** A request that waits for a token. */
type Waiting = {
  readonly arrivedNs: bigint
  readonly endMs: number
  readonly resolve: (isTaken: boolean) => void
}

/** A request that waits, and its access. */
type Next = Turn & { readonly accessId: string }

/** Longest wait for the edge whose turn it is: its event loop may be busy, or it may have died. */
const YIELD_MS = 20
const YIELD_STEP_MS = 1

/**
 * Requests of one edge that wait for a token of an engine. The next token is for the access that
 * got one least recently at any edge, so that an access with many requests does not keep the others
 * waiting.
 */
export class EngineQueue {
  private readonly options: QueueOptions
  private readonly modules: QueueModules
  /** By access, each in order of arrival. No list is empty. */
  private readonly waiting = new Map<string, Waiting[]>()
  private waitingCount = 0
  private timer: NodeJS.Timeout | undefined
  /** Until when a token is left to the edge whose turn it is. */
  private yieldEndMs: number | undefined

  constructor(options: QueueOptions, modules: QueueModules) {
    this.options = options
    this.modules = modules
  }

  /** Requests that wait. */
  get size(): number {
    return this.waitingCount
  }

  /**
   * Takes a token for a request: true where there is one now, false where there will be none within
   * `queueMs` or too many wait; otherwise a promise of either.
   */
  enter(accessId: string): boolean | Promise<boolean> {
    const { queueMs, queuedMax, queuedPerAccessMax } = this.options
    const { turns, now } = this.modules
    const arrivedNs = turns.nowNs()
    if (this.waitingCount === 0) {
      const servedNs = turns.servedNs(accessId)
      const waitMs = this.take({ accessId, servedNs, arrivedNs })
      if (waitMs === 0) return true
      if (waitMs > queueMs) return false
      this.arm(Math.min(waitMs, queueMs))
    }
    const requests = this.waiting.get(accessId) ?? []
    if (requests.length >= queuedPerAccessMax || this.waitingCount >= queuedMax) return false
    const endMs = now() + queueMs
    return new Promise(resolve => {
      requests.push({ arrivedNs, endMs, resolve })
      this.waiting.set(accessId, requests)
      this.waitingCount++
      this.publish()
    })
  }

  private arm(waitMs: number): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.serve(), Math.max(1, Math.ceil(waitMs)))
  }

  /** Gives what tokens there are to requests that wait, then refuses those that waited too long. */
  private serve(): void {
    let waitMs = 0
    for (let next = this.next(); next !== undefined; next = this.next()) {
      waitMs = this.take(next)
      if (waitMs > 0) break
      this.shift(next.accessId, true)
    }
    const nextEndMs = this.expire()
    this.publish()
    if (this.waitingCount > 0) this.arm(Math.min(waitMs, nextEndMs - this.modules.now()))
  }

  /** Refuses what waited too long. Returns when the next request will have. */
  private expire(): number {
    const nowMs = this.modules.now()
    let nextEndMs = Infinity
    for (const [accessId, requests] of this.waiting) {
      while ((requests[0]?.endMs ?? Infinity) <= nowMs) this.shift(accessId, false)
      nextEndMs = Math.min(nextEndMs, requests[0]?.endMs ?? Infinity)
    }
    return nextEndMs
  }

  /** Takes a token for the access: 0. Otherwise the milliseconds until there may be one. */
  private take(next: Next): number {
    const { bucket, turns, now } = this.modules
    if (turns.isBehind(next)) {
      this.yieldEndMs ??= now() + YIELD_MS
      if (now() < this.yieldEndMs) return YIELD_STEP_MS
    }
    this.yieldEndMs = undefined
    const waitMs = bucket.take()
    if (waitMs === 0) turns.markServed(next.accessId)
    return waitMs
  }

  /** The first request of the waiting access that got a token least recently. */
  private next(): Next | undefined {
    let next: Next | undefined
    for (const [accessId, [first]] of this.waiting) {
      const servedNs = this.modules.turns.servedNs(accessId)
      if (first !== undefined && (next === undefined || servedNs < next.servedNs))
        next = { accessId, servedNs, arrivedNs: first.arrivedNs }
    }
    return next
  }

  private publish(): void {
    this.modules.turns.publish(this.next())
  }

  /** Ends the wait of an access's first request. */
  private shift(accessId: string, isTaken: boolean): void {
    const requests = this.waiting.get(accessId)
    const first = requests?.shift()
    if (first === undefined) return
    if (requests?.length === 0) this.waiting.delete(accessId)
    this.waitingCount--
    first.resolve(isTaken)
  }
}
