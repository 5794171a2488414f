import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createCredentials } from '../access/credential.js'
import { createEntitlement } from '../access/entitlement.js'
import { createSealing } from '../access/sealing.js'
import { openWriter } from '../access/store.js'
import type { Limits } from '../shared/grant.js'
import { openLog } from '../shared/log.js'
import { createMetrics, formatMetrics, type MetricsSnapshot } from '../shared/metrics.js'
import { lockFile } from '../shared/native.js'
import type { Start } from './role.js'
import { openSharedState } from './shared-state.js'

/** Person at the identity provider who owns the sandbox's access. */
const SANDBOX_SUBJECT = 'sandbox'

/** The sandbox is for load tests too: its access is wide. */
const SANDBOX_LIMITS: Limits = {
  requestsPerSecondMax: 1_000_000,
  requestsBurstMax: 1_000_000,
  requestsInFlightMax: 10_000,
  socketsMax: 20_000,
  subscriptionsPerSocketMax: 10_000,
}

/** Control: the only writer of the access store, and the page with the metrics of every process. */
export const startControl: Start = async ({ config }, report) => {
  const { log, flush } = openLog('control', config.log)
  if (!lockFile(join(config.dataDir, 'control.lock')))
    throw new Error(`another control process runs on ${config.dataDir}`)
  const metrics = createMetrics('control')
  const shared = openSharedState(config.dataDir)
  const store = await openWriter(config.dataDir, config.access.store)
  const sealing = createSealing(config.access.keyFile, store, randomBytes)
  const owned = { store, randomBytes, now: Date.now }
  const entitlement = createEntitlement(owned)
  const credentials = createCredentials({ ...owned, sealing })

  const changed = (): void => {
    shared.raiseAccessVersion()
    report({ kind: 'accessChanged' })
  }

  /** Tokens of the sandbox's own access at every location, made at the first start and kept after. */
  const ensureTokens = async (network: string): Promise<Record<string, string>> => {
    const locations = config.locations.map(location => location.id)
    const offers = (list: readonly string[], wanted: readonly string[]): boolean =>
      wanted.every(id => list.includes(id))
    const found = entitlement
      .listOf(SANDBOX_SUBJECT)
      .find(access => offers(access.networks, [network]) && offers(access.locations, locations))
    const access =
      found ??
      (await entitlement.grant({
        subject: SANDBOX_SUBJECT,
        kind: 'pass',
        product: 'node-access',
        networks: [network],
        locations,
        limits: SANDBOX_LIMITS,
        validFromMs: Date.now(),
        validUntilMs: null,
      }))
    const tokens: Record<string, string> = {}
    for (const location of locations) {
      const place = { accessId: access.accessId, network, location }
      const kept = await credentials.reveal(place)
      tokens[location] = (kept ?? (await credentials.generate(place)).token).reveal()
    }
    changed()
    return tokens
  }

  let nextCall = 1
  const waiting = new Map<number, (snapshots: readonly MetricsSnapshot[]) => void>()
  const collect = (): Promise<readonly MetricsSnapshot[]> =>
    new Promise(resolve => {
      const call = nextCall++
      waiting.set(call, resolve)
      report({ kind: 'wantMetrics', call })
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
  const readers = setInterval(() => store.clearStaleReaders(), config.processes.staleReadersMs)

  return {
    onOrder: order => {
      if (order.kind === 'metrics') {
        waiting.get(order.call)?.(order.snapshots)
        waiting.delete(order.call)
      } else if (order.kind === 'ensureTokens')
        ensureTokens(order.network).then(
          tokens => report({ kind: 'tokens', tokens }),
          (error: unknown) =>
            report({ kind: 'failed', message: error instanceof Error ? error.message : 'tokens' }),
        )
    },
    drain: async () => {
      clearInterval(readers)
      page.closeAllConnections()
      page.close()
      await store.close()
      flush()
    },
  }
}
