import type { Route } from './route.js'
import type { Access } from './wire.js'

/**
 * Selects the only access, the first network and the only location of a chosen access, and removes
 * ids that the access does not include. Without a location the overview is shown.
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
  return { accessId, network, location: pick(route.location, locations), tab: route.tab }
}
