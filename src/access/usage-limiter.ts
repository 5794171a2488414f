import type { Grant } from '../shared/grant.js'
import { FULL, Use, type Exceeded, type Limits } from './limiter.js'
import type { Meter, Usage } from './usage/usage.js'

/**
 * Who comes with one token: what they may do, and where that is counted. Kept for as long as the
 * grant is.
 */
export class Visitor {
  readonly grant: Grant
  readonly use: Use
  readonly meter: Meter

  constructor(grant: Grant, meter: Meter) {
    this.grant = grant
    this.use = new Use(grant)
    this.meter = meter
  }
}

/**
 * Stands between a token that was accepted and the work that it asks for: limits, and counts of its
 * use.
 */
export class Gate {
  readonly #limits: Limits
  readonly #usage: Usage
  #visitors = new WeakMap<Grant, Visitor>()
  #last: Visitor | undefined

  constructor(limits: Limits, usage: Usage) {
    this.#limits = limits
    this.#usage = usage
  }

  visitorOf(grant: Grant): Visitor {
    const last = this.#last
    // A busy client comes again at once.
    if (last !== undefined && last.grant === grant) return last
    let visitor = this.#visitors.get(grant)
    if (visitor === undefined) {
      visitor = new Visitor(grant, this.#usage.meterOf(grant.tokenId))
      this.#visitors.set(grant, visitor)
    }
    this.#last = visitor
    return visitor
  }

  /** Lets one request in, or says what is in the way. Whoever is let in must `leave`. */
  enter(visitor: Visitor, nowMs: number): undefined | Exceeded | typeof FULL {
    const exceeded = this.#limits.enter(visitor.use, nowMs)
    visitor.meter.addRequests(1, nowMs)
    if (exceeded !== undefined) visitor.meter.addRateLimited()
    return exceeded
  }

  /** Makes of one request that was let in a message of `calls`, of which `atOnce` run at a time. */
  widen(
    visitor: Visitor,
    size: { readonly calls: number; readonly atOnce: number },
    nowMs: number,
  ): undefined | Exceeded {
    const exceeded = this.#limits.widen(visitor.use, size, nowMs)
    // What is refused counts as the one request that it came as.
    if (exceeded !== undefined) visitor.meter.addRateLimited()
    else if (size.calls > 1) visitor.meter.addRequests(size.calls - 1, nowMs)
    return exceeded
  }

  leave(visitor: Visitor, atOnce: number): void {
    this.#limits.leave(visitor.use, atOnce)
  }

  /**
   * Lets one WebSocket in, or says what is in the way. Whoever is let in must `closeSocket`; its
   * messages `enter`.
   */
  openSocket(visitor: Visitor, nowMs: number): undefined | Exceeded | typeof FULL {
    const exceeded = this.#limits.openSocket(visitor.use, nowMs)
    visitor.meter.addRequests(1, nowMs)
    if (exceeded !== undefined) visitor.meter.addRateLimited()
    return exceeded
  }

  closeSocket(visitor: Visitor): void {
    this.#limits.closeSocket(visitor.use)
  }

  /** Lets go what did nothing for a day. */
  sweep(nowMs: number): void {
    this.#usage.sweep(nowMs)
    // Their meters may be of files that are no more.
    this.#visitors = new WeakMap()
    this.#last = undefined
  }
}
