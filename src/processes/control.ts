import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureAdminToken } from '../access/tokens/admin-token.js'
import { createAccessService } from '../access/service.js'
import { createTokenManager } from '../access/tokens/token-manager.js'
import { createAccessManager } from '../access/accesses/access-manager.js'
import { createSealing } from '../access/tokens/sealing.js'
import { openWriter } from '../access/store/store.js'
import { createAdminApi } from '../dashboard/api/admin.js'
import { openLog } from '../shared/log.js'
import { createMetrics, formatMetrics, type MetricsSnapshot } from '../shared/metrics.js'
import { lockFile } from '../native/os.js'
import { openLedgers } from '../submission/store/submission-store.js'
import { createEdgeNotifier } from '../control/edge-notifier.js'
import { openAccessUsage } from '../control/access-usage.js'
import { createCatalog, productsOf } from '../control/catalog.js'
import { openControlDashboard } from '../control/dashboard.js'
import type { Start } from './role.js'
import { ensureAccesses } from '../control/ensure-accesses.js'
import { openSharedMemory } from './shared-memory.js'
import { toSubmissionView } from '../control/submission-view.js'

/** Control: the only writer of the access store, and the page with the metrics of every process. */
export const startControl: Start = async ({ config }, send) => {
  const { log, flush } = openLog('control', config.log)
  if (!lockFile(join(config.dataDir, 'control.lock')))
    throw new Error(`another control process runs on ${config.dataDir}`)
  const metrics = createMetrics('control')
  const shared = openSharedMemory(config.dataDir)
  const store = await openWriter(config.dataDir, config.access.store)
  const sealing = createSealing(config.access.keyFile, store, randomBytes)
  const owned = { store, randomBytes, now: Date.now }
  const announce = (): void => send({ kind: 'accessChanged' })
  const notifier = createEdgeNotifier({
    shared,
    confirmMs: config.processes.accessConfirmMs,
    endMs: config.processes.accessEndMs,
    announce,
    endEdge: pid => {
      log.warn({ childPid: pid }, 'an edge did not confirm a change of accesses, and is ended')
      send({ kind: 'edgeUnconfirmed', pid })
    },
    now: () => performance.now(),
  })
  const accessService = createAccessService({
    accessManager: createAccessManager(owned),
    tokenManager: createTokenManager({ ...owned, sealing }),
    notifier,
  })
  const catalog = createCatalog(config)
  const products = productsOf(config)
  const adminToken = ensureAdminToken(config.access.adminTokenFile, randomBytes)
  try {
    await sealing.ready()
  } catch (error) {
    // Tokens open their scopes all the same: whoever wants one shown or made is told again.
    log.error({ err: error }, 'tokens cannot be made or shown')
  }
  // The last control may have ended between a change and its announcement.
  notifier
    .awaitAcknowledged()
    .catch((error: unknown) => log.error({ err: error }, 'an edge may not know of the last change'))

  let nextCall = 1
  const waiting = new Map<number, (snapshots: readonly MetricsSnapshot[]) => void>()
  const collect = (): Promise<readonly MetricsSnapshot[]> =>
    new Promise(resolve => {
      const call = nextCall++
      waiting.set(call, resolve)
      send({ kind: 'metricsRequested', call })
    })

  const page = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found\n')
      return
    }
    Promise.all([collect(), metrics.snapshot()])
      .then(([others, own]) => formatMetrics([...others, own]))
      .then(
        text => response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(text),
        (error: unknown) => {
          log.error({ err: error }, 'metrics page failed')
          response.writeHead(500).end()
        },
      )
  })
  await new Promise<void>((resolve, reject) => {
    page.once('error', reject)
    page.listen(config.metrics.port, config.metrics.host, resolve)
  })
  const ledgers = openLedgers(config.dataDir, undefined, config.ledger)
  const dashboard = await openControlDashboard({
    config,
    store,
    accessService,
    catalog,
    usage: openAccessUsage(config, accessService, Date.now),
    submissions: (accessId, limit) => ledgers.recent(accessId, limit).map(toSubmissionView),
    adminToken,
    adminRoutes: createAdminApi({ accessService, catalog, products, now: Date.now }),
    log,
    now: Date.now,
    pagesDir: fileURLToPath(new URL('../dashboard/pages/', import.meta.url)),
  })
  const readers = setInterval(() => store.clearStaleReaders(), config.processes.staleReadersMs)

  return {
    onCommand: command => {
      if (command.kind === 'metricsCollected') {
        waiting.get(command.call)?.(command.snapshots)
        waiting.delete(command.call)
      } else if (command.kind === 'ensureAccesses')
        ensureAccesses(accessService, command.network, command.accesses, Date.now()).then(
          tokens => send({ kind: 'accessesEnsured', tokens }),
          (error: unknown) =>
            send({ kind: 'failed', message: error instanceof Error ? error.message : 'tokens' }),
        )
    },
    drain: async () => {
      clearInterval(readers)
      await dashboard.close()
      await ledgers.close()
      page.closeAllConnections()
      page.close()
      await store.close()
      flush()
    },
  }
}
