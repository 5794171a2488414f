import type { Grant } from '../../shared/grant.js'
import type { Peer, Refusal } from '../authenticate.js'
import { NO_METHOD, OPEN_SOCKET } from '../../usage/calls.js'
import type { LiveCells } from '../../usage/live-cells.js'
import type { Meter } from '../../usage/meter.js'
import {
  FULL,
  LimiterState,
  type AccessLimiter,
  type Clock,
  type Exceeded,
  type LimitPlace,
} from './access-limiter.js'
import type { Subscriptions } from './limit-counts.js'

/** An authenticated client: its grant, the state of its limits and the meter of its place. */
export class Principal {
  readonly grant: Grant
  readonly state: LimiterState
  readonly meter: Meter

  constructor(grant: Grant, meter: Meter) {
    this.grant = grant
    this.state = new LimiterState(grant)
    this.meter = meter
  }
}

/** Enforces the limits of authenticated requests and counts them. */
export class UsageLimiter {
  readonly #limiter: AccessLimiter
  readonly #usage: LiveCells
  readonly #principals = new WeakMap<Grant, Principal>()
  #last: Principal | undefined

  constructor(limiter: AccessLimiter, usage: LiveCells) {
    this.#limiter = limiter
    this.#usage = usage
  }

  /** The cells of the limit table. */
  get cells(): Float64Array {
    return this.#limiter.cells
  }

  placeOf({ state }: Principal): LimitPlace {
    return this.#limiter.placeOf(state)
  }

  principalOf(grant: Grant): Principal {
    const last = this.#last
    // A busy client sends its next request at once.
    if (last !== undefined && last.grant === grant) return last
    let principal = this.#principals.get(grant)
    if (principal === undefined) {
      principal = new Principal(grant, this.#usage.meterOf(grant))
      this.#principals.set(grant, principal)
    }
    this.#last = principal
    return principal
  }

  /** Admits one request, or returns the limit it exceeds. Admitted ones must be released. */
  acquire(principal: Principal, now: Clock): undefined | Exceeded | typeof FULL {
    const exceeded = this.#limiter.acquire(principal.state, now)
    const nowMs = now()
    const { meter } = principal
    meter.addRequests(1, nowMs)
    if (exceeded !== undefined) {
      // Its method is never read.
      meter.addCall(NO_METHOD, {}, nowMs)
      meter.addRateLimited(NO_METHOD, nowMs)
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
  ): number | Exceeded {
    const granted = this.#limiter.acquireBatch(principal.state, size, now)
    // A refused batch counts as the one request that it was sent as.
    if (typeof granted !== 'number') principal.meter.addRateLimited(NO_METHOD, now())
    else if (size.calls > 1) principal.meter.addRequests(size.calls - 1, now())
    return granted
  }

  /** Charges further requests for the length of an admitted one. They are not counted as calls. */
  acquireMore(principal: Principal, count: number, now: Clock): undefined | Exceeded {
    const exceeded = this.#limiter.acquireMore(principal.state, count, now)
    if (exceeded !== undefined) principal.meter.addRateLimited(NO_METHOD, now())
    return exceeded
  }

  /**
   * Charges the length of a reply, which counts as `to` requests, of which `from` are charged
   * already. They are not counted as calls.
   */
  chargeReply(
    { state }: Principal,
    size: { readonly from: number; readonly to: number },
    now: Clock,
  ): void {
    this.#limiter.chargeReply(state, size, now)
  }

  release(principal: Principal, atOnce: number): void {
    this.#limiter.release(principal.state, atOnce)
  }

  /**
   * Admits one WebSocket, or returns the limit it exceeds. Each admitted socket must be released.
   */
  acquireSocket(principal: Principal, nowMs: number): undefined | Exceeded | typeof FULL {
    const exceeded = this.#limiter.acquireSocket(principal.state, nowMs)
    const { meter } = principal
    meter.addRequests(1, nowMs)
    meter.addCall(OPEN_SOCKET, {}, nowMs)
    if (exceeded !== undefined) meter.addRateLimited(OPEN_SOCKET, nowMs)
    return exceeded
  }

  /** Counts a refused token. One that could not be a token is none, and is not counted. */
  addRefused({ reason, ...token }: Refusal, { address }: Peer, nowMs: number): void {
    if (reason !== 'malformed' && reason !== 'leaseExpired')
      this.#usage.addRefused(reason, token, address, nowMs)
  }

  /** Open WebSockets of the access, over all edges and machines. */
  openSockets({ state }: Principal): number {
    return this.#limiter.openSockets(state)
  }

  /** Counts a subscription over its limit, of a principal with an open WebSocket. */
  addRefusedSubscription({ state }: Principal): void {
    this.#limiter.addRefusedSubscription(state)
  }

  /** What the access of a principal has at this edge. */
  setSubscriptions({ state }: Principal, subscriptions: Subscriptions): void {
    this.#limiter.setSubscriptions(state, subscriptions)
  }

  releaseSocket(principal: Principal): void {
    this.#limiter.releaseSocket(principal.state)
  }
}
