import { RpcError } from '../../shared/errors.js'
import type { Reply } from '../../shared/http.js'
import {
  formatError,
  formatResultSuffix,
  isRefusal,
  RESULT_PREFIX,
  type Id,
} from '../../shared/jsonrpc.js'
import { toBundleIds, toNothing, toSubmissionId } from './bundle.js'
import { parseSubmission, type SubmissionCall } from '../call.js'
import { createEngine } from './engine.js'
import type { Answer, Outcome, RelayModules, RelayOptions, RelayOrigin } from './relay-types.js'
import { BundleSender } from './send-bundle.js'
import { formatId } from '../store/submission-id.js'

/** One relay route of one network. */
export type Relay = {
  /** Never rejects. `body` is not kept. */
  handle(body: Uint8Array, origin: RelayOrigin): Promise<Reply>
}

/** On every answer of a relay route, whoever gives it. */
export const submissionHeaders = (submissionId: Uint8Array): Readonly<Record<string, string>> => ({
  'X-Relay-Submission-ID': formatId(submissionId),
})

/** Far over what any call of ours needs. */
const NESTING_MAX = 32
const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Methods that only `/relay-bundle` has: the engine of the other knows bundles by no
 * id.
 */
const STATUS_METHODS: ReadonlySet<string> = new Set([
  'getBundleStatuses',
  'getInflightBundleStatuses',
])

const formatOutcome = (id: Id, outcome: Exclude<Outcome, { reply: Reply }>): string => {
  if (outcome instanceof RpcError) return formatError(id, outcome)
  if ('error' in outcome) return `{"jsonrpc":"2.0","error":${outcome.error},"id":${id}}`
  return `${RESULT_PREFIX}${outcome.result}${formatResultSuffix(id)}`
}

const toValue = (json: string | null): unknown => (json === null ? null : JSON.parse(json))

const nameOf = (outcome: Outcome) =>
  outcome instanceof RpcError ? outcome.name : 'error' in outcome ? 'refused' : 'ok'

export const createRelay = (options: RelayOptions, modules: RelayModules): Relay => {
  const { route, engineTipAccounts, serviceTipAccounts } = options
  const { bucket, store, meter, log } = modules
  const engine = createEngine(options, modules)
  const sender = new BundleSender(options, engine, modules)
  const tipAccounts = { result: JSON.stringify(engineTipAccounts) }
  const tipConfig = {
    result: JSON.stringify({
      serviceTipAccounts,
      serviceTipFloorLamports: options.serviceTipFloorLamports,
      bundleEngineTipAccounts: engineTipAccounts,
      bundleEngineTipFloorLamports: options.engineTipFloorLamports,
    }),
  }
  // A query may not take what would be the next bundle's, where more than one may go.
  const reserve = 1

  const askStatuses = async ({ method, params, id }: SubmissionCall): Promise<Answer> => {
    const bundleIds = toBundleIds(params)
    if (!bucket.take(reserve)) throw new RpcError('engineFull')
    return { outcome: { reply: await engine.askStatuses(method, bundleIds, id) } }
  }

  const getSubmission = async (
    { params }: SubmissionCall,
    { grant, recheck }: RelayOrigin,
  ): Promise<Answer> => {
    const id = toSubmissionId(params)
    const found = await store.find(id)
    const refused = recheck()
    if (refused !== undefined) return { outcome: { reply: refused } }
    if (found?.accessId !== grant.accessId || found.network !== grant.network)
      return { outcome: { result: 'null' } }
    const { accessId: _accessId, tokenId: _tokenId, result, error, ...rest } = found
    const parsed = { result: toValue(result), error: toValue(error) }
    const submission = { submissionId: formatId(id), ...rest, ...parsed }
    return { outcome: { result: JSON.stringify(submission) } }
  }

  const answer = async (call: SubmissionCall, origin: RelayOrigin): Promise<Answer> => {
    const { method, params } = call
    if (method === 'sendBundle') return sender.send(params, origin)
    if (route === '/relay-bundle' && STATUS_METHODS.has(method)) return askStatuses(call)
    if (method === 'getSubmission') return getSubmission(call, origin)
    if (method !== 'getTipAccounts' && method !== 'getServiceTipConfig')
      throw new RpcError('methodNotFound')
    toNothing(params)
    return { outcome: method === 'getTipAccounts' ? tipAccounts : tipConfig }
  }

  const settle = async (answering: Promise<Answer>, origin: RelayOrigin): Promise<Answer> => {
    try {
      return await answering
    } catch (error) {
      if (error instanceof RpcError && error.row.code !== undefined) return { outcome: error }
      const { tokenId } = origin.grant
      const submissionId = formatId(origin.submissionId)
      log.error(
        { err: error, requestId: origin.request.id, tokenId, submissionId },
        'a relay call failed',
      )
      return { outcome: new RpcError('internal') }
    }
  }

  const toReply = (id: Id, { outcome, bundleId }: Answer, origin: RelayOrigin): Reply => {
    const { submissionId } = origin
    const headers = {
      ...submissionHeaders(submissionId),
      ...(bundleId !== undefined && { 'X-Bundle-ID': bundleId }),
    }
    if ('reply' in outcome)
      return { ...outcome.reply, headers: { ...outcome.reply.headers, ...headers } }
    const own = outcome instanceof RpcError ? outcome.row.headers : undefined
    const body = formatOutcome(id, outcome)
    return { status: 200, contentType: JSON_TYPE, body, headers: { ...own, ...headers } }
  }

  return {
    async handle(body, origin) {
      const refused = origin.recheck()
      if (refused !== undefined) return toReply('null', { outcome: { reply: refused } }, origin)
      const call = parseSubmission(body, NESTING_MAX)
      const isCall = !isRefusal(call)
      const answered = isCall ? await settle(answer(call, origin), origin) : { outcome: call.error }
      const { outcome } = answered
      const isUnknown = outcome instanceof RpcError && outcome.name === 'methodNotFound'
      meter.onCall(isCall ? (isUnknown ? 'unknown' : call.method) : 'none', nameOf(outcome))
      return toReply(call.id, answered, origin)
    },
  }
}
