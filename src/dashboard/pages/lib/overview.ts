import { formatPlural, formatSpan } from './format.js'
import { HEALTHS } from './healths.js'
import { formatAccess, formatRoute } from './route.js'
import type { Access, LocationState, OverviewScope } from './wire.js'

/** Something that a person should look at, and the fragment that leads to it. */
export type Mark = {
  readonly tone: 'is-upcoming' | 'is-ended'
  readonly text: string
  readonly href: string
}

/** Errors are worth a look from this many in an hour on, and from this share of all requests. */
const ERRORS_MIN = 10
const ERROR_SHARE = 0.05
/** An access that ends within this time is marked. */
const ENDS_SOON_MS = 7 * 86_400_000

/** Marks of a scope: the state of its location, and what happened in the last hour. */
export const marksOfScope = (
  { accessId, location, network, tail, hour }: Omit<OverviewScope, 'day' | 'hours'>,
  state: LocationState['state'] | undefined,
): readonly Mark[] => {
  const marks: Mark[] = []
  if (tail !== null && state !== undefined && state !== 'ok') {
    const [tone, name] = HEALTHS[state] ?? ['is-upcoming', 'State unknown']
    marks.push({
      tone: tone === 'is-upcoming' ? tone : 'is-ended',
      text: name,
      href: formatAccess(accessId, 'usage', { at: 'incidents' }),
    })
  }
  if (hour.errors >= ERRORS_MIN && hour.errors >= hour.requests * ERROR_SHARE)
    marks.push({
      tone: 'is-ended',
      text: formatPlural(hour.errors, 'error'),
      href: formatAccess(accessId, 'usage', { location, at: 'failures' }),
    })
  if (hour.rateLimited > 0)
    marks.push({
      tone: 'is-upcoming',
      text: `${formatPlural(hour.rateLimited, 'request')} over a limit`,
      href: formatAccess(accessId, 'usage', { location, origin: 'limit', at: 'failures' }),
    })
  if (hour.refused > 0)
    marks.push({
      tone: 'is-upcoming',
      text: formatPlural(hour.refused, 'refused attempt'),
      href: `${formatRoute({ accessId, network, location, tab: 'usage' })}?at=refused`,
    })
  return marks
}

/** Marks of an access: that it has ended, has not begun, or ends soon. */
export const marksOfAccess = (access: Access, nowMs: number): readonly Mark[] => {
  const href = formatAccess(access.accessId)
  if (access.state === 'ended') return [{ tone: 'is-ended', text: 'Ended', href }]
  if (access.state === 'upcoming') return [{ tone: 'is-upcoming', text: 'Not yet valid', href }]
  const leftMs = (access.validUntilMs ?? Infinity) - nowMs
  if (leftMs > ENDS_SOON_MS) return []
  return [{ tone: 'is-upcoming', text: `Ends in ${formatSpan(leftMs)}`, href }]
}

/** How an access is called: by its holder, or by its product. */
export const titleOf = ({ label, product }: Pick<Access, 'label' | 'product'>): string =>
  label === '' ? product.name : label

/** Without case and accents. */
const fold = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()

/** Whether each word of a search is in one of the texts, whatever its case. */
export const isFound = (query: string, texts: readonly string[]): boolean => {
  const all = texts.map(fold)
  return fold(query)
    .split(/\s+/)
    .every(word => all.some(text => text.includes(word)))
}

const textsOfAccess = ({ accessId, label, product }: Access): readonly string[] => [
  accessId,
  label,
  product.name,
]

/** Whether a search is about a scope, by what the page shows of it. */
export const isScopeFound = (query: string, access: Access, scope: OverviewScope): boolean => {
  const nameIn = (names: readonly { id: string; name: string }[], id: string): string =>
    names.find(one => one.id === id)?.name ?? id
  return isFound(query, [
    ...textsOfAccess(access),
    nameIn(access.networks, scope.network),
    nameIn(access.locations, scope.location),
    scope.tail ?? '',
  ])
}

/** Whether a search is about an access or one of its scopes. */
export const isAccessFound = (
  query: string,
  access: Access,
  scopes: readonly OverviewScope[],
): boolean =>
  isFound(query, textsOfAccess(access)) ||
  scopes.some(scope => scope.accessId === access.accessId && isScopeFound(query, access, scope))
