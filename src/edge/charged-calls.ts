import type { LimitRefusal } from '../native/access/limits.js'
import type { Principal } from '../access/limiter/usage-limiter.js'
import { NO_METHOD } from '../usage/calls.js'
import type { AnsweredCall, CallContext } from '../rpc/call-context.js'
import { errorOf } from '../rpc/outcome.js'
import type { RpcError } from '../shared/errors.js'
import type { Reply } from '../shared/http.js'
import { failureOf, type AdmissionParts } from './admission.js'

/** What calls are charged and counted with. */
export type ChargeParts = Pick<AdmissionParts, 'limiter' | 'now' | 'onRefusal'>

/** The calls of one admitted request or message: they are charged to its client, and counted. */
export abstract class ChargedCalls<R extends Reply | RpcError> implements CallContext {
  abstract readonly id: string
  readonly principal: Principal
  /** Calls that are charged as in flight. */
  atOnce = 1
  /** Requests that the calls or their reply are charged as. */
  private charged = 1
  private readonly chargeParts: ChargeParts

  constructor(principal: Principal, parts: ChargeParts) {
    this.principal = principal
    this.chargeParts = parts
  }

  get tokenId(): string {
    return this.principal.grant.tokenId
  }

  get owner(): string {
    return this.principal.grant.accessId
  }

  acquireBatch(calls: number, atOnce: number): number | R {
    const { limiter, now } = this.chargeParts
    const granted = limiter.acquireBatch(this.principal, { calls, atOnce }, now)
    if (typeof granted !== 'number') return this.refuse(granted)
    this.atOnce = granted
    this.charged = calls
    return granted
  }

  chargeReply(requests: number): void {
    if (requests <= this.charged) return
    const { limiter, now } = this.chargeParts
    limiter.chargeReply(this.principal, { from: this.charged, to: requests }, now)
    this.charged = requests
  }

  acquireMore(requests: number): R | undefined {
    const { limiter, now } = this.chargeParts
    const exceeded = limiter.acquireMore(this.principal, requests, now)
    return exceeded && this.refuse(exceeded)
  }

  onCall({ method = NO_METHOD, outcome, elapsedMs }: Partial<AnsweredCall> = {}): void {
    const error = outcome && errorOf(outcome)
    const failure = error && failureOf(error, () => this.address())
    this.principal.meter.addCall(method, { failure, elapsedMs }, this.chargeParts.now())
  }

  /** The client's address: formatting it costs more than the rest. */
  protected abstract address(): string

  /** The refusal of a batch or of a long message. */
  protected abstract refuse(exceeded: LimitRefusal): R
}
