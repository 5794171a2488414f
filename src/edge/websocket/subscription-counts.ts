import type { Principal, UsageLimiter } from '../../access/limiter/usage-limiter.js'

/** Subscriptions of one WebSocket, and whose they are. */
export type SocketSubscriptions = { readonly principal: Principal; readonly count: number }

type Sum = { readonly principal: Principal; subscriptions: number; subscriptionsOfSocket: number }

/** Reports the subscriptions of each access at an edge to its limit table. */
export class SubscriptionCounts {
  private readonly limiter: Pick<UsageLimiter, 'setSubscriptions'>
  /** What was reported, by access. */
  private reported = new Map<string, Sum>()

  constructor(limiter: Pick<UsageLimiter, 'setSubscriptions'>) {
    this.limiter = limiter
  }

  report(sockets: Iterable<SocketSubscriptions>): void {
    const sums = new Map<string, Sum>()
    for (const { principal, count } of sockets) {
      const { accessId } = principal.grant
      const sum = sums.get(accessId) ?? { principal, subscriptions: 0, subscriptionsOfSocket: 0 }
      sum.subscriptions += count
      sum.subscriptionsOfSocket = Math.max(sum.subscriptionsOfSocket, count)
      sums.set(accessId, sum)
    }
    for (const [accessId, { principal }] of this.reported)
      if (!sums.has(accessId))
        this.limiter.setSubscriptions(principal, { subscriptions: 0, subscriptionsOfSocket: 0 })
    for (const { principal, ...sum } of sums.values()) this.limiter.setSubscriptions(principal, sum)
    this.reported = sums
  }
}
