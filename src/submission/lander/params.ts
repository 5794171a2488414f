import { RpcError } from '../../shared/errors.js'
import { formatEcho, formatType } from '../../shared/format-type.js'
import type { Params } from '../../shared/jsonrpc.js'
import { isAbsent, toMap, toText, wrongType } from '../../shared/values.js'
import { base64Chars, canonicalBase64Bytes } from '../base64.js'

/** The largest transaction of any version. */
export const LANDER_TRANSACTION_BYTES_MAX = 4_096
/** Transactions of `/lander-submit-bundle`. */
const BUNDLE_COUNT_MAX = 4

/**
 * What is sent, and options of which only the encoding counts: others are the upstream's business.
 */
const toPair = (params: Params): readonly [unknown, unknown] => {
  if (!Array.isArray(params)) throw new RpcError('paramsNotArray')
  const values: readonly unknown[] = params
  if (values.length > 2)
    throw new RpcError('paramCount', { min: 1, max: 2 }, `"Got: ${values.length}"`)
  if (values.length === 0) throw new RpcError('missingParam', { index: 0 })
  return [values[0], values[1]]
}

const checkOptions = (value: unknown): void => {
  if (isAbsent(value)) return
  const { encoding } = toMap(value, 1)
  if (isAbsent(encoding) || encoding === 'base64') return
  const text = typeof encoding === 'object' ? formatType(encoding) : String(encoding)
  throw new RpcError('unsupportedEncoding', { value: formatEcho(text) })
}

const checkTransaction = (text: string, index: number): void => {
  const isTooLong = text.length > base64Chars(LANDER_TRANSACTION_BYTES_MAX)
  const byteCount = isTooLong ? Infinity : canonicalBase64Bytes(text)
  if (byteCount === undefined) throw new RpcError('transactionBase64', { index })
  if (byteCount > LANDER_TRANSACTION_BYTES_MAX)
    throw new RpcError('transactionSize', { index, max: LANDER_TRANSACTION_BYTES_MAX })
}

/** The transaction of `sendTransaction`, as a list of one. */
export const toSingle = (params: Params): readonly string[] => {
  const [transaction, options] = toPair(params)
  const text = toText(transaction, 0)
  checkOptions(options)
  checkTransaction(text, 0)
  return [text]
}

/** The transactions of `sendBundle`. */
export const toBundle = (params: Params): readonly string[] => {
  const [transactions, options] = toPair(params)
  if (!Array.isArray(transactions)) throw wrongType(transactions, 0, 'a sequence')
  const values: readonly unknown[] = transactions
  if (values.length === 0) throw new RpcError('bundleEmpty')
  if (values.length > BUNDLE_COUNT_MAX)
    throw new RpcError('bundleTooLong', { max: BUNDLE_COUNT_MAX })
  const texts = values.map(value => toText(value, 0))
  checkOptions(options)
  for (const [index, text] of texts.entries()) checkTransaction(text, index)
  return texts
}
