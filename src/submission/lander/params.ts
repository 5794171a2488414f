import { RpcError } from '../../shared/errors.js'
import { formatEcho, formatType } from '../../shared/format-type.js'
import type { Params } from '../../shared/jsonrpc.js'
import { checkParamCount, isAbsent, toMap, toText, wrongType } from '../../shared/values.js'

/** The largest transaction of any version. */
export const LANDER_TRANSACTION_BYTES_MAX = 4_096
/** Longer texts are not decoded. */
const TEXT_CHARS_MAX = Math.ceil(LANDER_TRANSACTION_BYTES_MAX / 3) * 4
/** Transactions of `/lander-submit-bundle`. */
export const BUNDLE_COUNT_MAX = 4

/**
 * What is sent, and options of which only the encoding counts: others are the upstream's business.
 */
export const toPair = (params: unknown): readonly [unknown, unknown] => {
  if (!Array.isArray(params)) throw new RpcError('paramsNotArray')
  const values: readonly unknown[] = params
  checkParamCount(values, { min: 1, max: 2 })
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

/** Throws for what is not the canonical base64 of a transaction that is not too long. */
export const checkTransaction = (text: string, index: number): void => {
  const bytes = text.length > TEXT_CHARS_MAX ? undefined : Buffer.from(text, 'base64')
  // Node's decoder accepts nearly any text.
  if (bytes !== undefined && bytes.toString('base64') !== text)
    throw new RpcError('transactionBase64', { index })
  if (bytes === undefined || bytes.length > LANDER_TRANSACTION_BYTES_MAX)
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
