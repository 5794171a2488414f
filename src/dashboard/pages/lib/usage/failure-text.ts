import type { FailedRequest, FailureGroup } from '../wire.js'

/** Who refused a call. */
export const ORIGINS = {
  service: 'Slotline',
  upstream: 'Upstream',
  limit: 'Limit of the access',
} as const

/** Filters of the list, as the URL and the API name them. */
const FILTERS = ['method', 'code', 'location', 'address', 'origin'] as const
export type FailureFilters = Readonly<Record<(typeof FILTERS)[number], string>>

/** The filters of a query; those that the API would refuse are left out. */
export const toFilters = (query: Readonly<Record<string, string>>): FailureFilters => {
  const { method = '', code = '', location = '', address = '', origin = '' } = query
  return {
    method: method.slice(0, 39),
    code: /^-?\d{1,15}$/.test(code) ? code : '',
    location: location.slice(0, 64),
    address: address.slice(0, 45),
    origin: origin in ORIGINS ? origin : '',
  }
}

/** The same as a query, without those that are not set. */
export const toFilterQuery = (filters: FailureFilters): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''))

/** A query of the URL with these filters in place of its own. */
export const withFilters = (
  query: Readonly<Record<string, string>>,
  filters: FailureFilters,
): Readonly<Record<string, string>> => {
  const others = Object.entries(query).filter(([name]) => !FILTERS.some(one => one === name))
  return { ...Object.fromEntries(others), ...toFilterQuery(filters) }
}

/** What failed requests are grouped by: the parts of a group that become filters. */
export const GROUPINGS = {
  call: { name: 'Method and code', parts: ['method', 'code', 'origin'] },
  address: { name: 'Address', parts: ['address'] },
} as const
export type Grouping = keyof typeof GROUPINGS

export type FailureSum = Partial<FailureFilters> & { readonly count: number; lastMs: number }

/** Adds groups up by what is chosen, the most frequent first. */
export const sumGroups = (
  groups: readonly FailureGroup[],
  grouping: Grouping,
): readonly FailureSum[] => {
  const sums = new Map<string, FailureSum>()
  for (const group of groups) {
    const parts = Object.fromEntries(
      GROUPINGS[grouping].parts.map(part => [part, String(group[part])]),
    )
    const key = JSON.stringify(parts)
    const { count = 0, lastMs = 0 } = sums.get(key) ?? {}
    sums.set(key, {
      ...parts,
      count: count + group.count,
      lastMs: Math.max(lastMs, group.lastMs),
    })
  }
  return [...sums.values()].toSorted((one, other) => other.count - one.count)
}

const PARAMS_BYTES_MAX = 1_024

/** Parameters that are kept whole. */
const areWhole = ({ params }: FailedRequest): boolean =>
  params !== '' && new TextEncoder().encode(params).length < PARAMS_BYTES_MAX

/** Whether it is a call at the RPC URL: no route, and not the opening of a socket. */
const isCall = ({ method }: FailedRequest): boolean => /^[A-Za-z]\w*$/.test(method)

/**
 * The call as a command of a shell; undefined of what is no call. The URL, which is a secret, is a
 * variable; so are parameters that were not kept whole.
 */
export const toCurl = (failure: FailedRequest): string | undefined => {
  if (!isCall(failure)) return undefined
  const params = areWhole(failure) ? failure.params : '[]'
  const method = JSON.stringify(failure.method)
  const body = `{"jsonrpc":"2.0","id":1,"method":${method},"params":${params}}`
  const note = areWhole(failure) ? '' : '# The parameters were not kept: add them.\n'
  const quoted = body.replaceAll("'", String.raw`'\''`)
  return `${note}curl "$SLOTLINE_RPC_URL" -H 'Content-Type: application/json' -d '${quoted}'`
}
