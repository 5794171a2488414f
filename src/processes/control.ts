import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openAuditLog, type AuditLog } from '../access/audit/audit-log.js'
import type { AccessService } from '../access/service.js'
import { statusesOf } from '../cluster/machine-status.js'
import type { ControlConfig } from '../config/child-config.js'
import { openActivity, type Activity } from '../control/activity.js'
import { openAccess } from '../control/accesses/access.js'
import { createAuditRecord, createResealRecord } from '../control/accesses/audit-record.js'
import { createCatalog, productsOf } from '../control/accesses/catalog.js'
import { openControlDashboard } from '../control/dashboard.js'
import { createLocationStates, type OwnState } from '../control/location-states.js'
import { openIncidents, type IncidentRecorder } from '../control/incidents/open-incidents.js'
import { ensureAccesses } from '../control/accesses/ensure-accesses.js'
import { checkUrl } from '../dashboard/api/check.js'
import { createAdminApi } from '../dashboard/api/admin.js'
import type { LaneStates } from '../dashboard/api/operator/operator.js'
import { bootMs, lockFile } from '../native/os.js'
import { openLog, type Log } from '../shared/log.js'
import { createMetrics, type Metrics } from '../shared/metrics.js'
import { readLanes } from '../storage/status-file.js'
import { senderPath } from '../submission/store/store-reader.js'
import { createPeerCopies, type PeerCopies } from '../storage/peer-copies.js'
import { createClientOf } from '../server/http/address.js'
import type { Command, SendEvent } from '../supervision/messages.js'
import { openMachineEdges } from './machine-edges.js'
import { openSharedMemory, type SharedMemory } from '../supervision/shared-memory.js'
import { sendMetrics, type Start } from './start.js'

type CommandParts = {
  readonly accessService: AccessService
  readonly activity: Activity
  readonly auditLog: AuditLog
  readonly incidents: IncidentRecorder
  readonly log: Log
  readonly metrics: Metrics
  readonly send: SendEvent
}

/** What control does for the supervisor. */
const createCommands = (parts: CommandParts): ((command: Command) => void) => {
  const { accessService, activity, auditLog, log, metrics, send } = parts
  const record = createAuditRecord(auditLog, log)
  return command => {
    if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
    else if (command.kind === 'submissionRequested') {
      const { call, senderPid, query } = command
      void activity
        .find(query)
        .then(found => send({ kind: 'submissionFound', senderPid, call, found }))
    } else if (command.kind === 'recordChange') {
      const { kind, from, outcome } = command.change
      record({ action: kind, by: null, from, request: outcome })
    } else if (command.kind === 'processEnded') {
      parts.incidents.recordEnded(command.ended)
    } else if (command.kind === 'ensureAccesses')
      ensureAccesses(accessService, command.network, command.accesses, Date.now()).then(
        tokens => send({ kind: 'accessesEnsured', tokens }),
        (error: unknown) =>
          send({ kind: 'failed', message: error instanceof Error ? error.message : 'tokens' }),
      )
  }
}

/** What the edges of this machine serve, for its networks in the order of the configuration. */
const createOwnState =
  ({ networks }: ControlConfig, shared: SharedMemory): (() => OwnState) =>
  () => {
    const slots = networks.flatMap(({ id }, index) => {
      const slot = shared.tip(index)
      return slot === undefined ? [] : [[id, slot] as const]
    })
    return { state: shared.health(), slots: Object.fromEntries(slots) }
  }

const openPeerCopies = ({ dataDir, networks }: ControlConfig, log: Log): PeerCopies =>
  createPeerCopies({ dataDir, networks: networks.map(({ id }) => id), log })

/** How the lanes of this machine are, as its sender has written it. */
const createLaneStates =
  ({ dataDir, status }: ControlConfig): LaneStates =>
  () =>
    readLanes(senderPath(dataDir), status.staleMs, Date.now())

/** Control: the only writer of the access store of a machine by itself. Serves the dashboard. */
export const startControl: Start<'control'> = async ({ config, listeners }, send) => {
  const { log, flush } = openLog('control', config.log)
  const metrics = createMetrics('control')
  if (!lockFile(join(config.dataDir, 'control.lock')))
    throw new Error(`another control process runs on ${config.dataDir}`)
  const auditLog = openAuditLog(config.dataDir, config.access.audit, Date.now)
  const access = await openAccess(config, {
    log,
    bootMs,
    onResealed: createResealRecord(auditLog, log),
    edges: () => openMachineEdges(config, send, log),
  })
  const { accessService, adminTokens, machines } = access
  // The previous control process may have ended between a change and its announcement.
  access.notifier
    .awaitAcknowledged(config.locations.map(({ id }) => id))
    .catch((error: unknown) => log.error({ err: error }, 'an edge may not know of the last change'))

  const activity = await openActivity(config, {
    machines,
    streams: [openPeerCopies(config, log)],
    ...{ auditLog, listeners, laneStates: createLaneStates(config) },
    log,
    metrics,
  })
  const catalog = createCatalog(config)
  const shared = openSharedMemory(config.dataDir)
  const own = createOwnState(config, shared)
  const statuses = machines && (() => statusesOf(machines, bootMs()))
  const locationStates = createLocationStates({ catalog, own, machines: statuses })
  const incidents = openIncidents(config, {
    store: access.ownStore,
    locationStates,
    machines: statuses,
    log,
    now: Date.now,
  })
  const dashboard = await openControlDashboard({
    ...access,
    ...activity,
    ...{ config, checkUrl },
    descriptor: listeners[`${config.dashboard.host}:${config.dashboard.port}`],
    store: access.ownStore,
    auditLog,
    catalog,
    clientOf: createClientOf(config.trustedProxies),
    machines: statuses,
    locationStates,
    incidents: incidents.incidents.list,
    isCurrent: () => !Number.isNaN(shared.leasedVersion()),
    adminRoutes: createAdminApi({
      adminTokens,
      resealer: access.resealer,
      accessService,
      auditLog,
      usageDays: activity.usageDays,
      catalog,
      products: productsOf(config),
      now: Date.now,
    }),
    log,
    metrics,
    now: Date.now,
    pagesDir: fileURLToPath(new URL('dashboard/pages/', import.meta.resolve('#programs/control'))),
  })
  const readers = setInterval(
    () => access.store.clearStaleReaders(),
    config.processes.staleReadersMs,
  )

  return {
    onCommand: createCommands({ accessService, activity, auditLog, incidents, log, metrics, send }),
    drain: async () => {
      clearInterval(readers)
      incidents.close()
      await dashboard.close()
      await activity.close()
      await access.close()
      flush()
    },
  }
}
