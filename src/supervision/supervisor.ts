import { setTimeout as sleep } from 'node:timers/promises'
import { openLimitTable, resetLimitTable } from '../access/limiter/limit-table.js'
import type { Config } from '../config/config.js'
import type { AccessToEnsure } from '../control/accesses/ensure-accesses.js'
import type { ChainOverride } from '../ingest/feed/sources.js'
import { ListeningSockets } from '../server/listening-sockets.js'
import type { Log } from '../shared/log.js'
import { createMetrics } from '../shared/metrics.js'
import { demandLoadable, type Child } from './child.js'
import type { EndedProcess } from '../control/incidents/ended-process.js'
import { edgeCountOf, edgeSlotsOf } from '../config/edge-count.js'
import { fixedDifferences } from '../config/fixed-options.js'
import type { Event, ServiceChange } from './messages.js'
import { StartError, warnOfOtherUsers } from './data-dir.js'
import {
  restoreMissing,
  startSuccessor,
  type HandOverParts,
  type SuccessorProgram,
} from './hand-over.js'
import { listeningAddresses } from './listening-addresses.js'
import { describeBuild, meterMachine } from './metrics/machine-metrics.js'
import { ServiceChildren, STOP_ORDER } from './service-children.js'
import { ServiceMetrics, type ChangedPage } from './metrics/service-metrics.js'
import type { ChainProvider, Service } from './service.js'
import { openSharedMemory } from './shared-memory.js'
import { openWatchdogs, type Watchdogs } from './watchdogs/watchdogs.js'
import type { Predecessor, Successor, TakeoverState } from './takeover.js'

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

type SupervisorOptions = {
  /** Descriptor of the lock of the data directory. */
  readonly lock: number
  readonly chainProvider?: ChainProvider | undefined
  /** The supervisor whose service this one takes over, until it has. */
  predecessor?: Predecessor | undefined
}

/**
 * Starts and restarts the children of one machine, passes on their messages and serves their
 * metrics. Has no stored state.
 */
export class Supervisor implements Service {
  private config: Config
  private readonly log: Log
  private readonly options: SupervisorOptions
  private successor: Successor | undefined
  private readonly shared
  private readonly metrics = createMetrics('supervisor')
  private readonly build = describeBuild()
  private readonly page
  private watchdogs: Watchdogs
  private readonly sockets
  private readonly children
  private readonly stopping = new AbortController()
  private readonly indexedEdges = new WeakSet<Child>()
  /** A successor of this process has the edges of both. */
  private readonly onEdges = (): unknown =>
    this.successor === undefined && this.sockets.route(this.children.edgeSlots())
  private chain: ChainOverride | undefined
  private detail: Readonly<Record<string, unknown>> = {}
  private tokens: Readonly<Record<string, string>> | undefined
  /** While false, a failure of a child fails the start in place of being retried. */
  private isUp = false
  private failure: string | undefined
  /** What control has not heard of yet: that it ended itself. */
  private endedControl: EndedProcess | undefined
  private onProgress: () => void = () => {}

  constructor(config: Config, log: Log, options: SupervisorOptions) {
    this.config = config
    this.log = log
    this.options = options
    this.shared = openSharedMemory(config.dataDir)
    this.sockets = new ListeningSockets(options.predecessor?.state.listeners)
    if (options.predecessor === undefined) this.resetShared()
    this.children = new ServiceChildren({
      limits: openLimitTable(config.dataDir, edgeSlotsOf(config), config.access.limits),
      sockets: this.sockets,
      chain: () => this.chain,
      onEdges: this.onEdges,
      log,
      onEvent: (event, child) => this.onEvent(event, child),
      onExit: this.shared.leaveEdge,
      onFailure: (child, reason, retryInMs) => this.onChildFailure(child, reason, retryInMs),
    })
    this.page = new ServiceMetrics(config, this.watched, options.predecessor?.state.metrics)
    this.watchdogs = openWatchdogs(config, this.watched)
    meterMachine(this.metrics, config, this.build)
  }

  /** No edge runs: what those of an earlier service left is void. */
  private resetShared(): void {
    const { cluster, dataDir } = this.config
    this.shared.clearEdges()
    // A machine by itself has the log of accesses: its store is always current.
    this.shared.setLeaseEnd(cluster === undefined ? Infinity : 0)
    resetLimitTable(dataDir)
  }

  /**
   * Starts the children in the order of what they need: edges read the access store that control
   * or a follower makes, indexers the chain provider's chain. Edges come after the indexers,
   * because an indexer of another chain first removes the store of the last one.
   */
  async start(): Promise<void> {
    await this.sockets.open(listeningAddresses(this.config))
    await this.page.open()
    const { chainProvider } = this.options
    if (chainProvider !== undefined) {
      const { name, options } = chainProvider
      this.children.addChainProvider(this.config, name, options)
    }
    if (this.config.cluster !== undefined) {
      this.children.addFollower(this.config)
      await this.untilReady()
    }
    this.children.addControl(this.config)
    await this.untilReady()
    for (const { id } of this.config.networks) this.children.addIndexer(this.config, id, true)
    this.children.addSender(this.config)
    await this.untilReady()
    for (let index = 0; index < edgeCountOf(this.config); index += 1)
      this.children.addEdge(this.config, { position: index, slot: index })
    this.children.addGeyserIfWanted(this.config)
    await this.untilReady()
    // Not before: a start that fails prints one line.
    this.onUp()
  }

  /** Replaces every child of the predecessor. Where it rejects, this process must end. */
  async takeOver(predecessor: Predecessor, to: Config): Promise<void> {
    const { children } = predecessor.state
    // Before one is replaced: the former build may be gone from the disk.
    const roles = new Set(children.map(({ role }) => role))
    const { startMs } = this.config.processes
    await Promise.all(Array.from(roles, role => demandLoadable(role, startMs)))
    for (const description of children)
      this.children.adopt(predecessor.toChild(description), description.place)
    this.isUp = true
    await this.reload(to, { isForced: true })
    // Not before: until now the predecessor's page had more of the service.
    await this.page.open()
  }

  /** The predecessor ends: from now on this process has the service. */
  async finishTakeover(predecessor: Predecessor): Promise<void> {
    await predecessor.finish()
    this.options.predecessor = undefined
    this.onUp()
  }

  private onUp(): void {
    this.isUp = true
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
    return this.until(() =>
      this.children.withRole('edge').every(edge => this.indexedEdges.has(edge)),
    )
  }

  async drain(): Promise<void> {
    const { drainMs, drainNoticeMs } = this.config.processes
    this.stopping.abort(new Error('the service stops'))
    // The edges close theirs at the same time: from then on connections are refused.
    setTimeout(() => this.sockets.keep([]), drainNoticeMs).unref()
    const leftMs = drainMs - DRAIN_MARGIN_MS
    await Promise.all([this.stopAll(leftMs), this.successor?.stop(leftMs)])
  }

  async handOver(
    program: SuccessorProgram,
    request: TakeoverState['request'],
    onFinish: (pid: number) => void,
  ): Promise<number> {
    const { children, config, log, options, sockets } = this
    const freeSlot = (slot: number): void => this.shared.clearEdge(slot)
    const parts: HandOverParts = {
      config,
      lock: options.lock,
      children,
      sockets,
      metrics: this.page.descriptor,
      freeSlot,
      onFinish: async pid => {
        await this.page.close()
        onFinish(pid)
      },
      log,
    }
    const before = children.describe()
    const successor = startSuccessor(parts, program, request)
    this.successor = successor
    try {
      await successor.hasFinished
      return successor.pid ?? 0
    } catch (error) {
      if (!this.stopping.signal.aborted) restoreMissing(parts, before)
      throw error
    } finally {
      this.successor = undefined
    }
  }

  get drainMs(): number {
    return this.config.processes.drainMs
  }

  async reload(to: Config, { isForced }: { readonly isForced: boolean }): Promise<string[]> {
    const from = this.config
    const fixed = fixedDifferences(from, to)
    if (fixed.length > 0)
      throw new Error(`cannot change while the service runs: ${fixed.join(', ')}`)
    const closeNew = await this.sockets.open(listeningAddresses(to))
    let changedPage: ChangedPage | undefined
    try {
      changedPage = await this.page.openChanged(to)
      const { children, options, stopping } = this
      const { predecessor } = options
      const changed = isForced ? children.inStartOrder() : children.changedBy({ from, to })
      await children.change(changed, { from, to, signal: stopping.signal, predecessor })
      this.use(to, changedPage)
      return changed.map(({ name }) => name)
    } catch (error) {
      void changedPage?.page.close()
      closeNew()
      throw error
    }
  }

  /** Every child runs with this configuration: uses what this process itself takes from it. */
  private use(config: Config, page: ChangedPage | undefined): void {
    this.config = config
    this.log.level = config.log.level
    this.sockets.keep(listeningAddresses(config))
    this.page.use(config, page)
    this.watchdogs.hang.stop()
    this.watchdogs = openWatchdogs(config, this.watched)
  }

  recordChange(change: ServiceChange): void {
    this.control?.send({ kind: 'recordChange', change })
  }

  private get watched() {
    const { children, log, metrics } = this
    return { children, log, metrics }
  }

  private get control(): Child | undefined {
    return this.children.withRole('control')[0]
  }

  private onChildFailure(child: Child, reason: string, retryInMs: number): void {
    this.indexedEdges.delete(child)
    this.metrics.counter('childRestarts', { role: child.role }).add(1)
    // A failed start is reported as one line: its cause.
    if (this.isUp || this.failure === undefined)
      this.log.warn({ process: child.name, reason, retryInMs }, 'process ended')
    const { name: process, role } = child
    const ended = { process, role, reason, atMs: Date.now() }
    if (this.isUp && role === 'control') this.endedControl = ended
    else if (this.isUp) this.control?.send({ kind: 'processEnded', ended })
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
        for (const child of this.children.confirming()) child.send(event)
        return
      case 'edgeUnconfirmed':
        return this.watchdogs.probe.probe(event.pid, { message: UNCONFIRMED })
      case 'longRead':
        return this.watchdogs.reader.onLongRead(event)
      case 'pong':
        this.watchdogs.hang.onPong(child)
        return this.watchdogs.probe.onPong(child)
      case 'metrics':
        return this.page.onMetrics(event.call, event.snapshot)
      case 'submissionRequested':
        return this.control?.send({ ...event, senderPid: child.pid ?? 0 })
      case 'submissionFound':
        return this.children
          .withRole('sender')
          .find(({ pid }) => pid === event.senderPid)
          ?.send({ kind: 'submissionFound', call: event.call, found: event.found })
      case 'accessesEnsured':
        this.tokens = event.tokens
        return this.onProgress()
    }
  }

  private onReady(child: Child, { chain, detail }: Extract<Event, { kind: 'ready' }>): void {
    this.log.info({ process: child.name, childPid: child.pid }, 'process is ready')
    if (child.role === 'edge') this.onEdges()
    if (chain !== undefined) {
      const isAnother = this.chain !== undefined
      this.chain = chain
      this.detail = detail
      // A chain provider's chain ends with its process: the next one is indexed from its beginning.
      if (isAnother) for (const one of this.children.withRole('indexer', 'geyser')) one.restart()
    }
    if (child === this.control && this.endedControl !== undefined) {
      child.send({ kind: 'processEnded', ended: this.endedControl })
      this.endedControl = undefined
    }
    this.onProgress()
  }

  private untilReady(): Promise<void> {
    return this.until(() => this.children.all.every(child => child.isReady))
  }

  /**
   * Waits for a step of the start. Ends the children and throws if it fails or takes too long.
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
    const missing = this.children.all.filter(child => !child.isReady).map(child => child.name)
    return missing.length > 0 ? missing.join(', ') : 'the first indexed block'
  }

  /** Edges first: they need the others to finish their requests in flight. */
  private async stopAll(deadlineMs: number): Promise<void> {
    this.watchdogs.hang.stop()
    const endMs = Date.now() + deadlineMs
    for (const role of STOP_ORDER) {
      const leftMs = Math.max(ROLE_DRAIN_MS, endMs - Date.now())
      await Promise.all(this.children.withRole(role).map(child => child.stop(leftMs)))
    }
    void this.page.close()
  }
}
