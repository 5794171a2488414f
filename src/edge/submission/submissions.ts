import type { Principal } from '../../access/limiter/usage-limiter.js'
import type { CallFailure } from '../../access/usage/meter.js'
import { findAnswerError, type AnswerError } from '../../native/upstream/answer.js'
import type { RpcError } from '../../shared/errors.js'
import type { Grant } from '../../shared/grant.js'
import type { Reply } from '../../shared/http.js'
import type { Log } from '../../shared/log.js'
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

/** Bytes of an answer without an error that are kept as its reason. */
const REASON_BYTES_MAX = 512

const textOf = (body: string | Uint8Array): string =>
  typeof body === 'string'
    ? body.slice(0, REASON_BYTES_MAX)
    : Buffer.from(body.subarray(0, REASON_BYTES_MAX)).toString()

/** How a reply of the service is counted that is an error. */
const failureOfRefusal = (error: RpcError, addressOf: () => string): CallFailure => {
  const failure = failureOf(error, addressOf)
  const { body } = Object(error.data) as { readonly body?: unknown }
  // The error stands in the place of what the upstream answered.
  return typeof body === 'string'
    ? { ...failure, text: `${failure.text}: ${body}`, origin: 'upstream' }
    : failure
}

/**
 * How a reply is counted, where it is a failure. The body of an upstream's answer is bytes, a text
 * is the service's own.
 */
const failureOfReply = (
  reply: Reply,
  { request }: Submitter,
): CallFailure | undefined | Promise<CallFailure | undefined> => {
  const addressOf = (): string => request.address
  if (reply.refusal !== undefined) return failureOfRefusal(reply.refusal, addressOf)
  const error = reply.body instanceof Uint8Array ? findAnswerError(reply.body) : undefined
  return error instanceof Promise
    ? error.then(found => failureOfAnswer(reply, found, addressOf))
    : failureOfAnswer(reply, error, addressOf)
}

const failureOfAnswer = (
  { status, body }: Reply,
  error: AnswerError | undefined,
  addressOf: () => string,
): CallFailure | undefined => {
  const { code = 0, message = '' } = error ?? {}
  if (error === undefined && status < 400) return undefined
  const isBytes = body instanceof Uint8Array
  const text = isBytes || typeof body === 'string' ? textOf(body).trim() : ''
  return {
    code: code === 0 && status >= 400 ? status : code,
    text: message !== '' ? message : text === '' ? `HTTP ${status}` : `HTTP ${status}: ${text}`,
    origin: isBytes ? 'upstream' : 'service',
    addressOf,
  }
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
    reply: Reply | Promise<Reply>,
    startMs: number,
  ): Reply | Promise<Reply> {
    if (reply instanceof Promise)
      return reply.then(settled => this.count(route, submitter, settled, startMs))
    const elapsedMs = performance.now() - startMs
    const { grant, principal } = submitter
    const add = (failure: CallFailure | undefined): void => {
      principal.meter.addCall(route, { failure, elapsedMs }, this.parts.now())
      if (failure?.origin === 'upstream') this.parts.onUpstreamError?.(grant.network, route)
    }
    const failure = failureOfReply(reply, submitter)
    if (failure instanceof Promise) void failure.then(add)
    else add(failure)
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
