import type { EngineOrder, Position } from './engine-order.js'
import type { TokenBucket } from './token-bucket.js'

/** Bounds of a queue. */
export type QueueOptions = {
  /** Longest wait of a request. */
  readonly queueMs: number
  /** Tokens in a second. */
  readonly requestsPerSecondMax: number
  /** Requests of one access that wait at once. */
  readonly queuedPerAccessMax: number
  /** Requests that wait at once. */
  readonly queuedMax: number
}

type QueueModules = {
  readonly bucket: TokenBucket
  readonly order: EngineOrder
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Returns how to stop the timer. */
  readonly setTimer?: (run: () => void, waitMs: number) => () => void
}

/** A request that waits for a token. */
type Waiting = {
  readonly arrivedMs: number
  readonly endMs: number
  readonly resolve: (isTaken: boolean) => void
}

/** A request that waits, and its access. */
type Next = Position & { readonly accessId: string }

/**
 * What `Retry-After: 1` tells a refused client to wait. A slower rate is not waited for any longer:
 * a client's own time-outs are near.
 */
const RETRY_MS = 1_000

/**
 * Longest wait of the first request of an access: the next token may be another access's, the one
 * after it is not.
 */
export const longestWaitMs = ({
  queueMs,
  requestsPerSecondMax,
}: Pick<QueueOptions, 'queueMs' | 'requestsPerSecondMax'>): number =>
  queueMs + Math.min(RETRY_MS, 1_000 / requestsPerSecondMax)

const setTimer = (run: () => void, waitMs: number): (() => void) => {
  const timer = setTimeout(run, waitMs)
  return () => clearTimeout(timer)
}

/**
 * Requests that wait for a token of an engine. The next token is for the access that got one least
 * recently, so that an access with many requests does not keep the others waiting. An access that
 * was refused waits for its token when it comes back: otherwise one that always has requests here
 * would take the tokens while the other does what it was told.
 */
export class EngineQueue {
  private readonly options: QueueOptions
  private readonly modules: QueueModules
  /** By access, each in order of arrival. No list is empty. */
  private readonly waiting = new Map<string, Waiting[]>()
  private waitingCount = 0
  private stopTimer = (): void => {}

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
   * `queueMs` or too many wait; otherwise a promise of either. A request of an access that was
   * refused since its last token waits for the next one, whenever that is.
   */
  enter(accessId: string): boolean | Promise<boolean> {
    const { queueMs } = this.options
    const { bucket, order, now } = this.modules
    const refusedMs = order.comesBack(accessId)
    const arrivedMs = refusedMs === 0 ? order.now() : refusedMs
    const waitMs = this.waitingCount === 0 ? this.take(accessId) : bucket.waitMs()
    if (this.waitingCount === 0 && waitMs === 0) return true
    const requests = this.waiting.get(accessId) ?? []
    const isFirst = requests.length === 0
    const mayWait = waitMs <= queueMs || (isFirst && refusedMs !== 0)
    if (!mayWait || !this.hasRoom(requests)) {
      order.markRefused(accessId)
      return false
    }
    const longestMs = isFirst ? longestWaitMs(this.options) : queueMs
    const endMs = now() + longestMs
    if (this.waitingCount === 0) this.arm(Math.min(waitMs, longestMs))
    return new Promise(resolve => {
      requests.push({ arrivedMs, endMs, resolve })
      this.waiting.set(accessId, requests)
      this.waitingCount++
    })
  }

  /** Whether an access with these requests may have one more, in place of another's if need be. */
  private hasRoom({ length }: readonly Waiting[]): boolean {
    const { queuedMax, queuedPerAccessMax } = this.options
    if (length >= queuedPerAccessMax) return false
    if (this.waitingCount < queuedMax) return true
    // Every access has one request at most, or this one has one.
    if (length > 0 || this.waiting.size === this.waitingCount) return false
    let most: readonly [accessId: string, count: number] = ['', 0]
    for (const [accessId, { length: count }] of this.waiting)
      if (count > most[1]) most = [accessId, count]
    this.end(most[0], most[1] - 1, false)
    return true
  }

  private arm(waitMs: number): void {
    const { setTimer: set = setTimer } = this.modules
    this.stopTimer()
    this.stopTimer = set(() => this.serve(), Math.max(1, Math.ceil(waitMs)))
  }

  /** Gives what tokens there are to requests that wait, then refuses those that waited too long. */
  private serve(): void {
    let waitMs = 0
    for (let next = this.next(); next !== undefined; next = this.next()) {
      waitMs = this.take(next.accessId)
      if (waitMs > 0) break
      this.end(next.accessId, 0, true)
    }
    const nextEndMs = this.expire()
    if (this.waitingCount > 0) this.arm(Math.min(waitMs, nextEndMs - this.modules.now()))
  }

  /** Refuses what waited too long. Returns when the next request will have. */
  private expire(): number {
    const { now, order } = this.modules
    const nowMs = now()
    let nextEndMs = Infinity
    for (const [accessId, requests] of this.waiting) {
      const endOf = (at: number): number => requests[at]?.endMs ?? Infinity
      // The first may wait longer than those behind it, which end in order.
      while (endOf(1) <= nowMs) this.end(accessId, 1, false)
      while (endOf(0) <= nowMs) {
        this.end(accessId, 0, false)
        order.markRefused(accessId)
      }
      nextEndMs = Math.min(nextEndMs, endOf(0), endOf(1))
    }
    return nextEndMs
  }

  /** Takes a token for the access: 0. Otherwise the milliseconds until there may be one. */
  private take(accessId: string): number {
    const { bucket, order } = this.modules
    const waitMs = bucket.take()
    if (waitMs === 0) order.markServed(accessId)
    return waitMs
  }

  /** The first request of the waiting access that got a token least recently. */
  private next(): Next | undefined {
    const { order } = this.modules
    const nowMs = order.now()
    let next: Next | undefined
    for (const [accessId, [first]] of this.waiting) {
      if (first === undefined) continue
      const { arrivedMs } = first
      const own = { accessId, servedMs: order.servedMs(accessId), arrivedMs }
      if (next === undefined || order.isBefore(own, next, nowMs)) next = own
    }
    return next
  }

  /** Ends the wait of a request of an access. */
  private end(accessId: string, at: number, isTaken: boolean): void {
    const requests = this.waiting.get(accessId)
    const [ended] = requests?.splice(at, 1) ?? []
    if (ended === undefined) return
    if (requests?.length === 0) this.waiting.delete(accessId)
    this.waitingCount--
    ended.resolve(isTaken)
  }
}
