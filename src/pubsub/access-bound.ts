import { RpcError } from '../shared/errors.js'

/**
 * Counts something that subscriptions keep, for each access and in all. An id that several sockets
 * share counts for each: it stays as long as one of them.
 */
export class AccessBound {
  private readonly accessMax: number
  private readonly max: number
  private readonly toError: (max: number) => RpcError
  private readonly counts = new Map<string, number>()
  private total = 0

  /** `toError` refuses what is over `accessMax`. */
  constructor(accessMax: number, max: number, toError: (max: number) => RpcError) {
    this.accessMax = accessMax
    this.max = max
    this.toError = toError
  }

  /** Throws if so many more are over a bound. */
  check(accessId: string, count: number): void {
    if ((this.counts.get(accessId) ?? 0) + count > this.accessMax)
      throw this.toError(this.accessMax)
    if (this.total + count > this.max) throw new RpcError('nodeSubscriptions')
  }

  /** Adds so many, or takes them away. */
  add(accessId: string, count: number): void {
    if (count === 0) return
    const next = (this.counts.get(accessId) ?? 0) + count
    if (next === 0) this.counts.delete(accessId)
    else this.counts.set(accessId, next)
    this.total += count
  }
}
