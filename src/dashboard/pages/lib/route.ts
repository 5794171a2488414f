import { useEffect, useRef, useState } from 'preact/hooks'

/** Tabs of a location, in display order. */
export const TABS = ['connect', 'usage', 'machines'] as const
export type Tab = (typeof TABS)[number]

/** Tabs of an access, in display order. */
export const ACCESS_TABS = ['usage', 'submissions', 'settings'] as const
export type AccessTab = (typeof ACCESS_TABS)[number]

/** The selection in the fragment of the URL: ids only, no secrets. */
export type Route = {
  readonly accessId?: string | undefined
  readonly network?: string | undefined
  readonly location?: string | undefined
  readonly tab: Tab
  /** The page of the access, not of one of its locations. */
  readonly accessTab?: AccessTab | undefined
}

/** The first part of the fragment of an access's page; no access has that id. */
const ACCESS_PAGE = 'access'
/** What an earlier page kept in the fragment of a location, and is now of its access. */
const OF_ACCESS = ['method', 'code', 'address', 'origin'] as const

/** Pages besides that of the accesses, by the first part of the fragment; no access has that id. */
export const PAGES = ['sessions', 'operator'] as const
export type PageName = (typeof PAGES)[number]

/** The parts of a fragment before its query. */
const partsOf = (fragment: string): readonly string[] => {
  const [path = ''] = fragment.split('?')
  return path.replace(/^#?\/?/, '').split('/')
}

export const parsePage = (fragment: string): PageName | undefined => {
  const [first] = partsOf(fragment)
  return PAGES.find(name => name === first)
}

const decode = (part: string | undefined): string | undefined => {
  try {
    return part === undefined || part === '' ? undefined : decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** Values behind the `?` of a fragment; of a name that is given twice the last one. */
export const parseQuery = (fragment: string): Readonly<Record<string, string>> => {
  const at = fragment.indexOf('?')
  return at === -1 ? {} : Object.fromEntries(new URLSearchParams(fragment.slice(at + 1)))
}

/** The tab of the access that a fragment of a location led to in an earlier page. */
const movedTab = (fragment: string, tab: string | undefined): AccessTab | undefined => {
  if (tab === 'submissions') return tab
  const query = parseQuery(fragment)
  const isOfAccess = query['scope'] === 'all' || OF_ACCESS.some(name => query[name] !== undefined)
  return tab === 'usage' && isOfAccess ? tab : undefined
}

export const parseRoute = (fragment: string): Route => {
  const [first, second, third, last] = partsOf(fragment)
  if (first === ACCESS_PAGE) {
    const accessTab = ACCESS_TABS.find(name => name === third) ?? 'usage'
    return { accessId: decode(second), tab: 'connect', accessTab }
  }
  const accessTab = movedTab(fragment, last)
  if (accessTab !== undefined) return { accessId: decode(first), tab: 'connect', accessTab }
  const tab = TABS.find(name => name === last) ?? 'connect'
  return { accessId: decode(first), network: decode(second), location: decode(third), tab }
}

/** The fragment of an access's page; `query` has what the tab shows. */
export const formatAccess = (
  accessId: string,
  tab: AccessTab = 'usage',
  query: Readonly<Record<string, string>> = {},
): string => {
  const end = tab === 'usage' ? '' : `/${tab}`
  const text = new URLSearchParams(query).toString()
  return `#/${ACCESS_PAGE}/${encodeURIComponent(accessId)}${end}${text === '' ? '' : `?${text}`}`
}

export const formatRoute = (route: Route): string => {
  if (route.accessId !== undefined && route.accessTab !== undefined)
    return formatAccess(route.accessId, route.accessTab)
  const parts = [route.accessId, route.network, route.location]
  const end = parts.indexOf(undefined)
  const chosen = end === -1 ? parts : parts.slice(0, end)
  const tab = end === -1 && route.tab !== 'connect' ? [route.tab] : []
  return `#/${[...chosen, ...tab].map(part => encodeURIComponent(part ?? '')).join('/')}`
}

/** The fragment of the URL, and a function that reads it again. */
const useFragment = (): readonly [fragment: string, read: () => void] => {
  const [fragment, setFragment] = useState(location.hash)
  const read = (): void => setFragment(location.hash)
  useEffect(() => {
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return [fragment, read]
}

/** These values, and a function that changes them. */
export const useQuery = (): [
  Readonly<Record<string, string>>,
  (query: Readonly<Record<string, string>>) => void,
] => {
  const [fragment, read] = useFragment()
  const set = (query: Readonly<Record<string, string>>): void => {
    const [path = ''] = location.hash.split('?')
    const text = new URLSearchParams(query).toString()
    location.hash = text === '' ? path : `${path}?${text}`
    // The event comes later, and a change before it would begin with the former values.
    read()
  }
  return [parseQuery(fragment), set]
}

/** The page in the fragment of the URL; undefined is that of the accesses. */
export const usePage = (): PageName | undefined => parsePage(useFragment()[0])

/** The route in the fragment of the URL, and a function to change it. */
export const useRoute = (): [Route, (next: Route) => void] => {
  const route = parseRoute(useFragment()[0])
  const go = (next: Route): void => {
    location.hash = formatRoute(next)
  }
  return [route, go]
}

/** Views of the operator's page, in display order. */
export const OPERATOR_VIEWS = ['accesses', 'usage', 'lanes', 'nodes', 'incidents', 'audit'] as const
export type OperatorView = (typeof OPERATOR_VIEWS)[number]

/** The view of the operator's page in a fragment: `#/operator/lanes`. */
export const parseOperatorView = (fragment: string): OperatorView => {
  const [, second] = partsOf(fragment)
  return OPERATOR_VIEWS.find(name => name === second) ?? 'accesses'
}

/** The first parts of fragments of the operator's page that open an access, or a location of it. */
const OPERATOR_ACCESS = '#/operator/'
const OPERATOR_LOCATION = '#/operator/location/'

/** The link of operators to the page of an access. */
export const formatOperatorAccess: typeof formatAccess = (...of) =>
  formatAccess(...of).replace('#/', OPERATOR_ACCESS)

/** A route of the holder's page as one of the operator's. */
export const formatOperatorRoute = (route: Route): string =>
  formatRoute(route).replace(
    '#/',
    route.accessTab === undefined ? OPERATOR_LOCATION : OPERATOR_ACCESS,
  )

/** What a fragment of the operator's page opens of an access; undefined: a view of the service. */
export const parseOperatorRoute = (fragment: string): Route | undefined => {
  const [, kind, ...rest] = partsOf(fragment)
  if (kind !== ACCESS_PAGE && kind !== 'location') return undefined
  const route = parseRoute([...(kind === ACCESS_PAGE ? [kind] : []), ...rest].join('/'))
  return route.accessId === undefined ? undefined : route
}

/** The same of the URL, and where the view of the service is that was shown before. */
export const useOperatorRoute = (): readonly [route: Route | undefined, back: string] => {
  const [fragment] = useFragment()
  const route = parseOperatorRoute(fragment)
  const back = useRef('#/operator')
  if (route === undefined) back.current = fragment
  return [route, back.current]
}

/** The view in the fragment of the URL, and a function to change it. */
export const useOperatorView = (): [OperatorView, (view: OperatorView) => void] => {
  const view = parseOperatorView(useFragment()[0])
  const go = (next: OperatorView): void => {
    location.hash = `#/operator/${next}`
  }
  return [view, go]
}
