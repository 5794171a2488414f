/** A filter of getProgramAccounts in JSON-RPC. */
export type PartFilter =
  | { readonly dataSize: number }
  | {
      readonly memcmp: {
        readonly offset: number
        readonly bytes: string
        readonly encoding?: 'base64'
      }
    }

/** A subset of a program's accounts that one request reads. */
export type Part = {
  readonly program: string
  /** For messages. */
  readonly what: string
  /** Filters that all parts share. */
  readonly fixed: readonly PartFilter[]
  /** Shorter accounts are excluded. */
  readonly shortestBytes: number
  readonly dataSize: number | undefined
  /** Offset of the prefix that splits the part. */
  readonly offset: number
  readonly prefix: readonly number[]
}

/** Filters of a part. */
export const toFilters = ({ fixed, dataSize, offset, prefix }: Part): readonly PartFilter[] => [
  ...fixed,
  ...(dataSize === undefined ? [] : [{ dataSize }]),
  ...(prefix.length === 0
    ? []
    : [
        {
          memcmp: {
            offset,
            bytes: Buffer.from(prefix).toString('base64'),
            encoding: 'base64' as const,
          },
        },
      ]),
]

/** Describes the part in messages. */
export const describePart = ({ what, dataSize, offset, prefix }: Part): string => {
  const size = dataSize === undefined ? '' : ` of ${dataSize} bytes`
  const bytes = Buffer.from(prefix).toString('hex')
  return `${what}${size}${bytes === '' ? '' : ` with ${bytes} at ${offset}`}`
}

/**
 * One part for each length of data. Accounts of other lengths were created after the list of
 * lengths.
 */
export const splitBySize = (part: Part, sizes: readonly number[]): readonly Part[] =>
  sizes
    .filter(size => size >= part.shortestBytes)
    .map(dataSize => Object.assign({}, part, { dataSize }))

/**
 * One part for each value of the next byte, and one for each length that ends before it. Together
 * they cover the part: a comparison of bytes never matches an account that is too short for it.
 * Undefined if there is no next byte.
 */
export const splitByPrefix = (part: Part, prefixBytesMax: number): readonly Part[] | undefined => {
  const { dataSize, prefix, shortestBytes } = part
  if (prefix.length >= prefixBytesMax) return undefined
  const offset =
    prefix.length === 0 && dataSize !== undefined && dataSize <= part.offset ? 0 : part.offset
  const next = offset + prefix.length
  if (dataSize !== undefined && dataSize <= next) return undefined
  const parts: Part[] = Array.from({ length: 256 }, (_, byte) => ({
    ...part,
    offset,
    prefix: [...prefix, byte],
  }))
  if (dataSize === undefined) {
    // After a prefix that matched, only accounts that end directly after it remain.
    const shortest = Math.max(shortestBytes, prefix.length === 0 ? 0 : next)
    for (let size = shortest; size <= next; size++) parts.push({ ...part, offset, dataSize: size })
  }
  return parts
}
