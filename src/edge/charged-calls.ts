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
  /** The newest slot that is served. */
  abstract readonly slot: number | undefined
  readonly principal: Principal
  /** Calls that are charged as in flight. */
  atOnce = 1
  /** Length of the request or message. */
  bytes: number | undefined
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
    const granted = limiter.acquireBatch(this.principal, { calls, atOnce }, now, this)
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
    const exceeded = limiter.acquireMore(this.principal, requests, now, this)
    return exceeded && this.refuse(exceeded)
  }

  onCall({ method = NO_METHOD, outcome, elapsedMs, params }: Partial<AnsweredCall> = {}): void {
    const error = outcome && errorOf(outcome)
    const { meter, grant } = this.principal
    const nowMs = this.chargeParts.now()
    const failure = error && failureOf(error, this)
    const keepsParams = nowMs < (grant.paramsUntilMs ?? 0) && params !== undefined
    const failed = failure && keepsParams ? { ...failure, params } : failure
    meter.addCall(method, { failure: failed, elapsedMs }, nowMs)
  }

  /** Of the client: formatting it costs more than the rest, so it is read only if it is needed. */
  abstract readonly address: string

  /** The refusal of a batch or of a long message. */
  protected abstract refuse(exceeded: LimitRefusal): R
}
