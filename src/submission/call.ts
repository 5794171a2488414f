import { RpcError } from '../shared/errors.js'
import { COMMA, END, JsonScanner } from '../shared/json-scanner.js'
import {
  isBatch,
  isRefusal,
  parseMessage,
  type Id,
  type Params,
  type Refusal,
} from '../shared/jsonrpc.js'

/** The one call of a submission route. */
export type SubmissionCall = { readonly id: Id; readonly method: string; readonly params: Params }

const INVALID = new RpcError('invalidRequest')
const refuse = (id: Id): Refusal => ({ id, error: INVALID })

/** Members of the object that a text is; the text is known to be JSON. */
const countMembers = (text: string): number => {
  const scanner = new JsonScanner(text)
  let count = 1
  for (let token = scanner.next(); token !== END; token = scanner.next())
    if (token === COMMA && scanner.depth === 1) count++
  return count
}

/** True for JSON that is an array. */
const isArrayJson = (text: string): boolean => {
  try {
    return /^[\t\n\r ]*\[/.test(text) && Array.isArray(JSON.parse(text))
  } catch {
    return false
  }
}

/**
 * Reads the one call of a submission route. An array and a call without an id are -32600. So is one
 * that has a member twice: the upstream gets the same bytes and may read the other one.
 */
export const parseSubmission = (body: Uint8Array, nestingMax: number): SubmissionCall | Refusal => {
  const message = parseMessage(body, { nestingMax, batchCountMax: Infinity })
  const toText = (): string =>
    Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
  if (isBatch(message)) return refuse('null')
  if (isRefusal(message)) return isArrayJson(toText()) ? refuse('null') : message
  const { id, method, params } = message
  if (id === undefined) return refuse('null')
  // Version, id, method and parameters. Without the last a double one is not seen, and nothing is
  // forwarded.
  if (countMembers(toText()) > 4) return refuse(id)
  return { id, method, params }
}
