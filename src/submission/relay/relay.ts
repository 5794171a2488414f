import { RpcError } from '../../shared/errors.js'
import {
  formatError,
  formatResultSuffix,
  isRefusal,
  RESULT_PREFIX,
  type Id,
  type Params,
} from '../../shared/jsonrpc.js'
import { checkEmpty, toBundleIds, toSubmissionId } from './bundle.js'
import { parseSubmission, type SubmissionCall } from '../call.js'
import { failureOfAnswer, failureOfStored, type SubmissionReply } from '../failure.js'
import { UpstreamFailure } from '../../upstream/errors.js'
import { passOn } from '../../upstream/reply.js'
import { BundleChecks } from './check-bundle.js'
import type {
  CallOutcome,
  Outcome,
  RelayModules,
  RelayOptions,
  RelayOrigin,
} from './relay-types.js'
import { formatId } from '../store/submission-id.js'

/** The headers of every reply of a relay route. */
export const submissionHeaders = (submissionId: Uint8Array): Readonly<Record<string, string>> => ({
  'X-Relay-Submission-ID': formatId(submissionId),
})

/** Far above what any call needs. */
const NESTING_MAX = 32
const JSON_TYPE = 'application/json; charset=utf-8'

/** Methods of `/relay-bundle` alone: the engine of the other route has no bundle ids. */
const STATUS_METHODS: ReadonlySet<string> = new Set([
  'getBundleStatuses',
  'getInflightBundleStatuses',
])

/** The errors of status queries without an answer. */
const UNANSWERED = {
  full: 'overLimit',
  'no-response': 'engineNoResponse',
  unreachable: 'upstreamUnreachable',
} as const

/** One relay route of one network at an edge. */
export class Relay {
  private readonly options: RelayOptions
  private readonly modules: RelayModules
  private readonly bundles: BundleChecks

  constructor(options: RelayOptions, modules: RelayModules) {
    this.options = options
    this.modules = modules
    this.bundles = new BundleChecks(options, modules)
  }

  /** Never rejects. `body` is not kept; its method begins with the prefix. */
  async handle(body: Uint8Array, origin: RelayOrigin, methodPrefix = ''): Promise<SubmissionReply> {
    const refused = origin.recheck()
    if (refused !== undefined) return toReply('null', { outcome: { reply: refused } }, origin)
    const parsed = parseSubmission(body, NESTING_MAX)
    if (isRefusal(parsed)) {
      this.modules.onCall('none', parsed.error.name)
      return toReply(parsed.id, { outcome: parsed.error }, origin)
    }
    const call = { ...parsed, method: parsed.method.slice(methodPrefix.length) }
    const ended = await this.runOrFault(call, origin)
    const { outcome } = ended
    const isUnknown = outcome instanceof RpcError && outcome.name === 'methodNotFound'
    this.modules.onCall(isUnknown ? 'unknown' : call.method, nameOf(outcome))
    return toReply(call.id, ended, origin)
  }

  private async runOrFault(call: SubmissionCall, origin: RelayOrigin): Promise<CallOutcome> {
    try {
      return await this.run(call, origin)
    } catch (error) {
      if (error instanceof RpcError && error.row.code !== undefined) return { outcome: error }
      if (error instanceof UpstreamFailure) return { outcome: { reply: this.modules.noSender } }
      const { tokenId } = origin.grant
      const submissionId = formatId(origin.submissionId)
      const fields = { err: error, requestId: origin.request.id, tokenId, submissionId }
      this.modules.log.error(fields, 'a relay call failed')
      const bundleId =
        call.method === 'sendBundle' ? this.bundles.readBundleId(call.params) : undefined
      return { outcome: new RpcError('internal'), bundleId }
    }
  }

  private async run(call: SubmissionCall, origin: RelayOrigin): Promise<CallOutcome> {
    const { method, params } = call
    if (method === 'sendBundle') return this.bundles.send(params, origin)
    if (method === 'getSubmission') return this.getSubmission(params, origin)
    if (method === 'getTipAccounts') return toConstant(params, this.options.engineTipAccounts)
    if (method === 'getServiceTipConfig') return toConstant(params, this.getTipConfig())
    if (this.options.route === '/relay-bundle' && STATUS_METHODS.has(method))
      return this.askStatuses(call, origin)
    throw new RpcError('methodNotFound')
  }

  private async askStatuses(
    { method, params, id }: SubmissionCall,
    { grant: { accessId }, recheck }: RelayOrigin,
  ): Promise<CallOutcome> {
    const bundleIds = toBundleIds(params)
    const query = { method, bundleIds, id, accessId }
    const answer = await this.modules.sender.askStatuses(query)
    const refused = recheck()
    if (refused !== undefined) return { outcome: { reply: refused } }
    if (typeof answer === 'string') throw new RpcError(UNANSWERED[answer])
    return { outcome: { reply: passOn(answer), failure: failureOfAnswer(answer) } }
  }

  private async getSubmission(
    params: Params,
    { grant, recheck }: RelayOrigin,
  ): Promise<CallOutcome> {
    const id = toSubmissionId(params)
    const { accessId, network } = grant
    const query = { key: formatId(id), accessId, network }
    const found = (await this.modules.sender.find(query))?.submission
    const refused = recheck()
    if (refused !== undefined) return { outcome: { reply: refused } }
    if (found?.accessId !== grant.accessId || found.network !== grant.network)
      return { outcome: { result: 'null' } }
    const submission = {
      submissionId: formatId(id),
      network,
      location: found.location,
      route: found.route,
      bundleId: found.bundleId,
      signatures: found.signatures,
      receivedAtMs: found.receivedAtMs,
      checks: found.checks,
      forwardedAtMs: found.forwardedAtMs,
      answeredAtMs: found.answeredAtMs,
      outcome: found.outcome,
      engine: found.engine,
      result: parseJson(found.result),
      error: parseJson(found.error),
      // The other submission may be another customer's, and its id tells when it was made.
      joined: found.joined !== null,
    }
    return { outcome: { result: JSON.stringify(submission) } }
  }

  private getTipConfig(): object {
    const { serviceTipAccounts, engineTipAccounts } = this.options
    const { serviceTipFloorLamports, engineTipFloorLamports } = this.options
    return {
      serviceTipAccounts,
      serviceTipFloorLamports,
      bundleEngineTipAccounts: engineTipAccounts,
      bundleEngineTipFloorLamports: engineTipFloorLamports,
    }
  }
}

/** The outcome of a method without parameters. */
const toConstant = (params: Params, value: object): CallOutcome => {
  checkEmpty(params)
  return { outcome: { result: JSON.stringify(value) } }
}

const toReply = (
  id: Id,
  { outcome, bundleId }: CallOutcome,
  { submissionId }: RelayOrigin,
): SubmissionReply => {
  const headers = {
    ...submissionHeaders(submissionId),
    ...(bundleId !== undefined && { 'X-Bundle-ID': bundleId }),
  }
  const withBody = (body: string) => ({ status: 200, contentType: JSON_TYPE, body, headers })
  if ('reply' in outcome) {
    const { reply, failure } = outcome
    return { reply: { ...reply, headers: { ...reply.headers, ...headers } }, failure }
  }
  if (outcome instanceof RpcError) {
    const all = { ...outcome.row.headers, ...headers }
    return { reply: { ...withBody(formatError(id, outcome)), headers: all }, failure: outcome }
  }
  if ('result' in outcome)
    return { reply: withBody(`${RESULT_PREFIX}${outcome.result}${formatResultSuffix(id)}`) }
  const { error } = outcome
  return {
    reply: withBody(`{"jsonrpc":"2.0","error":${error},"id":${id}}`),
    failure: failureOfStored(error),
  }
}

const parseJson = (json: string | null): unknown => (json === null ? null : JSON.parse(json))

const nameOf = (outcome: Outcome) =>
  outcome instanceof RpcError ? outcome.name : 'error' in outcome ? 'refused' : 'ok'
