import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openAuditLog } from '../access/audit/audit-log.js'
import { openLimitTable } from '../access/limiter/access-limiter.js'
import { ensureAdminToken } from '../access/tokens/admin-token.js'
import type { MachineDirectory } from '../cluster/machine-directory.js'
import type { ControlConfig } from '../config/child-config.js'
import { edgeCountOf } from '../config/edge-count.js'
import { createAccessUsage } from '../control/access-usage.js'
import { openAccess } from '../control/access.js'
import type { ClusterPeers } from '../control/cluster-peers.js'
import { createCatalog, productsOf } from '../control/catalog.js'
import { openControlDashboard } from '../control/dashboard.js'
import { ensureAccesses } from '../control/ensure-accesses.js'
import { toSubmissionView } from '../control/submission-view.js'
import { createAdminApi } from '../dashboard/api/admin.js'
import { bootMs, lockFile } from '../native/os.js'
import { openLog, type Log } from '../shared/log.js'
import { createMetrics } from '../shared/metrics.js'
import { StoreReaders } from '../submission/store/store-readers.js'
import { openMachineEdges } from './machine-edges.js'
import { sendMetrics, type Start } from './start.js'

/** The other machines of the cluster; undefined on a machine by itself, which loads none of it. */
const openPeers = async (
  { cluster }: ControlConfig,
  directory: MachineDirectory | undefined,
  log: Log,
): Promise<ClusterPeers | undefined> => {
  if (cluster === undefined || directory === undefined) return undefined
  const { openClusterPeers } = await import('../control/cluster-peers.js')
  return openClusterPeers(cluster, { directory, routes: [], log })
}

/** Control: the only writer of the access store of a machine by itself. Serves the dashboard. */
export const startControl: Start<'control'> = async ({ config }, send) => {
  const { log, flush } = openLog('control', config.log)
  const metrics = createMetrics('control')
  if (!lockFile(join(config.dataDir, 'control.lock')))
    throw new Error(`another control process runs on ${config.dataDir}`)
  const access = await openAccess(config, {
    log,
    bootMs,
    edges: () => openMachineEdges(config, send, log),
  })
  const { accessService } = access
  const adminToken = ensureAdminToken(config.access.adminTokenFile, randomBytes)
  // The previous control process may have ended between a change and its announcement.
  access.notifier
    .awaitAcknowledged(config.locations.map(({ id }) => id))
    .catch((error: unknown) => log.error({ err: error }, 'an edge may not know of the last change'))

  const peers = await openPeers(config, access.machines, log)
  const auditLog = openAuditLog(config.dataDir, config.access.audit, Date.now)
  const submissions = new StoreReaders(config.dataDir, undefined, config.submissionStore)
  const catalog = createCatalog(config)
  const dashboard = await openControlDashboard({
    config,
    store: access.ownStore,
    accessService,
    auditLog,
    catalog,
    usage: createAccessUsage({
      dataDir: config.dataDir,
      table: openLimitTable(config.dataDir, edgeCountOf(config), config.access.limits),
      accessService,
      now: Date.now,
    }),
    submissions: (accessId, limit) => submissions.recent(accessId, limit).map(toSubmissionView),
    adminToken,
    adminRoutes: createAdminApi({
      accessService,
      auditLog,
      catalog,
      products: productsOf(config),
      now: Date.now,
    }),
    log,
    now: Date.now,
    pagesDir: fileURLToPath(new URL('../dashboard/pages/', import.meta.url)),
  })
  const readers = setInterval(
    () => access.store.clearStaleReaders(),
    config.processes.staleReadersMs,
  )

  return {
    onCommand: command => {
      if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
      else if (command.kind === 'ensureAccesses')
        ensureAccesses(accessService, command.network, command.accesses, Date.now()).then(
          tokens => send({ kind: 'accessesEnsured', tokens }),
          (error: unknown) =>
            send({ kind: 'failed', message: error instanceof Error ? error.message : 'tokens' }),
        )
    },
    drain: async () => {
      clearInterval(readers)
      await dashboard.close()
      await peers?.close()
      await submissions.close()
      await access.close()
      flush()
    },
  }
}
