import type {
  LimitedAccess,
  LimitRefusal,
  LimitTable,
  Utilisation,
} from '../../native/access/limits.js'
import type { Grant } from '../../shared/grant.js'
import type { Peer, Refusal } from '../authenticate.js'
import { NO_METHOD, OPEN_SOCKET, type CallFailure, type CallSource } from '../../usage/calls.js'
import type { LiveCells } from '../../usage/live-cells.js'
import type { Meter } from '../../usage/meter.js'
import { FULL, limitedAccess, type Clock } from './limit-table.js'

/** An authenticated client: its grant, its limits and the meter of its token. */
export type Principal = {
  readonly grant: Grant
  readonly access: LimitedAccess
  readonly meter: Meter
}

export type UsageLimiterParts = {
  readonly table: LimitTable
  /** This edge's, in the table. */
  readonly edgeIndex: number
  readonly usage: LiveCells
}

/** How a request over a limit is listed. */
const toFailure = (
  exceeded: LimitRefusal,
  source: CallSource | undefined,
): CallFailure | undefined =>
  source && {
    ...(exceeded === FULL
      ? { code: 503, text: 'every row of the table of limits is in use' }
      : { code: 429, text: `over ${exceeded.limit}, ${exceeded.max}` }),
    origin: 'limit',
    source,
  }

/** Counts what was refused, and lists it with its source. */
const addRefusal = (
  { meter }: Principal,
  exceeded: LimitRefusal,
  {
    method,
    nowMs,
    source,
  }: {
    readonly method: string
    readonly nowMs: number
    readonly source: CallSource | undefined
  },
): void => {
  if (exceeded !== FULL) meter.addOverLimit(exceeded.limit, nowMs)
  meter.addRateLimited(method, nowMs, toFailure(exceeded, source))
}

/** Enforces the limits of authenticated requests and counts them. */
export class UsageLimiter {
  readonly #parts: UsageLimiterParts
  readonly #principals = new WeakMap<Grant, Principal>()
  #last: Principal | undefined

  constructor(parts: UsageLimiterParts) {
    this.#parts = parts
  }

  principalOf(grant: Grant): Principal {
    const last = this.#last
    // A busy client sends its next request at once.
    if (last !== undefined && last.grant === grant) return last
    let principal = this.#principals.get(grant)
    if (principal === undefined) {
      const { table, edgeIndex, usage } = this.#parts
      const access = limitedAccess(table, grant, edgeIndex)
      principal = { grant, access, meter: usage.meterOf(grant) }
      this.#principals.set(grant, principal)
    }
    this.#last = principal
    return principal
  }

  /**
   * Admits one request, or returns the limit it exceeds. Admitted ones must be released. Refused
   * ones are listed with their source.
   */
  acquire(principal: Principal, now: Clock, source?: CallSource): undefined | LimitRefusal {
    const exceeded = principal.access.acquire(now)
    const nowMs = now()
    const { meter } = principal
    meter.addRequests(1, nowMs)
    if (exceeded !== undefined) {
      // Its method is never read.
      meter.addCall(NO_METHOD, {}, nowMs)
      addRefusal(principal, exceeded, { method: NO_METHOD, nowMs, source })
    }
    return exceeded
  }

  /**
   * Turns one admitted request into a message of `calls`, of which at most `atOnce` are in flight
   * at a time. Returns how many.
   */
  acquireBatch(
    principal: Principal,
    size: { readonly calls: number; readonly atOnce: number },
    now: Clock,
    source?: CallSource,
  ): number | LimitRefusal {
    const granted = principal.access.acquireBatch(size.calls, size.atOnce, now)
    // A refused batch counts as the one request that it was sent as.
    if (typeof granted !== 'number')
      addRefusal(principal, granted, { method: NO_METHOD, nowMs: now(), source })
    else if (size.calls > 1) principal.meter.addRequests(size.calls - 1, now())
    return granted
  }

  /** Charges further requests for the length of an admitted one. They are not counted as calls. */
  acquireMore(
    principal: Principal,
    count: number,
    now: Clock,
    source?: CallSource,
  ): undefined | LimitRefusal {
    const exceeded = principal.access.acquireMore(count, now)
    if (exceeded !== undefined)
      addRefusal(principal, exceeded, { method: NO_METHOD, nowMs: now(), source })
    return exceeded
  }

  /**
   * Charges the length of a reply, which counts as `to` requests, of which `from` are charged
   * already. They are not counted as calls.
   */
  chargeReply(
    { access }: Principal,
    { from, to }: { readonly from: number; readonly to: number },
    now: Clock,
  ): void {
    access.chargeReply(from, to, now)
  }

  release(principal: Principal, atOnce: number): void {
    principal.access.release(atOnce)
  }

  /**
   * Admits one WebSocket, or returns the limit it exceeds. Each admitted socket must be released.
   */
  acquireSocket(
    principal: Principal,
    nowMs: number,
    source?: CallSource,
  ): undefined | LimitRefusal {
    const exceeded = principal.access.acquireSocket(nowMs)
    const { meter } = principal
    meter.addRequests(1, nowMs)
    meter.addCall(OPEN_SOCKET, {}, nowMs)
    if (exceeded !== undefined)
      addRefusal(principal, exceeded, { method: OPEN_SOCKET, nowMs, source })
    return exceeded
  }

  /** Counts a refused token. One that could not be a token is none, and is not counted. */
  addRefused({ reason, ...token }: Refusal, { address }: Peer, nowMs: number): void {
    if (reason !== 'malformed' && reason !== 'leaseExpired')
      this.#parts.usage.addRefused(reason, token, address, nowMs)
  }

  /** Open WebSockets of the access, over all edges and machines. */
  openSockets({ access }: Principal): number {
    return access.openSockets()
  }

  /** Counts a subscription over its limit, of a principal with an open WebSocket. */
  addRefusedSubscription({ meter }: Principal, nowMs: number): void {
    meter.addOverLimit('subscriptionsPerSocketMax', nowMs)
  }

  /** What the access of a principal has at this edge. */
  setSubscriptions(
    { access }: Principal,
    {
      subscriptions,
      subscriptionsOfSocket,
    }: Pick<Utilisation, 'subscriptions' | 'subscriptionsOfSocket'>,
  ): void {
    access.setSubscriptions(subscriptions, subscriptionsOfSocket)
  }

  releaseSocket(principal: Principal): void {
    principal.access.releaseSocket()
  }
}
