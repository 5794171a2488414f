import { RpcError } from '../../shared/errors.js'
import type { Reply } from '../../shared/http.js'
import { formatEcho, formatType } from '../../shared/format-type.js'
import type { Id } from '../../shared/jsonrpc.js'
import { isAbsent, isMap, parseJson, toMap, toText, wrongType } from '../../shared/values.js'
import type { TransactionForm } from '../lander/lander-types.js'
import { toPair } from '../lander/params.js'
import type { SendEncoding } from '../lander/send-params.js'

/** The body of a race, and its form. */
export type RaceCall = Required<TransactionForm> & { readonly text: Buffer }

const toEncoding = (encoding: unknown): SendEncoding => {
  if (isAbsent(encoding)) return 'base64'
  if (encoding === 'base64' || encoding === 'base58') return encoding
  const text = typeof encoding === 'object' ? formatType(encoding) : String(encoding)
  throw new RpcError('unsupportedEncoding', { value: formatEcho(text) })
}

/** Protection is promised, so that a value that asks for it in another way is an error. */
const toProtected = (mevProtect: unknown): boolean => {
  if (isAbsent(mevProtect)) return false
  if (typeof mevProtect === 'boolean') return mevProtect
  throw wrongType(mevProtect, 1, 'a boolean for mevProtect')
}

/**
 * The transaction of a call whose form is known to be right: `[text, {encoding, mevProtect}]`.
 * Other options of `sendTransaction` are of a node. Throws RpcErrors.
 */
export const readRaceCall = (body: Uint8Array): RaceCall => {
  const call = parseJson(Buffer.from(body).toString())
  const [transaction, options] = toPair(isMap(call) ? call['params'] : undefined)
  const text = Buffer.from(toText(transaction, 0))
  const { encoding, mevProtect } = isAbsent(options) ? {} : toMap(options, 1)
  return {
    text,
    encoding: toEncoding(encoding),
    race: { isProtected: toProtected(mevProtect), isJson: false },
  }
}

/** Of a failure that has a status only. */
const CODE = -32_603

/** The reply of `/race` as that to a call. */
export const toRaceCallReply = (id: Id, { body, contentType, status, headers }: Reply): Reply => {
  const text = typeof body === 'string' ? body : ''
  const parsed = parseJson(text)
  const error = isMap(parsed) && isMap(parsed['error']) ? parsed['error'] : undefined
  const member =
    status === 200
      ? `"result":${JSON.stringify(text)}`
      : `"error":${JSON.stringify({ code: CODE, ...error })}`
  return {
    ...{ status, contentType },
    ...(headers !== undefined && { headers }),
    body: `{"jsonrpc":"2.0",${member},"id":${id}}`,
  }
}
