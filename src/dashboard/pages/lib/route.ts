import { useEffect, useState } from 'preact/hooks'

/** Tabs of a location, in display order. */
export const TABS = ['connect', 'usage', 'submissions', 'machines'] as const
export type Tab = (typeof TABS)[number]

/** The selection in the fragment of the URL: ids only, no secrets. */
export type Route = {
  readonly accessId?: string | undefined
  readonly network?: string | undefined
  readonly location?: string | undefined
  readonly tab: Tab
}

/** Pages besides that of the accesses, by the first part of the fragment; no access has that id. */
const PAGES = ['sessions', 'operator'] as const
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

export const parseRoute = (fragment: string): Route => {
  const [accessId, network, location, last] = partsOf(fragment)
  const tab = TABS.find(name => name === last) ?? 'connect'
  return { accessId: decode(accessId), network: decode(network), location: decode(location), tab }
}

export const formatRoute = (route: Route): string => {
  const parts = [route.accessId, route.network, route.location]
  const end = parts.indexOf(undefined)
  const chosen = end === -1 ? parts : parts.slice(0, end)
  const tab = end === -1 && route.tab !== 'connect' ? [route.tab] : []
  return `#/${[...chosen, ...tab].map(part => encodeURIComponent(part ?? '')).join('/')}`
}

const useFragment = (): string => {
  const [fragment, setFragment] = useState(location.hash)
  useEffect(() => {
    const read = (): void => setFragment(location.hash)
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return fragment
}

/** Values behind the `?` of a fragment; of a name that is given twice the last one. */
export const parseQuery = (fragment: string): Readonly<Record<string, string>> => {
  const at = fragment.indexOf('?')
  return at === -1 ? {} : Object.fromEntries(new URLSearchParams(fragment.slice(at + 1)))
}

/** These values, and a function that changes them. */
export const useQuery = (): [
  Readonly<Record<string, string>>,
  (query: Readonly<Record<string, string>>) => void,
] => {
  const fragment = useFragment()
  const set = (query: Readonly<Record<string, string>>): void => {
    const [path = ''] = location.hash.split('?')
    const text = new URLSearchParams(query).toString()
    location.hash = text === '' ? path : `${path}?${text}`
  }
  return [parseQuery(fragment), set]
}

/** The page in the fragment of the URL; undefined is that of the accesses. */
export const usePage = (): PageName | undefined => parsePage(useFragment())

/** The route in the fragment of the URL, and a function to change it. */
export const useRoute = (): [Route, (next: Route) => void] => {
  const route = parseRoute(useFragment())
  const go = (next: Route): void => {
    location.hash = formatRoute(next)
  }
  return [route, go]
}
