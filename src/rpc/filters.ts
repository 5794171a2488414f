import { RpcError } from '../shared/errors.js'
import { decodeMemcmp, decodePubkey, type Filter, type OwnerPage } from '../shared/native.js'
import { required } from './method.js'
import { TOKEN_FILTER } from './schemas.js'
import { isAbsent, isCount, isMap, toCount, toMap, toText, type Members } from '../shared/values.js'

/** Bytes that one `memcmp` may compare: Agave's bound. */
const MEMCMP_BYTES_MAX = 128

/** Spec §4.1: the two token programs, as the kernel numbers them. */
const TOKEN_PROGRAMS: ReadonlyMap<string, 1 | 2> = new Map([
  ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', 1],
  ['TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb', 2],
])

/**
 * `filters` of getProgramAccountsV2. Whatever is none, members included, is `filterShape` (design
 * §6).
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
 * Bytes to compare: text in base58 unless base64 is asked for or, beyond the spec, what Agave also
 * takes: an array of bytes, and `bytes` as the name of base58.
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

const onlyMember = (value: unknown): [name: string, content: unknown] | undefined => {
  const members = isMap(value) ? Object.entries(value) : []
  return members.length === 1 ? members[0] : undefined
}

/** The filter of getTokenAccountsByOwnerV2: one mint, or one of the token programs. */
export const tokenFilter = required(
  'filter',
  (value, index): OwnerPage['filter'] => {
    const [name, content] = onlyMember(toMap(value, index)) ?? []
    if (name === 'mint') return { mint: decodePubkey(toText(content, index)) }
    if (name !== 'programId') throw new RpcError('filterKeys')
    const programId = toText(content, index)
    const tokenProgram = TOKEN_PROGRAMS.get(programId)
    if (tokenProgram !== undefined) return { tokenProgram }
    // What is no address at all is told as such first.
    decodePubkey(programId)
    throw new RpcError('tokenProgramId')
  },
  TOKEN_FILTER,
)
