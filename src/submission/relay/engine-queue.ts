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
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** A request that waits for a token. */
type Waiting = { readonly endMs: number; readonly resolve: (isTaken: boolean) => void }

/** Accesses whose last token is remembered. */
const SERVED_MAX = 1_024

/**
 * Requests of one edge that wait for a token of an engine. The next token is for the access that
 * got one least recently, so that an access with many requests does not keep the others waiting.
 */
export class EngineQueue {
  private readonly options: QueueOptions
  private readonly modules: QueueModules
  /** By access, each in order of arrival. No list is empty. */
  private readonly waiting = new Map<string, Waiting[]>()
  /** Accesses that got a token, the last one at the end. */
  private readonly served = new Set<string>()
  private waitingCount = 0
  private timer: NodeJS.Timeout | undefined

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
    if (this.waitingCount === 0) {
      const waitMs = this.modules.bucket.take()
      if (waitMs === 0) {
        this.markServed(accessId)
        return true
      }
      if (waitMs > queueMs) return false
      this.arm(Math.min(waitMs, queueMs))
    }
    const requests = this.waiting.get(accessId) ?? []
    if (requests.length >= queuedPerAccessMax || this.waitingCount >= queuedMax) return false
    const endMs = this.modules.now() + queueMs
    return new Promise(resolve => {
      requests.push({ endMs, resolve })
      this.waiting.set(accessId, requests)
      this.waitingCount++
    })
  }

  private arm(waitMs: number): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.serve(), Math.max(1, Math.ceil(waitMs)))
  }

  /** Gives what tokens there are to requests that wait, then refuses those that waited too long. */
  private serve(): void {
    let waitMs = 0
    while (this.waitingCount > 0 && waitMs === 0) {
      waitMs = this.modules.bucket.take()
      if (waitMs > 0) break
      const accessId = this.nextAccess()
      this.markServed(accessId)
      this.shift(accessId, true)
    }
    const nextEndMs = this.expire()
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

  /** The waiting access that got a token least recently. */
  private nextAccess(): string {
    for (const accessId of this.waiting.keys()) if (!this.served.has(accessId)) return accessId
    for (const accessId of this.served) if (this.waiting.has(accessId)) return accessId
    throw new Error('no request waits')
  }

  private markServed(accessId: string): void {
    this.served.delete(accessId)
    this.served.add(accessId)
    if (this.served.size <= SERVED_MAX) return
    const [oldest] = this.served
    if (oldest !== undefined) this.served.delete(oldest)
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
