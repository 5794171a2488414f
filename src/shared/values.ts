import { RpcError } from './errors.js'
import { formatType } from './format-type.js'

/** Unchecked members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>

/** `null` means absent for every optional member (contract: null-is-absent). */
export const isAbsent = (value: unknown): value is null | undefined =>
  value === undefined || value === null

export const isMap = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * True for a number that fits a u64. Past 2^53 it is not exact; no stored value is that large, so
 * `toCount` returns the largest exact one instead.
 */
export const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 2 ** 64

/** A count that is the same number in JavaScript and in the native addon. */
export const toCount = (value: number): number => Math.min(value, Number.MAX_SAFE_INTEGER)

/** Checks that a method that takes `min` to `max` parameters is not given more. */
export const checkParamCount = (
  params: readonly unknown[],
  { min, max }: { readonly min: number; readonly max: number },
): void => {
  if (params.length <= max) return
  if (max === 0) throw new RpcError('noParams')
  throw new RpcError('paramCount', { min, max }, `"Got: ${params.length}"`)
}

/** The error for a parameter of the wrong JSON type. */
export const wrongType = (value: unknown, index: number, expected: string): RpcError =>
  new RpcError('wrongType', { index, type: formatType(value), expected })

/** The value, checked to be an object. */
export const toMap = (value: unknown, index: number): Members => {
  if (!isMap(value)) throw wrongType(value, index, 'a map')
  return value
}

/** The value, checked to be a string. */
export const toText = (value: unknown, index: number): string => {
  if (typeof value !== 'string') throw wrongType(value, index, 'a string')
  return value
}

/** The one member of an object that has exactly one. */
export const onlyMember = (
  value: unknown,
): readonly [name: string, content: unknown] | undefined => {
  const members = isMap(value) ? Object.entries(value) : []
  return members.length === 1 ? members[0] : undefined
}

/** A JSON value; undefined of what is none. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
