import { addTraffic, readTraffic, type Traffic } from '../access/usage/traffic.js'
import type { AccessService } from '../access/service.js'
import type { PeerRoute } from '../cluster/peers/peer-server.js'
import type { TrafficOf } from '../dashboard/api/overview/overview.js'
import { traffic as shape, type PlaceTraffic } from '../dashboard/api/overview/overview-shapes.js'
import type { ClusterPeers } from './cluster/cluster-peers.js'

/** How long what was read for a person is shown to all of their pages. */
const KEPT_MS = 4_000
/** Persons for whom it is kept. */
const KEPT_MAX = 256

type Answer = ReturnType<TrafficOf>

/** Reads once for all pages of a person that ask within a few seconds. */
export const keepTraffic = (read: TrafficOf, now: () => number): TrafficOf => {
  const kept = new Map<string, { readonly atMs: number; readonly answer: Answer }>()
  return subject => {
    const last = kept.get(subject)
    if (last !== undefined && now() - last.atMs < KEPT_MS) return last.answer
    kept.delete(subject)
    const [oldest] = kept.keys()
    if (kept.size >= KEPT_MAX && oldest !== undefined) kept.delete(oldest)
    const answer = read(subject)
    kept.set(subject, { atMs: now(), answer })
    return answer
  }
}

/** Traffic as the edges of this machine have counted it. Other work runs between two accesses. */
export const createOwnTraffic =
  (parts: {
    readonly dataDir: string
    readonly accessService: Pick<AccessService, 'listOf'>
    readonly now: () => number
  }): TrafficOf =>
  async subject => {
    const { dataDir, accessService, now } = parts
    const places: PlaceTraffic[] = []
    for (const { accessId, networks, locations } of accessService.listOf(subject)) {
      await new Promise(resolve => setImmediate(resolve))
      for (const network of networks)
        for (const location of locations) {
          const place = { accessId, network, location }
          places.push({ ...place, ...readTraffic(dataDir, place, now()) })
        }
    }
    return { places }
  }

/** A person is named by one of their accesses. */
const trafficPath = (accessId: string): string => `/accesses/${accessId}/holder/traffic`

type Find = Pick<AccessService, 'find' | 'listOf'>

/** What other machines may read of this one. */
export const createTrafficRoute = (
  own: TrafficOf,
  accessService: Pick<Find, 'find'>,
): PeerRoute => ({
  path: trafficPath(':accessId'),
  answer: async ({ accessId = '' }) => {
    const subject = accessService.find(accessId)?.subject
    if (subject === undefined) return { places: [] }
    const { places } = await own(subject)
    return { places: places.filter(({ day }) => Object.values(day).some(count => count > 0)) }
  },
})

/** Traffic of this machine and of the others, added up: one request to each. */
export const createTrafficSum =
  (own: TrafficOf, peers: Pick<ClusterPeers['client'], 'read'>, accessService: Find): TrafficOf =>
  async subject => {
    const accesses = accessService.listOf(subject)
    const [first] = accesses
    if (first === undefined) return { places: [] }
    const locations = [...new Set(accesses.flatMap(access => access.locations))]
    const { answers, missing } = await peers.read(locations, trafficPath(first.accessId), shape)
    const others = answers.flatMap(({ places }) => places)
    const { places } = await own(subject)
    const sums = places.map(place => {
      const same = others.filter(
        ({ accessId, network, location }) =>
          accessId === place.accessId && network === place.network && location === place.location,
      )
      return Object.assign({}, place, same.reduce<Traffic>(addTraffic, place))
    })
    return { places: sums, missing }
  }
