import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openLimitTable, resetLimitTable } from '../access/limiter/access-limiter.js'
import {
  toChainProviderConfig,
  toControlConfig,
  toEdgeConfig,
  toFollowerConfig,
  toIndexerConfig,
} from '../config/child-config.js'
import type { Config } from '../config/config.js'
import { ownLocations } from '../config/own-locations.js'
import { peerListeners } from '../config/peer-listeners.js'
import type { AccessToEnsure } from '../control/ensure-accesses.js'
import type { ChainOverride } from '../ingest/feed/sources.js'
import { lockFile } from '../native/os.js'
import { probePort } from '../server/port.js'
import type { Log } from '../shared/log.js'
import { createMetrics } from '../shared/metrics.js'
import { startChild, type Child } from '../supervision/child.js'
import { disableCpuIdle } from '../supervision/cpu-idle.js'
import { edgeCountOf } from '../config/edge-count.js'
import type { Assignment, Event, ChainProviderProgram, Role } from '../supervision/messages.js'
import { HangWatchdog } from '../supervision/hang-watchdog.js'
import { MetricsCollector } from '../supervision/metrics-collector.js'
import { describeBuild, meterMachine } from './machine-metrics.js'
import { openSharedMemory } from './shared-memory.js'
import { LivenessProbe } from '../supervision/liveness-probe.js'
import { openMetricsPage, type MetricsPage } from '../supervision/metrics-page.js'
import { StuckReaderWatchdog } from '../supervision/stuck-reader-watchdog.js'

/** Part of the drain time that is left for this process' own end. */
const DRAIN_MARGIN_MS = 500
/** Least time that each role has to drain, also after the others used up the drain time. */
const ROLE_DRAIN_MS = 500
/** Time for the children to end after a failed start. */
const FAILED_START_MS = 2_000

/**
 * An edge that is only busy confirms a change of accesses before it answers the ping: it receives
 * them in this order. One that answers nothing may still answer admitted requests later.
 */
const UNCONFIRMED =
  'an edge neither confirms a change of accesses nor answers: restarting its process'

/** A start that cannot succeed; its message is one line for the operator. */
class StartError extends Error {}

type Listener = { readonly host: string; readonly port: number }

/** A process beside the service that provides its chain: started first, stopped last. */
export type ChainProvider = ChainProviderProgram & {
  readonly name: string
  /** Ports that it will listen on: probed with the service's own before anything starts. */
  readonly listeners: readonly Listener[]
}

/** The running service. */
export type Service = {
  /** What the chain provider sent with its `ready` event. */
  chainProviderDetail(): Readonly<Record<string, unknown>>
  /** Grants accesses of a network that do not exist yet; answers their tokens by location. */
  ensureAccesses(
    network: string,
    accesses: readonly AccessToEnsure[],
  ): Promise<Readonly<Record<string, string>>>
  /** Resolves when every edge can answer from an indexed slot. */
  untilIndexed(): Promise<void>
  /** Fails health, finishes requests in flight, ends the children. */
  drain(): Promise<void>
}

/** Permissions of users other than the owner. */
const OTHERS = 0o077

const prepareDataDir = (dataDir: string): void => {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (!lockFile(join(dataDir, 'supervisor.lock')))
    throw new StartError(`another Slotline runs on the data directory ${dataDir}`)
}

/** An operator's folder keeps its mode: it may be shared on purpose. */
const warnOfOtherUsers = (dataDir: string, log: Log): void => {
  const mode = statSync(dataDir).mode & 0o777
  if ((mode & OTHERS) !== 0)
    log.warn({ dataDir, mode: mode.toString(8) }, 'other users may open the data directory')
}

const probePorts = async (
  config: Config,
  chainProvider: ChainProvider | undefined,
): Promise<void> => {
  const own = ownLocations(config).flatMap(location => location.listeners)
  const listeners = [
    ...own,
    config.metrics,
    config.dashboard,
    ...peerListeners(config),
    ...(chainProvider?.listeners ?? []),
  ]
  for (const { host, port } of listeners) await probePort(host, port)
}

const tryToDisableCpuIdle = (log: Log): void => {
  try {
    disableCpuIdle()
  } catch (error) {
    log.warn({ err: error }, 'the system does not allow disabling processor sleep states')
  }
}

/**
 * Starts and restarts the children of one machine, passes on their messages and serves their
 * metrics. Has no stored state.
 */
class Supervisor implements Service {
  private readonly config: Config
  private readonly log: Log
  private readonly chainProvider: ChainProvider | undefined
  private readonly shared
  private readonly limits
  private readonly metrics = createMetrics('supervisor')
  private readonly build = describeBuild()
  private readonly collector
  private readonly edgeProbe
  private readonly readerWatchdog
  private readonly hangWatchdog
  private metricsPage: MetricsPage | undefined
  private readonly children: Child[] = []
  private readonly indexedEdges = new Set<Child>()
  private chain: ChainOverride | undefined
  private detail: Readonly<Record<string, unknown>> = {}
  private tokens: Readonly<Record<string, string>> | undefined
  /** While false, a failure of a child fails the start in place of being retried. */
  private isUp = false
  private failure: string | undefined
  private onProgress: () => void = () => {}

  constructor(config: Config, log: Log, chainProvider: ChainProvider | undefined) {
    this.config = config
    this.log = log
    this.chainProvider = chainProvider
    this.shared = openSharedMemory(config.dataDir)
    this.shared.clearEdges()
    // A machine by itself has the log of accesses: its store is always current.
    this.shared.setLeaseEnd(config.cluster === undefined ? Infinity : 0)
    resetLimitTable(config.dataDir)
    this.limits = openLimitTable(config.dataDir, edgeCountOf(config), config.access.limits)
    this.collector = new MetricsCollector(this.metrics, config.processes.metricsMs)
    const countStuck = ({ role }: Child): void =>
      this.metrics.counter('childStuck', { role }).add(1)
    const { answerMs, hungMs, pingMs } = config.processes
    const edges = (): readonly Child[] => this.withRole('edge')
    this.edgeProbe = new LivenessProbe({ answerMs, children: edges, log, onEnd: countStuck })
    this.readerWatchdog = new StuckReaderWatchdog(config, this.edgeProbe)
    meterMachine(this.metrics, config, this.build)
    // A chain provider is not restarted: its chain is in its memory.
    const children = (): readonly Child[] =>
      this.children.filter(({ role }) => role !== 'chain-provider')
    this.hangWatchdog = new HangWatchdog({ hungMs, pingMs, children, log, onHung: countStuck })
  }

  /**
   * Starts the children in the order of what they need: edges read the access store that control
   * or a follower makes, indexers the chain provider's chain. Edges come after the indexers,
   * because an indexer of another chain first removes the store of the last one.
   */
  async start(): Promise<void> {
    this.metricsPage = await openMetricsPage({
      ...this.config.metrics,
      collect: () => this.collector.collect(this.children),
      log: this.log,
    })
    if (this.chainProvider !== undefined) this.addChainProvider(this.chainProvider)
    if (this.config.cluster !== undefined) {
      this.add('follower', 'follower', () => ({ config: toFollowerConfig(this.config) }))
      await this.untilReady()
    }
    this.add('control', 'control', () => ({ config: toControlConfig(this.config) }))
    await this.untilReady()
    for (const { id } of this.config.networks) this.addIndexer(id)
    await this.untilReady()
    for (let index = 0; index < edgeCountOf(this.config); index += 1) this.addEdge(index)
    await this.untilReady()
    this.isUp = true
    // Not before: a start that fails prints one line.
    this.log.info(this.build, 'Slotline runs')
    warnOfOtherUsers(this.config.dataDir, this.log)
  }

  chainProviderDetail(): Readonly<Record<string, unknown>> {
    return this.detail
  }

  async ensureAccesses(
    network: string,
    accesses: readonly AccessToEnsure[],
  ): Promise<Readonly<Record<string, string>>> {
    // Part of the start: a failure of control, such as a lost key, is reported and not retried.
    this.isUp = false
    this.tokens = undefined
    this.control?.send({ kind: 'ensureAccesses', network, accesses })
    await this.until(() => this.tokens !== undefined)
    this.isUp = true
    return this.tokens ?? {}
  }

  untilIndexed(): Promise<void> {
    return this.until(() => this.withRole('edge').every(edge => this.indexedEdges.has(edge)))
  }

  drain(): Promise<void> {
    return this.stopAll(this.config.processes.drainMs - DRAIN_MARGIN_MS)
  }

  private withRole(role: Role): Child[] {
    return this.children.filter(child => child.role === role)
  }

  private get control(): Child | undefined {
    return this.withRole('control')[0]
  }

  private addChainProvider({ module, name, options }: ChainProvider): void {
    const config = toChainProviderConfig(this.config)
    this.add('chain-provider', name, () => ({ config, chainProvider: { module, options } }))
  }

  private addIndexer(network: string): void {
    const config = toIndexerConfig(this.config, network)
    this.add('indexer', `indexer ${network}`, () => ({ config, network, chain: this.chain }))
  }

  private addEdge(index: number): void {
    const config = toEdgeConfig(this.config)
    const assignment = (): Assignment => ({ config, index })
    // Its requests in flight ended with it and must not count against the limits.
    this.add('edge', `edge ${index}`, assignment, () => this.limits.clearEdge(index))
  }

  private add(
    role: Role,
    name: string,
    assignment: () => Assignment,
    onFailure: () => void = () => {},
  ): void {
    const { processes } = this.config
    const child = startChild({
      role,
      name,
      restart: {
        firstMs: processes.restartFirstMs,
        maxMs: processes.restartMaxMs,
        readyMaxMs: processes.restartReadyMaxMs,
        settledMs: processes.restartSettledMs,
      },
      assignment,
      onEvent: (event, from) => this.onEvent(event, from),
      onExit: this.shared.leaveEdge,
      onFailure: (failed, reason, retryInMs) => {
        onFailure()
        this.onChildFailure(failed, reason, retryInMs)
      },
    })
    this.children.push(child)
  }

  private onChildFailure(child: Child, reason: string, retryInMs: number): void {
    this.indexedEdges.delete(child)
    this.metrics.counter('childRestarts', { role: child.role }).add(1)
    // A failed start is reported as one line: its cause.
    if (this.isUp || this.failure === undefined)
      this.log.warn({ process: child.name, reason, retryInMs }, 'process ended')
    this.onProgress()
  }

  private onEvent(event: Event, child: Child): void {
    switch (event.kind) {
      case 'ready':
        return this.onReady(child, event)
      case 'indexed':
        this.indexedEdges.add(child)
        return this.onProgress()
      case 'failed':
        if (!this.isUp) this.failure ??= event.message
        return this.onProgress()
      case 'committed':
      case 'storeReplaced':
      case 'accessChanged':
        for (const edge of this.withRole('edge')) edge.send(event)
        return
      case 'edgeUnconfirmed':
        return this.edgeProbe.probe(event.pid, { message: UNCONFIRMED })
      case 'longRead':
        return this.readerWatchdog.onLongRead(event)
      case 'pong':
        this.hangWatchdog.onPong(child)
        return this.edgeProbe.onPong(child)
      case 'metrics':
        return this.collector.onMetrics(event.call, event.snapshot)
      case 'submissionRequested':
        return this.control?.send({ ...event, edgePid: child.pid ?? 0 })
      case 'submissionFound':
        return this.withRole('edge')
          .find(({ pid }) => pid === event.edgePid)
          ?.send({ kind: 'submissionFound', call: event.call, found: event.found })
      case 'accessesEnsured':
        this.tokens = event.tokens
        return this.onProgress()
    }
  }

  private onReady(child: Child, { chain, detail }: Extract<Event, { kind: 'ready' }>): void {
    this.log.info({ process: child.name, childPid: child.pid }, 'process is ready')
    if (chain !== undefined) {
      const isAnother = this.chain !== undefined
      this.chain = chain
      this.detail = detail
      // A chain provider's chain ends with its process: the next one is indexed from its beginning.
      if (isAnother) for (const indexer of this.withRole('indexer')) indexer.restart()
    }
    this.onProgress()
  }

  private untilReady(): Promise<void> {
    return this.until(() => this.children.every(child => child.isReady))
  }

  /**
   * Waits for a step of the start. Ends the children and throws where it fails or takes too long.
   */
  private async until(isDone: () => boolean): Promise<void> {
    const { startMs } = this.config.processes
    const timeout = new AbortController()
    try {
      await new Promise<void>((resolve, reject) => {
        sleep(startMs, undefined, timeout).then(
          () => reject(new StartError(`not ready after ${startMs} ms: ${this.describeMissing()}`)),
          () => {},
        )
        this.onProgress = () => {
          if (this.failure !== undefined) reject(new StartError(this.failure))
          else if (isDone()) resolve()
        }
        this.onProgress()
      })
    } catch (error) {
      await this.stopAll(FAILED_START_MS)
      throw error
    } finally {
      timeout.abort()
      this.onProgress = () => {}
    }
  }

  private describeMissing(): string {
    const missing = this.children.filter(child => !child.isReady).map(child => child.name)
    return missing.length > 0 ? missing.join(', ') : 'the first indexed block'
  }

  /** Edges first: they need the others to finish their requests in flight. */
  private async stopAll(deadlineMs: number): Promise<void> {
    this.hangWatchdog.stop()
    const endMs = Date.now() + deadlineMs
    for (const role of ['edge', 'indexer', 'control', 'follower', 'chain-provider'] as const) {
      const leftMs = Math.max(ROLE_DRAIN_MS, endMs - Date.now())
      await Promise.all(this.withRole(role).map(child => child.stop(leftMs)))
    }
    this.metricsPage?.close()
  }
}

/** Starts the service of one machine: every process, and a chain provider where one is given. */
export const startService = async (
  config: Config,
  log: Log,
  chainProvider?: ChainProvider,
): Promise<Service> => {
  prepareDataDir(config.dataDir)
  await probePorts(config, chainProvider)
  if (config.processes.disableCpuIdle) tryToDisableCpuIdle(log)
  const supervisor = new Supervisor(config, log, chainProvider)
  await supervisor.start()
  return supervisor
}
