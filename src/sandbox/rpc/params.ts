import bs58 from 'bs58'
import { isAbsent, isCount, isMap, type Members } from '../../shared/values.js'
import type { Commitment } from '../chain/block.js'
import { invalidParam } from './failure.js'

const NONE: Members = {}
/** Greatest length of 64 bytes in base58. */
const BASE58_CHARS_MAX = 88

/** The members of an options object; none if it is absent. */
export const toOptions = (value: unknown): Members => {
  if (isAbsent(value)) return NONE
  if (!isMap(value)) throw invalidParam('Invalid params: options must be an object')
  return value
}

const decode = (value: unknown, byteCount: number): Uint8Array => {
  if (typeof value !== 'string') throw invalidParam('Invalid params: expected a string')
  if (value.length > BASE58_CHARS_MAX) throw invalidParam('Invalid param: WrongSize')
  const bytes = bs58.decodeUnsafe(value)
  if (bytes === undefined) throw invalidParam('Invalid param: Invalid')
  if (bytes.length !== byteCount) throw invalidParam('Invalid param: WrongSize')
  return bytes
}

export const toPubkey = (value: unknown): Uint8Array => decode(value, 32)
export const toSignature = (value: unknown): Uint8Array => decode(value, 64)

/** A non-negative integer, or `fallback` where it is absent. */
export const toCount = (value: unknown, fallback?: number): number => {
  const count = isAbsent(value) ? fallback : value
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0)
    throw invalidParam('Invalid params: expected u64')
  return count
}

/** A slot, past 2^53 the largest exact one; undefined if it is absent. */
export const toSlot = (value: unknown): number | undefined => {
  if (isAbsent(value)) return undefined
  if (!isCount(value)) throw invalidParam('Invalid params: expected u64')
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

/** A list of at most `max` elements. */
export const toList = (value: unknown, max: number): readonly unknown[] => {
  if (!Array.isArray(value)) throw invalidParam('Invalid params: expected a sequence')
  if (value.length > max) throw invalidParam(`Too many inputs provided; max ${max}`)
  return value
}

/** The commitment of an options object; the default is finalized, as on Solana. */
export const toCommitment = ({ commitment }: Members): Commitment =>
  commitment === 'processed' || commitment === 'confirmed' ? commitment : 'finalized'

/** The same for methods that read blocks, which do not accept `processed`. */
export const toBlockCommitment = (options: Members): Commitment => {
  const commitment = toCommitment(options)
  if (commitment === 'processed')
    throw invalidParam('Method does not support commitment below `confirmed`')
  return commitment
}
