import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openLimitTable, resetLimitTable } from '../access/limiter.js'
import type { Config } from '../config/config.js'
import { probePort } from '../server/port.js'
import type { Log } from '../shared/log.js'
import { createMetrics, type MetricsSnapshot } from '../shared/metrics.js'
import { lockFile } from '../native/os.js'
import { startChild, type Child } from './child.js'
import { edgeCountOf } from './edge-count.js'
import { createStuckWatch } from './stuck-reader-watchdog.js'
import { disableCpuIdle } from './cpu-idle.js'
import type { Assignment, DevChain, Report, Role, SandboxFlags } from './messages.js'
import { upstreamListeners } from '../sandbox/config.js'
import { openSharedState } from './shared-memory.js'

/** Left of the drain time for this process' own end. */
const DRAIN_MARGIN_MS = 500

/** A start that cannot succeed; its message is one line for the operator. */
export class StartError extends Error {}

/** The running service, as its command sees it. */
export type Service = {
  /** What the sandbox process said when it was ready. */
  sandboxDetail(): Readonly<Record<string, unknown>>
  /** Tokens of the sandbox's own access, by location. */
  ensureTokens(network: string): Promise<Readonly<Record<string, string>>>
  /** Resolves when every edge can answer from an indexed slot. */
  untilIndexed(): Promise<void>
  /** Health fails first, requests in flight finish, children end. */
  drain(): Promise<void>
}

const probeAll = async (config: Config, sandbox: SandboxFlags | undefined): Promise<void> => {
  const listeners = config.locations.flatMap(location => location.listeners)
  const upstreams = sandbox === undefined ? [] : upstreamListeners(sandbox)
  for (const { host, port } of [...listeners, config.metrics, config.dashboard, ...upstreams])
    await probePort(host, port)
}

/**
 * Starts every process of one machine, starts again what ends, and relays what they tell each
 * other. Owns nothing that could be lost.
 */
export const startService = async (
  config: Config,
  log: Log,
  sandbox?: SandboxFlags,
): Promise<Service> => {
  const { processes } = config
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  chmodSync(config.dataDir, 0o700)
  if (!lockFile(join(config.dataDir, 'supervisor.lock')))
    throw new StartError(`another Slotline runs on the data directory ${config.dataDir}`)
  await probeAll(config, sandbox)
  if (processes.disableCpuIdle) {
    try {
      disableCpuIdle()
    } catch (error) {
      log.warn({ err: error }, 'the system does not allow disabling processor sleep states')
    }
  }
  const shared = openSharedState(config.dataDir)
  shared.clearEdges()

  resetLimitTable(config.dataDir)
  const limits = openLimitTable(config.dataDir, edgeCountOf(config), config.access.limits)

  const metrics = createMetrics('supervisor')
  const children: Child[] = []
  const indexedEdges = new Set<Child>()
  let devChain: DevChain | undefined
  let sandboxDetail: Readonly<Record<string, unknown>> = {}
  let isUp = false
  let onProgress = (): void => {}
  let failure: string | undefined
  let tokens: Readonly<Record<string, string>> | undefined
  let nextCall = 1
  const collections = new Map<number, (snapshot: MetricsSnapshot) => void>()

  const withRole = (role: Role): Child[] => children.filter(child => child.role === role)
  const control = (): Child | undefined => withRole('control')[0]

  const collect = (call: number): void => {
    const asked = children.filter(child => child.isReady && child.role !== 'control')
    const snapshots: MetricsSnapshot[] = []
    const inner = nextCall++
    const finish = (): void => {
      clearTimeout(timer)
      collections.delete(inner)
      control()?.tell({ kind: 'metrics', call, snapshots })
    }
    const timer = setTimeout(finish, processes.metricsMs)
    const add = (snapshot: MetricsSnapshot): void => {
      snapshots.push(snapshot)
      if (snapshots.length > asked.length) finish()
    }
    collections.set(inner, add)
    for (const child of asked) child.tell({ kind: 'collect', call: inner })
    void metrics.snapshot().then(add)
  }

  const stuck = createStuckWatch({
    config,
    log,
    edges: () => withRole('edge'),
    onEnd: ({ role }) => metrics.counter('childStuck', { role }).add(1),
  })

  const onReport = (report: Report, child: Child): void => {
    switch (report.kind) {
      case 'ready':
        log.info({ process: child.name, childPid: child.pid }, 'process is ready')
        if (report.devChain !== undefined) {
          const isAnother = devChain !== undefined
          devChain = report.devChain
          sandboxDetail = report.detail
          // A dev chain lives in memory: after its process ended there is another one, to be
          // indexed anew.
          if (isAnother) for (const indexer of withRole('indexer')) indexer.restart()
        }
        onProgress()
        break
      case 'indexed':
        indexedEdges.add(child)
        onProgress()
        break
      case 'failed':
        // Before the service is up a failure is the operator's to mend; later it is retried.
        if (!isUp) failure ??= report.message
        onProgress()
        break
      case 'committed':
      case 'storeReplaced':
        for (const edge of withRole('edge')) edge.tell(report)
        break
      case 'accessChanged':
        for (const edge of withRole('edge')) edge.tell(report)
        break
      case 'endEdge':
        // By the id: the edge that was meant may have been replaced by now.
        for (const edge of withRole('edge')) if (edge.pid === report.pid) edge.restart()
        break
      case 'longRead':
        stuck.onLongRead(report)
        break
      case 'pong':
        stuck.onPong(child)
        break
      case 'snapshot':
        collections.get(report.call)?.(report.snapshot)
        break
      case 'wantMetrics':
        collect(report.call)
        break
      case 'tokens':
        tokens = report.tokens
        onProgress()
        break
    }
  }

  const add = (role: Role, name: string, own: Partial<Assignment>): Child => {
    const child = startChild({
      role,
      name,
      restart: {
        firstMs: processes.restartFirstMs,
        maxMs: processes.restartMaxMs,
        readyMaxMs: processes.restartReadyMaxMs,
        settledMs: processes.restartSettledMs,
      },
      assignment: () => ({ config, index: 0, devChain, sandbox, ...own }),
      onReport,
      onExit: shared.leaveEdge,
      onEnd: (ended, reason, retryInMs) => {
        indexedEdges.delete(ended)
        // What it had in flight has ended with it, and must not stand in the way of the others.
        if (role === 'edge') limits.clearEdge(own.index ?? 0)
        metrics.counter('childRestarts', { role: ended.role }).add(1)
        // A failed start is one line: the failure itself.
        if (isUp || failure === undefined)
          log.warn({ process: ended.name, reason, retryInMs }, 'process ended')
        onProgress()
      },
    })
    children.push(child)
    return child
  }

  const stopAll = async (deadlineMs: number): Promise<void> => {
    const endBy = Date.now() + deadlineMs
    // Edges first: they need the others to finish what is in flight.
    for (const role of ['edge', 'indexer', 'control', 'sandbox'] as const) {
      const leftMs = Math.max(500, endBy - Date.now())
      await Promise.all(withRole(role).map(child => child.stop(leftMs)))
    }
  }

  const until = async (isDone: () => boolean): Promise<void> => {
    let timer: NodeJS.Timeout | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        timer = setTimeout(() => {
          const missing = children.filter(child => !child.isReady).map(child => child.name)
          const what = missing.length > 0 ? missing.join(', ') : 'the first indexed block'
          reject(new StartError(`not ready after ${processes.startMs} ms: ${what}`))
        }, processes.startMs)
        onProgress = () => {
          if (failure !== undefined) reject(new StartError(failure))
          else if (isDone()) resolve()
        }
        onProgress()
      })
    } catch (error) {
      await stopAll(2_000)
      throw error
    } finally {
      clearTimeout(timer)
      onProgress = () => {}
    }
  }

  // What the others need: edges read the access store that control makes, the indexer the dev
  // chain.
  if (sandbox !== undefined) add('sandbox', 'sandbox', {})
  add('control', 'control', {})
  await until(() => children.every(child => child.isReady))
  for (const { id } of config.networks) add('indexer', `indexer ${id}`, { network: id })
  // An indexer of another chain takes the last one's store away: edges must not serve it meanwhile.
  await until(() => children.every(child => child.isReady))
  for (let index = 0; index < edgeCountOf(config); index += 1)
    add('edge', `edge ${index}`, { index })
  await until(() => children.every(child => child.isReady))
  isUp = true
  return {
    sandboxDetail: () => sandboxDetail,
    ensureTokens: async network => {
      // Still a part of the start: what control cannot do is the operator's to mend, a lost key for
      // one.
      isUp = false
      tokens = undefined
      control()?.tell({ kind: 'ensureTokens', network })
      await until(() => tokens !== undefined)
      isUp = true
      return tokens ?? {}
    },
    untilIndexed: () => until(() => withRole('edge').every(edge => indexedEdges.has(edge))),
    drain: () => stopAll(processes.drainMs - DRAIN_MARGIN_MS),
  }
}
