import type { LaneStates, ListAudit } from '../dashboard/api/operator/operator.js'
import type { AuditLog } from '../access/audit/audit-log.js'
import { openLimitTable } from '../access/limiter/limit-table.js'
import type { MachineDirectory } from '../cluster/machine-directory.js'
import type { PeerRoute, PeerStream } from '../cluster/peers/peer-server.js'
import type { ControlConfig } from '../config/child-config.js'
import { edgeSlotsOf } from '../config/edge-count.js'
import type { TrafficOf } from '../dashboard/api/overview/overview.js'
import type { FiguresOf } from '../dashboard/api/metrics/figures.js'
import type { SummaryOf } from '../dashboard/api/submissions/routes.js'
import type {
  SubmissionPageView,
  Submissions,
  SubmissionSearch,
} from '../dashboard/api/submissions/shapes.js'
import { readAudit, type AuditSearch } from '../dashboard/api/read-audit.js'
import type { Usage } from '../dashboard/api/usage.js'
import type { Log } from '../shared/log.js'
import type { Metrics } from '../shared/metrics.js'
import type { SubmissionQuery } from '../submission/relay/relay-types.js'
import { findSigned, findSubmission } from '../submission/store/find-submission.js'
import { StoreReader } from '../submission/store/store-reader.js'
import { earlierId, firstIdAt, parseId } from '../submission/store/submission-id.js'
import type {
  FoundSubmission,
  StoredSubmission,
  Submission,
} from '../submission/store/submission.js'
import type { DayQuery, UsageDays } from '../usage/days.js'
import { createAccessFigures } from './access-figures.js'
import { createLanes, createSummary, type LanesOf } from './lanes.js'
import type { ServiceUsage } from '../dashboard/api/operator/service.js'
import { createEvidence } from './evidence.js'
import { openOwnUsage } from './own-usage.js'
import { createPeerRoutes, type PeerRouteParts } from './peer-routes.js'
import { createServiceUsage } from './service-usage.js'
import { toPageView } from './submission-view.js'
import {
  createAsk,
  createTraffic,
  keepTraffic,
  createUsage,
  createUsageDays,
  createUsageRoute,
} from './usage.js'

/** What edges have counted and recorded, on every machine of the cluster where there is one. */
export type Activity = {
  readonly usage: Usage
  readonly submissions: Submissions
  /** Of all scopes of a person. */
  readonly traffic: TrafficOf
  /** What is billed. */
  readonly usageDays: (query: DayQuery) => UsageDays
  /** What operators see of all accesses together. */
  readonly service: ServiceUsage
  /** What operators see of lanes. */
  readonly lanes: LanesOf
  readonly summary: SummaryOf
  readonly figures: FiguresOf
  /** What operators see of the audit log. */
  readonly audit: ListAudit
  /** A submission to another machine of this machine's location; never rejects. */
  find(query: SubmissionQuery): Promise<FoundSubmission | undefined>
  close(): Promise<void>
}

export type ActivityParts = {
  /** Of the cluster; undefined of a machine by itself. */
  readonly machines: MachineDirectory | undefined
  /** Long answers to other machines. */
  readonly streams: readonly PeerStream[]
  /** Descriptors of sockets that this process inherited and that listen, by `host:port`. */
  readonly listeners: Readonly<Record<string, number>>
  readonly laneStates: LaneStates
  readonly auditLog: AuditLog
  readonly log: Log
  readonly metrics: Metrics
}

/** What control reads of the other machines. A machine by itself loads none of this. */
const openOthers = async (
  cluster: NonNullable<ControlConfig['cluster']>,
  directory: MachineDirectory,
  own: PeerRouteParts & Pick<Activity, 'submissions'>,
  usageRoute: PeerRoute,
  locations: readonly string[],
  parts: ActivityParts,
) => {
  const { openClusterPeers } = await import('./cluster/cluster-peers.js')
  const { createAuditSum } = await import('./audit-sum.js')
  const { createSubmissionsSum } = await import('./submissions-sum.js')
  const routes = [...createPeerRoutes(own), usageRoute]
  const peers = await openClusterPeers(cluster, { ...parts, directory, routes })
  const { client } = peers
  const { machine } = cluster
  return {
    peers,
    submissions: createSubmissionsSum(own.submissions, client),
    audit: createAuditSum({ own: own.audit, machine, locations, peers: client }),
  }
}

export const openActivity = async (
  config: ControlConfig,
  parts: ActivityParts,
): Promise<Activity> => {
  const { cluster, dataDir, locations, submissionStore: options } = config
  const { machines } = parts
  const table = openLimitTable(dataDir, edgeSlotsOf(config), config.access.limits)
  const own = openOwnUsage(config, table, parts.log)
  const reader = new StoreReader(dataDir, options)
  const search = async (
    { before, fromMs, limit, untilMs, ...filter }: SubmissionSearch,
    limitMs: number,
  ): Promise<SubmissionPageView> => {
    const start = {
      before: earlierId(
        before === undefined ? undefined : parseId(before),
        untilMs === undefined ? undefined : firstIdAt(untilMs),
      ),
      from: fromMs === undefined ? undefined : firstIdAt(fromMs),
      ...{ countMax: limit, limitMs, now: Date.now },
    }
    const times = { nowMs: Date.now(), awaitedMs: options.awaitedMs }
    return toPageView(await reader.search(filter, start), times)
  }
  const submissions: Submissions = wanted => search(wanted, options.searchMs)
  const find = async (key: string, accessId: string): Promise<StoredSubmission | undefined> => {
    const id = parseId(key)
    if (id === undefined) return findSigned(() => reader.findSigned(accessId, key), options)
    const read = (): Submission | undefined => reader.get(id)
    const submission = await findSubmission(id, { read, now: Date.now, options })
    return submission && { id, submission }
  }
  const audit = (wanted: AuditSearch) => readAudit(parts.auditLog, wanted, Date.now())
  const ids = locations.map(({ id }) => id)
  const others =
    cluster &&
    machines &&
    (await openOthers(
      cluster,
      machines,
      {
        submissions,
        // The caller waits `peerMs` for the answer.
        search: wanted => search(wanted, Math.min(options.searchMs, cluster.peerMs / 2)),
        find,
        audit,
      },
      createUsageRoute(own.ask),
      ids,
      parts,
    ))
  const ask = createAsk(own.ask, others?.peers.client)
  return {
    usage: { ...createUsage(ask, Date.now), evidence: createEvidence(ask, Date.now) },
    submissions: others?.submissions ?? submissions,
    traffic: keepTraffic(createTraffic(ask, Date.now), Date.now),
    usageDays: createUsageDays(ask, ids, others && cluster?.peerDaysMs),
    service: createServiceUsage(ask, ids, Date.now),
    lanes: createLanes(ask, parts.laneStates, ids, Date.now),
    summary: createSummary(ask),
    figures: createAccessFigures(ask, Date.now),
    audit: others?.audit ?? (async wanted => audit(wanted)),
    find: async query => others?.peers.find(query),
    close: async () => {
      await others?.peers.close()
      await own.close()
      await reader.close()
    },
  }
}
