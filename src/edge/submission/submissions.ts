import type { TransactionChecks } from '../../native/transactions.js'
import type { Principal } from '../../access/limiter/usage-limiter.js'
import type { CallFailure, CallSource } from '../../usage/calls.js'
import type { Grant } from '../../shared/grant.js'
import type { Reply } from '../../shared/http.js'
import type { Log } from '../../shared/log.js'
import type { Failure, SubmissionReply } from '../../submission/failure.js'
import type { RaceForm } from '../../submission/lander/lander-types.js'
import type { SendEncoding } from '../../submission/lander/send-params.js'
import type { SubmissionRoute } from '../../submission/store/submission.js'
import type { SenderClient } from '../../submission/link/sender-client.js'
import type { UpstreamModules } from '../../upstream/named-upstream.js'
import { failureOf, type failureReply } from '../admission.js'

/** How a body is read. */
export type SubmissionForm = {
  /** Before the name of a method, of a relay route. */
  readonly methodPrefix?: string
  /** Of the transaction, of `/send` and `/race`. */
  readonly encoding?: SendEncoding
  readonly race?: RaceForm
}

/** Handles the submissions of one route of one network. */
export type SubmissionHandler = {
  readonly route: SubmissionRoute
  /** Handles one whole body, which is not kept. */
  handle(
    body: Uint8Array,
    submitter: Submitter,
    form: SubmissionForm,
  ): SubmissionReply | Promise<SubmissionReply>
}

export type SubmissionModules = UpstreamModules & {
  /** Value of accessVersion, NaN once the lease has expired. */
  readonly version: () => number
}

/** What the routes of an edge share. */
export type RouteModules = SubmissionModules & {
  readonly sender: SenderClient
  readonly noSender: ReturnType<typeof failureReply>
  readonly newId: () => Uint8Array
  /** `bootMs`. */
  readonly clock: () => number
}

/** Routes of one network that share their checks. */
export type OpenRoutes = {
  readonly network: string
  readonly handlers: readonly SubmissionHandler[]
  /** The checks of all networks share one pool. */
  readonly checks: TransactionChecks
}

export type SubmissionsParts = {
  readonly location: string
  /** By network. */
  readonly handlers: ReadonlyMap<string, readonly SubmissionHandler[]>
  /** Networks whose transactions are raced that come by no request. */
  readonly raced: ReadonlySet<string>
  readonly newId: () => Uint8Array
  /** Unix milliseconds. */
  readonly now: () => number
  /** Called for each answer of an upstream that is an error. */
  readonly onUpstreamError?: ((network: string, route: string) => void) | undefined
  /** Level debug writes a line for each request: ids, never the token. */
  readonly log: Log
}

/** An admitted client that submits, by a request or by a message of its WebSocket. */
export type Submitter = {
  readonly grant: Grant
  readonly principal: Principal
  /** The refusal where its access has ended meanwhile. */
  readonly recheck: () => Reply | undefined
  /** Of the request in log lines. */
  readonly request: { readonly id: string; readonly address: string }
}

/** A request that was admitted, before its body arrives. */
export type AdmittedSubmission = Submitter & { readonly handler: SubmissionHandler }

/** How a submission is counted that failed. A reply without a failure is the service's own. */
const toCallFailure = (
  { status, body }: Reply,
  failure: Failure,
  toSource: () => CallSource,
): CallFailure | undefined => {
  if (failure !== undefined) return failureOf(failure, toSource())
  if (status < 400) return undefined
  const text = typeof body === 'string' ? `: ${body}` : ''
  return { code: status, text: `HTTP ${status}${text}`, origin: 'service', source: toSource() }
}

/** Submissions at one location, however they arrive. Each is logged, and counted in its usage. */
export class Submissions {
  readonly newId: () => Uint8Array
  private readonly parts: SubmissionsParts
  private readonly isLogged: boolean

  constructor(parts: SubmissionsParts) {
    this.parts = parts
    this.newId = parts.newId
    this.isLogged = parts.log.isLevelEnabled('debug')
  }

  /** Undefined where the network of a grant has no such route. */
  handlerOf({ network }: Grant, route: SubmissionRoute): SubmissionHandler | undefined {
    return this.parts.handlers.get(network)?.find(handler => handler.route === route)
  }

  /**
   * The route of transactions that come by no request: as binary messages, and over QUIC. Undefined
   * where the network of a grant has none.
   */
  transactionHandlerOf(grant: Grant): SubmissionHandler | undefined {
    return this.handlerOf(grant, this.isRaced(grant) ? '/race' : '/send')
  }

  /** Whether these are raced, so that protection can be asked for. */
  isRaced({ network }: Grant): boolean {
    return this.parts.raced.has(network)
  }

  submit(
    handler: SubmissionHandler,
    submitter: Submitter,
    body: Uint8Array,
    form: SubmissionForm = {},
  ): Reply | Promise<Reply> {
    this.logRequest(handler.route, submitter, body)
    const startMs = performance.now()
    const handled = handler.handle(body, submitter, form)
    return this.count(handler.route, submitter, handled, { startMs, bytes: body.byteLength })
  }

  private count(
    route: string,
    submitter: Submitter,
    handled: SubmissionReply | Promise<SubmissionReply>,
    received: { readonly startMs: number; readonly bytes: number },
  ): Reply | Promise<Reply> {
    if (handled instanceof Promise)
      return handled.then(settled => this.count(route, submitter, settled, received))
    const elapsedMs = performance.now() - received.startMs
    const { grant, principal, request } = submitter
    const { reply, failure: found, isRepeat = false } = handled
    if (isRepeat) return reply
    const add = (error: Failure): void => {
      const { bytes } = received
      const toSource = () => ({ id: request.id, address: request.address, bytes })
      const failure = toCallFailure(reply, error, toSource)
      principal.meter.addCall(route, { failure, elapsedMs }, this.parts.now())
      if (failure?.origin === 'upstream') this.parts.onUpstreamError?.(grant.network, route)
    }
    if (found instanceof Promise) void found.then(add)
    else add(found)
    return reply
  }

  private logRequest(route: string, { grant, request }: Submitter, body: Uint8Array): void {
    if (!this.isLogged) return
    const { location, log } = this.parts
    const { tokenId, network } = grant
    const bytes = body.byteLength
    log.debug({ requestId: request.id, tokenId, location, network, route, bytes }, 'submission')
  }
}
