import { mergeClients, mergeReplaced } from '../access/usage/reader.js'
import type { Submissions } from '../dashboard/api/api.js'
import * as shapes from '../dashboard/api/shapes.js'
import type { AccessUsage, PlaceUsage, Usage } from '../dashboard/api/usage.js'
import type { ClusterPeers } from './cluster-peers.js'
import { accessUsagePath, placeUsagePath, recentPath } from './peer-routes.js'

type Read = Pick<ClusterPeers['client'], 'read'>

/** Refused attempts of one answer. */
const REFUSED_MAX = 64

/** Minutes are those of this machine; clocks of machines may differ by a minute or more. */
const addUp = (own: PlaceUsage, others: readonly PlaceUsage[]): PlaceUsage => {
  const minutes = new Map(own.minutes.map(minute => [minute.startMs, { ...minute }]))
  for (const minute of others.flatMap(other => other.minutes)) {
    const sum = minutes.get(minute.startMs)
    if (sum === undefined) continue
    sum.requests += minute.requests
    sum.errors += minute.errors
    sum.rateLimited += minute.rateLimited
    sum.refused += minute.refused
  }
  const refused = [own, ...others].flatMap(one => one.refused)
  return {
    minutes: [...minutes.values()],
    refused: refused.toSorted((one, other) => other.atMs - one.atMs).slice(0, REFUSED_MAX),
    clients: mergeClients([own, ...others].flatMap(one => one.clients)),
    replaced: mergeReplaced([own, ...others].flatMap(one => one.replaced)),
  }
}

const sumOf = (all: readonly AccessUsage[], key: keyof AccessUsage): number =>
  all.reduce((sum, one) => sum + one[key], 0)

/** Usage of this machine and of the others at the locations, added up. */
export const createUsageSum = (own: Usage, peers: Read): Usage => ({
  ofPlace: async place => {
    const path = placeUsagePath(place)
    const { answers, missing } = await peers.read([place.location], path, shapes.placeUsage)
    return { ...addUp(await own.ofPlace(place), answers), missing }
  },
  ofAccess: async (accessId, locations) => {
    const path = accessUsagePath(accessId)
    const { answers, missing } = await peers.read(locations, path, shapes.utilisation)
    const all = [await own.ofAccess(accessId, locations), ...answers]
    return {
      // Of each machine with one decimal.
      requestsPerSecond: Math.round(sumOf(all, 'requestsPerSecond') * 10) / 10,
      requestsInFlight: sumOf(all, 'requestsInFlight'),
      sockets: sumOf(all, 'sockets'),
      missing,
    }
  },
})

/** The newest submissions to this machine and the others at the locations. */
export const createSubmissionsSum =
  (own: Submissions, peers: Read): Submissions =>
  async (accessId, limit, locations) => {
    const path = recentPath(accessId, limit)
    const { answers, missing } = await peers.read(locations, path, shapes.submissions)
    const all = [await own(accessId, limit, locations), ...answers].flatMap(
      ({ submissions }) => submissions,
    )
    const newest = all.toSorted((one, other) => other.receivedAtMs - one.receivedAtMs)
    return { submissions: newest.slice(0, limit), missing }
  }
