import type { Principal, UsageLimiter } from '../../access/limiter/usage-limiter.js'
import { LoopTurn } from '../../shared/event-loop/loop-turn.js'

/** Subscriptions of one WebSocket, and whose they are. */
export type SocketSubscriptions = { readonly principal: Principal; readonly count: number }

type Sum = { readonly principal: Principal; subscriptions: number; subscriptionsOfSocket: number }

/** Sockets are counted for so long in one turn of the event loop: 10,000 take 4 ms. */
const TURN_MS = 1

/** Reports the subscriptions of each access at an edge to its limit table. */
export class SubscriptionCounts {
  private readonly limiter: Pick<UsageLimiter, 'setSubscriptions'>
  /** What was reported, by access. */
  private reported = new Map<string, Sum>()
  private readonly turn: LoopTurn
  private isCounting = false

  constructor(limiter: Pick<UsageLimiter, 'setSubscriptions'>, now: () => number) {
    this.limiter = limiter
    this.turn = new LoopTurn(TURN_MS, now)
  }

  /** Counts in several turns where the sockets are many; a report meanwhile does nothing. */
  async report(sockets: Iterable<SocketSubscriptions>): Promise<void> {
    if (this.isCounting) return
    this.isCounting = true
    try {
      this.set(await this.count(sockets))
    } finally {
      this.isCounting = false
    }
  }

  private async count(sockets: Iterable<SocketSubscriptions>): Promise<Map<string, Sum>> {
    const sums = new Map<string, Sum>()
    for (const { principal, count } of sockets) {
      const { accessId } = principal.grant
      const sum = sums.get(accessId) ?? { principal, subscriptions: 0, subscriptionsOfSocket: 0 }
      sum.subscriptions += count
      sum.subscriptionsOfSocket = Math.max(sum.subscriptionsOfSocket, count)
      sums.set(accessId, sum)
      if (this.turn.isOver) await this.turn.next()
    }
    return sums
  }

  private set(sums: Map<string, Sum>): void {
    for (const [accessId, { principal }] of this.reported)
      if (!sums.has(accessId))
        this.limiter.setSubscriptions(principal, { subscriptions: 0, subscriptionsOfSocket: 0 })
    for (const { principal, ...sum } of sums.values()) this.limiter.setSubscriptions(principal, sum)
    this.reported = sums
  }
}
