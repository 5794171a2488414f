import { RpcError } from '../../shared/errors.js'

/** A parameter with one of these values, of which the first is the default. Throws an RpcError. */
export const toChoice = <T extends string>(
  query: URLSearchParams,
  name: string,
  values: readonly [T, ...T[]],
): T => {
  const given = query.getAll(name)
  if (given.length === 0) return values[0]
  const known = given.length === 1 ? values.find(value => value === given[0]) : undefined
  if (known !== undefined) return known
  throw new RpcError('queryValue', { name, expected: values.join(' or ') })
}

const PROTECTION = 'mev-protect'

/**
 * Whether transactions may go to lanes only that protect them. Throws an RpcError where they are
 * not raced, as no other route promises it.
 */
export const isProtectionAsked = (query: URLSearchParams, isRaced: boolean): boolean => {
  if (!query.has(PROTECTION)) return false
  const isAsked = toChoice(query, PROTECTION, ['false', 'true']) === 'true'
  if (!isAsked || isRaced) return isAsked
  throw new RpcError('queryValue', { name: PROTECTION, expected: 'false, as nothing is raced' })
}
