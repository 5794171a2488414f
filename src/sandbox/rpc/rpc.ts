import { type Call, isBatch, isRefusal, parseMessage, type Refusal } from '../../shared/jsonrpc.js'
import type { Chain } from '../chain/chain.js'
import { type DevUpstream, type DevUpstreamOptions, openDevUpstream } from '../http/dev-upstream.js'
import type { UpstreamAnswer } from '../http/upstream-request.js'
import { defaults as historyDefaults, History } from '../chain/history.js'
import { RpcFailure } from './failure.js'
import { RPC_METHODS, type RpcContext } from './methods.js'
import { toJson } from './to-json.js'

/** Options of the chain's own RPC. */
export const defaults = {
  ...historyDefaults,
  /** Calls of a batch: getTransaction for each signature of one page. */
  batchCountMax: 1_000,
  nestingMax: 32,
  /** Methods that the server does not know: a server of Agave 4.2 lacks getAgGenesisCert. */
  unserved: [] as readonly string[],
}
export type RpcOptions = typeof defaults & Partial<DevUpstreamOptions>

const METHOD_NOT_FOUND = -32601
const INTERNAL = -32603

const formatFailure = (id: string, error: object): string =>
  `{"jsonrpc":"2.0","error":${toJson(error)},"id":${id}}`

const answerCall = (
  context: RpcContext,
  call: Call | Refusal,
  unserved: readonly string[],
): string => {
  const id = call.id ?? 'null'
  if (isRefusal(call)) {
    const { row, message, data } = call.error
    return formatFailure(id, { code: row.code, message, data })
  }
  const isServed = Object.hasOwn(RPC_METHODS, call.method) && !unserved.includes(call.method)
  const method = isServed ? RPC_METHODS[call.method] : undefined
  if (method === undefined)
    return formatFailure(id, { code: METHOD_NOT_FOUND, message: 'Method not found' })
  try {
    const result = method(context, Array.isArray(call.params) ? call.params : [])
    return `{"jsonrpc":"2.0","result":${toJson(result)},"id":${id}}`
  } catch (error) {
    if (error instanceof RpcFailure) {
      const { code, message, data } = error
      return formatFailure(id, { code, message, data })
    }
    // For example an airdrop of more than the faucet owns.
    return formatFailure(id, { code: INTERNAL, message: `Internal error: ${String(error)}` })
  }
}

/**
 * The dev chain's own JSON-RPC, for methods that an account index cannot answer. Open it before the
 * chain starts: its history begins with the first block that it sees.
 */
export const openRpc = async (
  chain: Chain,
  options: Partial<RpcOptions> = {},
): Promise<DevUpstream> => {
  const limits = { ...defaults, ...options }
  const history = new History(chain, limits)
  const context = { chain, history }
  const answer = (call: Call | Refusal): string => answerCall(context, call, limits.unserved)
  const json = (body: string): UpstreamAnswer => ({
    status: 200,
    contentType: 'application/json; charset=utf-8',
    body,
  })
  const upstream = await openDevUpstream(limits, ({ method, body }) => {
    // Health checks use any path.
    if (method === 'GET') return { status: 200, contentType: 'text/plain', body: 'ok' }
    const message = parseMessage(body, limits)
    return isBatch(message) ? json(`[${message.map(answer).join()}]`) : json(answer(message))
  })
  return {
    ...upstream,
    async close() {
      history.close()
      await upstream.close()
    },
  }
}
