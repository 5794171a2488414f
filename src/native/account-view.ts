import { RpcError } from '../shared/errors.js'
import { formatEcho, formatType } from '../shared/format-type.js'
import { isAbsent, isCount, isMap, toCount } from '../shared/values.js'

/** Encodings of account data, by the addon's numbers. */
export const ENCODINGS = { base64: 0, base58: 1, 'base64+zstd': 2, jsonParsed: 3 } as const
export type Encoding = keyof typeof ENCODINGS

/** Part of an account's data; `undefined` is the whole. */
export type DataSlice = { readonly offset: number; readonly length: number }

/** Encoding of account data; default base64 (contract: account-encodings). */
export const toEncoding = (value: unknown): Encoding => {
  if (isAbsent(value)) return 'base64'
  if (isEncoding(value)) return value
  const text = typeof value === 'object' ? formatType(value) : String(value)
  throw new RpcError('unsupportedEncoding', { value: formatEcho(text) })
}

const isEncoding = (value: unknown): value is Encoding =>
  typeof value === 'string' && Object.hasOwn(ENCODINGS, value)

/** Slice of an account's data, or undefined for the whole. */
export const toDataSlice = (value: unknown, encoding: Encoding): DataSlice | undefined => {
  if (isAbsent(value)) return undefined
  if (!isMap(value)) throw new RpcError('dataSlice')
  const { offset, length } = value
  if (!isCount(offset) || !isCount(length)) throw new RpcError('dataSlice')
  // Ignored with jsonParsed, including accounts that fall back to base64.
  if (encoding === 'jsonParsed') return undefined
  return { offset: toCount(offset), length: toCount(length) }
}
