import { readDays, type DayQuery, type UsageDays } from '../access/usage/day-reader.js'
import { openLimitTable } from '../access/limiter/access-limiter.js'
import type { AccessService } from '../access/service.js'
import type { MachineDirectory } from '../cluster/machine-directory.js'
import type { PeerStream } from '../cluster/peers/peer-server.js'
import type { ControlConfig } from '../config/child-config.js'
import { edgeSlotsOf } from '../config/edge-count.js'
import type { TrafficOf } from '../dashboard/api/overview/overview.js'
import type {
  SubmissionPageView,
  Submissions,
  SubmissionSearch,
} from '../dashboard/api/submissions/shapes.js'
import type { Usage } from '../dashboard/api/usage.js'
import type { Log } from '../shared/log.js'
import type { Metrics } from '../shared/metrics.js'
import type { SubmissionQuery } from '../submission/relay/relay-types.js'
import { findSubmission } from '../submission/store/find-submission.js'
import { StoreReaders } from '../submission/store/store-readers.js'
import { parseId } from '../submission/store/submission-id.js'
import type { Submission } from '../submission/store/submission.js'
import { createAccessUsage } from './access-usage.js'
import { openRates } from './open-rates.js'
import { createPeerRoutes, type PeerRouteParts } from './peer-routes.js'
import { createOwnTraffic, createTrafficRoute, createTrafficSum, keepTraffic } from './traffic.js'
import { toPageView } from './submission-view.js'

/** What edges have counted and recorded, on every machine of the cluster where there is one. */
export type Activity = {
  readonly usage: Usage
  readonly submissions: Submissions
  /** Of all places of a person. */
  readonly traffic: TrafficOf
  /** What is billed. */
  readonly usageDays: (query: DayQuery) => UsageDays
  /** A submission to another machine of this machine's location; never rejects. */
  find(query: SubmissionQuery): Promise<Submission | undefined>
  close(): Promise<void>
}

export type ActivityParts = {
  readonly accessService: Pick<AccessService, 'find' | 'listOf'>
  /** Of the cluster; undefined of a machine by itself. */
  readonly machines: MachineDirectory | undefined
  /** Long answers to other machines. */
  readonly streams: readonly PeerStream[]
  /** Descriptors of sockets that this process inherited and that listen, by `host:port`. */
  readonly listeners: Readonly<Record<string, number>>
  readonly log: Log
  readonly metrics: Metrics
}

/** Adds the other machines up. A machine by itself loads none of this. */
const addOthers = async (
  cluster: NonNullable<ControlConfig['cluster']>,
  { dataDir, locations }: Pick<ControlConfig, 'dataDir' | 'locations'>,
  directory: MachineDirectory,
  own: PeerRouteParts & Pick<Activity, 'submissions' | 'traffic'>,
  parts: ActivityParts,
): Promise<Activity> => {
  const { openClusterPeers } = await import('./cluster/cluster-peers.js')
  const { createSubmissionsSum, createUsageSum } = await import('./cluster-sums.js')
  const { createDayRoutes, sumUsageDays } = await import('./usage-days.js')
  const routes = [
    ...createPeerRoutes(own),
    ...createDayRoutes(dataDir, Date.now),
    createTrafficRoute(own.traffic, parts.accessService),
  ]
  const peers = await openClusterPeers(cluster, { ...parts, directory, routes })
  return {
    usage: createUsageSum(own.usage, peers.client),
    submissions: createSubmissionsSum(own.submissions, peers.client),
    traffic: keepTraffic(
      createTrafficSum(own.traffic, peers.client, parts.accessService),
      Date.now,
    ),
    usageDays: sumUsageDays({
      dataDir,
      peers: peers.client,
      locations: locations.map(({ id }) => id),
      limitMs: cluster.peerDaysMs,
    }),
    find: query => peers.find(query),
    close: () => peers.close(),
  }
}

export const openActivity = async (
  config: ControlConfig,
  parts: ActivityParts,
): Promise<Activity> => {
  const { cluster, dataDir, submissionStore: options } = config
  const { accessService, machines } = parts
  const table = openLimitTable(dataDir, edgeSlotsOf(config), config.access.limits)
  const { rates, close: closeRates } = openRates(config, table, parts.log)
  const usage = createAccessUsage({
    dataDir,
    table,
    rates,
    accessService,
    now: Date.now,
  })
  const readers = new StoreReaders(dataDir, undefined, options)
  const traffic = keepTraffic(createOwnTraffic({ dataDir, accessService, now: Date.now }), Date.now)
  const search = async (
    { before, limit, ...filter }: SubmissionSearch,
    limitMs: number,
  ): Promise<SubmissionPageView> => {
    const from = before === undefined ? undefined : parseId(before)
    const start = { before: from, countMax: limit, limitMs, now: Date.now }
    const times = { nowMs: Date.now(), awaitedMs: options.awaitedMs }
    return toPageView(await readers.search(filter, start), times)
  }
  const submissions: Submissions = wanted => search(wanted, options.searchMs)
  if (cluster === undefined || machines === undefined) {
    const usageDays = (query: DayQuery): UsageDays => ({ days: readDays(dataDir, query) })
    const close = async (): Promise<void> => {
      closeRates()
      await readers.close()
    }
    return { usage, submissions, traffic, usageDays, find: async () => undefined, close }
  }
  const find = (id: Uint8Array): Promise<Submission | undefined> =>
    findSubmission(id, { read: () => readers.find(id), now: Date.now, options })
  const all = await addOthers(
    cluster,
    config,
    machines,
    {
      usage,
      submissions,
      traffic,
      // The caller waits `peerMs` for the answer.
      search: wanted => search(wanted, Math.min(options.searchMs, cluster.peerMs / 2)),
      find,
    },
    parts,
  )
  return {
    ...all,
    close: async () => {
      closeRates()
      await all.close()
      await readers.close()
    },
  }
}
