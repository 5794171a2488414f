import type { Route } from './route.js'
import type { Access } from './wire.js'

/**
 * Selects the only access, the first network and the only location of a chosen access, and removes
 * ids that the access does not include. Without a location the page of a chosen access is shown,
 * and the overview if none is chosen.
 */
export const resolveRoute = (route: Route, accesses: readonly Access[]): Route => {
  const only = accesses.length === 1 ? accesses[0] : undefined
  const access = accesses.find(({ accessId }) => accessId === route.accessId) ?? only
  if (access === undefined) return { tab: route.tab }
  const isChosen = access.accessId === route.accessId
  const pick = (wanted: string | undefined, offered: readonly { id: string }[]) =>
    offered.find(({ id }) => id === wanted)?.id ??
    (isChosen && offered.length === 1 ? offered[0]?.id : undefined)
  const { networks, locations, accessId } = access
  const network = pick(route.network, networks) ?? networks[0]?.id
  const { accessTab, tab } = route
  if (isChosen && accessTab !== undefined) return { accessId, network, tab, accessTab }
  const location = pick(route.location, locations)
  const isOfAccess = isChosen && location === undefined
  return { accessId, network, location, tab, ...(isOfAccess && { accessTab: 'usage' }) }
}
