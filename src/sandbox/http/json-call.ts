import { type Call, isBatch, isRefusal, parseMessage } from '../../shared/jsonrpc.js'
import type { UpstreamAnswer } from './upstream-request.js'

/** No valid request of an upstream is nested deeper. */
const LIMITS = { batchCountMax: 1, nestingMax: 16 }
const JSON_TYPE = 'application/json'

/** One JSON-RPC call with its id as received. */
export type JsonCall = {
  readonly id: string
  readonly method: string
  readonly params: readonly unknown[]
}

/** A failure of an upstream: HTTP status, and the JSON-RPC error. */
export type Failure = { readonly status: number; readonly code: number; readonly message: string }

export const answerResult = (
  id: string,
  result: unknown,
  headers?: Readonly<Record<string, string>>,
): UpstreamAnswer => ({
  status: 200,
  contentType: JSON_TYPE,
  body: `{"jsonrpc":"2.0","result":${JSON.stringify(result)},"id":${id}}`,
  ...(headers === undefined ? {} : { headers }),
})

/** With a null `data` member, as at the real upstreams. */
export const answerFailure = (id: string, { status, code, message }: Failure): UpstreamAnswer => ({
  status,
  contentType: JSON_TYPE,
  body: `{"jsonrpc":"2.0","error":${JSON.stringify({ code, message, data: null })},"id":${id}}`,
})

const isCall = (message: ReturnType<typeof parseMessage>): message is Call =>
  !isBatch(message) && !isRefusal(message)

/** The call in a body, or the answer to an invalid body. A missing id becomes null. */
export const parseJsonCall = (body: Buffer): JsonCall | UpstreamAnswer => {
  const message = parseMessage(body, LIMITS)
  if (isCall(message)) {
    const { id = 'null', method, params } = message
    return { id, method, params: Array.isArray(params) ? params : [] }
  }
  if (isBatch(message))
    return answerFailure('null', { status: 400, code: -32600, message: 'Invalid request' })
  const { id, error } = message
  return answerFailure(id, { status: 400, code: error.row.code ?? -32600, message: error.message })
}

export const isAnswer = (call: JsonCall | UpstreamAnswer): call is UpstreamAnswer =>
  'status' in call
