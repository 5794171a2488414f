import { decodePubkeys } from '../../../native/encoding.js'
import { RpcError } from '../../../shared/errors.js'
import { isAbsent, isCount, toText, wrongType } from '../../../shared/values.js'

/** Seconds of the longest window: a part of the 512 slots that the index keeps. */
const WINDOW_SECONDS_MAX = 60

/** The schema of `windowSeconds`. */
export const WINDOW_SECONDS = { type: 'integer', minimum: 1, maximum: WINDOW_SECONDS_MAX } as const

/** A window in milliseconds; undefined if none is given. */
export const toWindowMs = (value: unknown): number | undefined => {
  if (isAbsent(value)) return undefined
  return toWhole('windowSeconds', value, 1, WINDOW_SECONDS_MAX) * 1_000
}

/** An integer of a range, which the error names. */
export const toWhole = (name: string, value: unknown, min: number, max: number): number => {
  if (isCount(value)) {
    const number = Number(value)
    if (number >= min && number <= max) return number
  }
  throw new RpcError('feeOption', { name, expected: `an integer from ${min} to ${max}` })
}

/** A flag; `missing` if it is absent. */
export const toFlag = (name: string, value: unknown, missing = false): boolean => {
  if (isAbsent(value)) return missing
  if (typeof value !== 'boolean') throw new RpcError('feeOption', { name, expected: 'a boolean' })
  return value
}

/** At most `max` addresses, 32 bytes each; none if the list is absent. */
export const toAddresses = (value: unknown, index: number, max: number): Uint8Array => {
  if (isAbsent(value)) return new Uint8Array(0)
  if (!Array.isArray(value)) throw wrongType(value, index, 'a sequence')
  if (value.length > max) throw new RpcError('tooManyInputs', { max })
  const texts: string[] = []
  for (const element of value) texts.push(toText(element, index))
  return decodePubkeys(texts)
}
