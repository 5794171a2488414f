import { RpcError } from '../shared/errors.js'
import { decodeMemcmp, decodePubkey } from '../native/encoding.js'
import {
  checkParamCount,
  isAbsent,
  isCount,
  toMap,
  toText,
  wrongType,
  type Members,
} from '../shared/values.js'

/** Bytes of a signature, and the longest base58 text of them. */
const SIGNATURE_BYTES = 64
const SIGNATURE_CHARS_MAX = 88
/** Characters of a commitment that are part of a subscription's key. */
const COMMITMENT_CHARS_MAX = 32

const NO_MEMBERS: Members = {}

/** Checks the number of parameters, with the same errors as the HTTP methods. */
export const checkCount = (params: readonly unknown[], min: number, max: number): void => {
  checkParamCount(params, { min, max })
  const missing = params.slice(0, min).indexOf(undefined)
  const index = missing === -1 ? params.length : missing
  if (index < min) throw new RpcError('missingParam', { index })
}

/** The options at `index`, without members where there are none. */
export const toOptions = (params: readonly unknown[], index: number): Members =>
  isAbsent(params[index]) ? NO_MEMBERS : toMap(params[index], index)

/** What `decode` returns; an error of the addresses in it is Agave's of a subscription. */
export const decoded = (what: string, decode: () => Uint8Array): Uint8Array => {
  try {
    return decode()
  } catch (error) {
    if (error instanceof RpcError) throw new RpcError('subscribeParam', { what })
    throw error
  }
}

/** A base58 address, with Agave's error for an invalid one. */
export const toKey = (value: unknown, index: number, what = 'pubkey'): Uint8Array => {
  const text = toText(value, index)
  return decoded(what, () => decodePubkey(text))
}

/** A base58 signature. */
export const toSignatureBytes = (value: unknown, index: number): Uint8Array => {
  const text = toText(value, index)
  const wrong = new RpcError('subscribeParam', { what: 'signature' })
  if (text.length > SIGNATURE_CHARS_MAX) throw wrong
  const bytes = decoded('signature', () => decodeMemcmp(text, 'base58'))
  if (bytes.length !== SIGNATURE_BYTES) throw wrong
  return bytes
}

/** True or false; false if it is absent. */
export const toFlag = (value: unknown, index: number): boolean => {
  if (isAbsent(value)) return false
  if (typeof value !== 'boolean') throw wrongType(value, index, 'a boolean')
  return value
}

/**
 * The commitment as given, unchecked (contract: subscription-commitment); `finalized` by default.
 */
export const toCommitment = (value: unknown): string => {
  if (isAbsent(value)) return 'finalized'
  return typeof value === 'string' ? value.slice(0, COMMITMENT_CHARS_MAX) : 'other'
}

/** The id that an unsubscribing method names. */
export const toSubscriptionId = (params: readonly unknown[]): number => {
  checkCount(params, 1, 1)
  const [id] = params
  if (!isCount(id)) throw wrongType(id, 0, 'u64')
  return id
}
