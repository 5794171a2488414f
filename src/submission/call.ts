import { RpcError } from '../shared/errors.js'
import {
  isBatch,
  isRefusal,
  parseScanned,
  scanMessage,
  type Id,
  type Params,
  type Refusal,
} from '../shared/jsonrpc.js'
import { hasRepeatedMember } from './repeated-members.js'
import { parseJson } from '../shared/values.js'

/** The one call of a submission route. */
export type SubmissionCall = { readonly id: Id; readonly method: string; readonly params: Params }

const INVALID = new RpcError('invalidRequest')
const refuse = (id: Id): Refusal => ({ id, error: INVALID })

/** True for JSON that is an array. */
const isArrayJson = (text: string): boolean =>
  /^[\t\n\r ]*\[/.test(text) && Array.isArray(parseJson(text))

/**
 * Reads the one call of a submission route. An array and a call without an id are -32600. So is one
 * with a repeated member, at any depth: JSON does not define which one counts, and the upstream may
 * use the other one.
 */
export const parseSubmission = (body: Uint8Array, nestingMax: number): SubmissionCall | Refusal => {
  const scanned = scanMessage(body, { nestingMax, batchCountMax: Infinity })
  if ('error' in scanned)
    return isArrayJson(Buffer.from(body).toString()) ? refuse('null') : scanned
  const { text } = scanned
  const message = parseScanned(scanned)
  if (isBatch(message)) return refuse('null')
  if (isRefusal(message)) return isArrayJson(text) ? refuse('null') : message
  const { id, method, params } = message
  if (id === undefined) return refuse('null')
  return hasRepeatedMember(text) ? refuse(id) : { id, method, params }
}
