import type { Principal } from '../../access/limiter/usage-limiter.js'
import type { CallFailure } from '../../access/usage/meter.js'
import type { Grant } from '../../shared/grant.js'
import type { Reply } from '../../shared/http.js'
import type { Log } from '../../shared/log.js'
import type { Failure, SubmissionReply } from '../../submission/failure.js'
import type { Lander } from '../../submission/lander/lander.js'
import type { LanderRecorder } from '../../submission/lander/recorder.js'
import type { Relay } from '../../submission/relay/relay.js'
import type { LanderRoute, RelayRoute } from '../../submission/store/submission.js'
import { failureOf } from '../admission.js'

/** What one network offers on the submission routes. */
export type NetworkSubmission = {
  readonly lander: Lander | undefined
  readonly relay: (route: RelayRoute) => Relay | undefined
}

export type SubmissionsParts = {
  readonly location: string
  readonly networks: ReadonlyMap<string, NetworkSubmission>
  readonly newSubmissionId: () => Uint8Array
  /** Undefined where requests of the lander routes are not recorded. */
  readonly landerRecorder?: Pick<LanderRecorder, 'begin'> | undefined
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

/** How a submission is counted that failed. A reply without a failure is the service's own. */
const toCallFailure = (
  { status, body }: Reply,
  failure: Failure,
  addressOf: () => string,
): CallFailure | undefined => {
  if (failure !== undefined) return failureOf(failure, addressOf)
  if (status < 400) return undefined
  const text = typeof body === 'string' ? `: ${body}` : ''
  return { code: status, text: `HTTP ${status}${text}`, origin: 'service', addressOf }
}

/** Submissions at one location, however they arrive. Each is logged, and counted in its usage. */
export class Submissions {
  readonly newSubmissionId: () => Uint8Array
  private readonly parts: SubmissionsParts
  private readonly isLogged: boolean

  constructor(parts: SubmissionsParts) {
    this.parts = parts
    this.newSubmissionId = parts.newSubmissionId
    this.isLogged = parts.log.isLevelEnabled('debug')
  }

  landerOf({ network }: Grant): Lander | undefined {
    return this.parts.networks.get(network)?.lander
  }

  relayOf({ network }: Grant, route: RelayRoute): Relay | undefined {
    return this.parts.networks.get(network)?.relay(route)
  }

  /** Answers one whole body, which is copied before this returns. */
  submit(
    lander: Lander,
    route: LanderRoute,
    submitter: Submitter,
    body: Uint8Array,
  ): Reply | Promise<Reply> {
    this.logRequest(route, submitter, body)
    const { grant, recheck } = submitter
    const startMs = performance.now()
    const refused = recheck()
    if (refused !== undefined) return refused
    const trace = this.parts.landerRecorder?.begin(route, grant)
    return this.count(route, submitter, lander.submit(route, body, recheck, trace), startMs)
  }

  /** Answers one whole body, whose method has a prefix. The body is not kept. */
  relay(
    relay: Relay,
    route: RelayRoute,
    submitter: Submitter,
    body: Uint8Array,
    methodPrefix = '',
  ): Reply | Promise<Reply> {
    this.logRequest(route, submitter, body)
    const origin = { ...submitter, submissionId: this.newSubmissionId() }
    const startMs = performance.now()
    return this.count(route, submitter, relay.handle(body, origin, methodPrefix), startMs)
  }

  private count(
    route: string,
    submitter: Submitter,
    answered: SubmissionReply | Promise<SubmissionReply>,
    startMs: number,
  ): Reply | Promise<Reply> {
    if (answered instanceof Promise)
      return answered.then(settled => this.count(route, submitter, settled, startMs))
    const elapsedMs = performance.now() - startMs
    const { grant, principal, request } = submitter
    const { reply, failure: found } = answered
    const add = (error: Failure): void => {
      const failure = toCallFailure(reply, error, () => request.address)
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
