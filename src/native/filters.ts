import { RpcError } from '../shared/errors.js'
import { decodeMemcmp } from './encoding.js'
import type { Filter } from './reads.js'
import { isAbsent, isCount, isMap, onlyMember, toCount, type Members } from '../shared/values.js'

/** Maximum bytes of one `memcmp`, as in Agave. */
const MEMCMP_BYTES_MAX = 128

/**
 * Parses `filters` of a page or a program subscription. Invalid values and members are
 * `filterShape`.
 */
export const toFilters = (value: unknown): readonly Filter[] => {
  if (isAbsent(value)) return []
  if (!Array.isArray(value)) throw new RpcError('filterShape')
  const filters: Filter[] = []
  for (const element of value) filters.push(toFilter(element))
  return filters
}

const toFilter = (value: unknown): Filter => {
  const [name, content] = onlyMember(value) ?? []
  if (name === 'dataSize' && isCount(content)) return { dataSize: toCount(content) }
  if (name === 'memcmp' && isMap(content) && isCount(content['offset']))
    return { offset: toCount(content['offset']), bytes: toBytes(content) }
  throw new RpcError('filterShape')
}

/**
 * Bytes to compare: base58 text, or base64 if requested. As in Agave, an array of bytes is valid,
 * and `bytes` is a name of base58.
 */
const toBytes = ({ bytes, encoding }: Members): Uint8Array => {
  const isBase58 = isAbsent(encoding) || encoding === 'base58' || encoding === 'bytes'
  if (!isBase58 && encoding !== 'base64') throw new RpcError('filterShape')
  if (typeof bytes === 'string') return decodeMemcmp(bytes, isBase58 ? 'base58' : 'base64')
  if (!Array.isArray(bytes) || !bytes.every(isByte)) throw new RpcError('filterShape')
  if (bytes.length > MEMCMP_BYTES_MAX) throw new RpcError('memcmpTooLarge')
  return Uint8Array.from(bytes)
}

const isByte = (value: unknown): value is number => isCount(value) && value <= 0xff
