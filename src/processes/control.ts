import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openAuditLog } from '../access/audit/audit-log.js'
import { openLimitTable } from '../access/limiter/access-limiter.js'
import { ensureAdminToken } from '../access/tokens/admin-token.js'
import type { ControlConfig } from '../config/child-config.js'
import { edgeCountOf } from '../config/edge-count.js'
import { createAccessUsage } from '../control/access-usage.js'
import { openAccess } from '../control/access.js'
import { createCatalog, productsOf } from '../control/catalog.js'
import { openControlDashboard } from '../control/dashboard.js'
import { createEdgeNotifier } from '../control/edge-notifier.js'
import { ensureAccesses } from '../control/ensure-accesses.js'
import { openMetricsPage } from '../control/metrics-page.js'
import { toSubmissionView } from '../control/submission-view.js'
import { createAdminApi } from '../dashboard/api/admin.js'
import { lockFile } from '../native/os.js'
import { openLog, type Log } from '../shared/log.js'
import { createMetrics } from '../shared/metrics.js'
import { StoreReaders } from '../submission/store/store-readers.js'
import type { SendEvent } from '../supervision/messages.js'
import { openSharedMemory } from './shared-memory.js'
import type { Start } from './start.js'

const openNotifier = (config: ControlConfig, send: SendEvent, log: Log) =>
  createEdgeNotifier({
    shared: openSharedMemory(config.dataDir),
    confirmMs: config.processes.accessConfirmMs,
    endMs: config.processes.accessEndMs,
    announce: () => send({ kind: 'accessChanged' }),
    endEdge: pid => {
      log.warn({ childPid: pid }, 'an edge did not acknowledge a change of accesses in time')
      send({ kind: 'edgeUnconfirmed', pid })
    },
    now: () => performance.now(),
  })

/**
 * Control: the only writer of the access store. Serves the dashboard, and the metrics of every
 * process.
 */
export const startControl: Start<'control'> = async ({ config }, send) => {
  const { log, flush } = openLog('control', config.log)
  if (!lockFile(join(config.dataDir, 'control.lock')))
    throw new Error(`another control process runs on ${config.dataDir}`)
  const notifier = openNotifier(config, send, log)
  const access = await openAccess(config, notifier, log)
  const { accessService } = access
  const adminToken = ensureAdminToken(config.access.adminTokenFile, randomBytes)
  // The previous control process may have ended between a change and its announcement.
  notifier
    .awaitAcknowledged()
    .catch((error: unknown) => log.error({ err: error }, 'an edge may not know of the last change'))

  const metricsPage = await openMetricsPage({
    ...config.metrics,
    metrics: createMetrics('control'),
    request: call => send({ kind: 'metricsRequested', call }),
    log,
  })
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
      if (command.kind === 'metricsCollected')
        metricsPage.onCollected(command.call, command.snapshots)
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
      await submissions.close()
      metricsPage.close()
      await access.close()
      flush()
    },
  }
}
