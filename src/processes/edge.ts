import { setTimeout as sleep } from 'node:timers/promises'
import { raiseLoopPriority } from '../edge/event-loop-priority.js'
import {
  meterConnections,
  meterPriority,
  meterLog,
  meterLoop,
  meterQuic,
  meterServers,
  meterViews,
} from '../edge/metrics.js'
import { openAccess, type OpenAccess } from '../edge/access.js'
import { EdgeLocations } from '../edge/locations.js'
import { openNetworks, type EdgeNetworks } from '../edge/networks/networks.js'
import { openSubmissions, type OpenSubmissions } from '../edge/submission/open-submissions.js'
import { StoredSubmissions } from '../edge/submission/stored-submissions.js'
import { openLog, type Log } from '../shared/log.js'
import { createMetrics, type Metrics } from '../shared/metrics.js'
import type { Health } from '../edge/health.js'
import { edgeSlotsOf, leavesCore } from '../config/edge-count.js'
import type { Assignments, Command, DrainMode, SendEvent } from '../supervision/messages.js'
import { readVersion } from '../supervision/build.js'
import { openSharedMemory, type SharedMemory } from '../supervision/shared-memory.js'
import { sendMetrics, type Running, type Start } from './start.js'

type EdgeParts = Assignments['edge'] & {
  readonly send: SendEvent
  readonly log: Log
  readonly metrics: Metrics
  readonly shared: SharedMemory
  readonly access: OpenAccess
  readonly networks: EdgeNetworks
  readonly stored: StoredSubmissions
}

const now = (): number => performance.now()

class Edge implements Running {
  private readonly parts: EdgeParts
  private submissions: OpenSubmissions | undefined
  private locations: EdgeLocations | undefined
  private readonly timers: NodeJS.Timeout[] = []
  private stopLoopPriority = (): void => {}
  private confirmedVersion = Number.NaN
  private isIndexedSent = false
  private isDraining = false
  private isClosed = false

  constructor(parts: EdgeParts) {
    this.parts = parts
  }

  /** Opens the stores of all networks, then the upstreams, then the servers. */
  async open(): Promise<void> {
    const { config, index, listeners, log, metrics, shared, access, networks, stored } = this.parts
    const { edgeRealtime, edgeSliceMicros, socketCheckMs, tipPollMs } = config.processes
    this.refresh()
    this.timers.push(setInterval(() => this.refresh(), tipPollMs))
    const { leasedVersion: version, cells: versionCells } = shared
    const submissions = await openSubmissions(config, { log, metrics, now, version }, stored)
    this.submissions = submissions
    shared.enterEdge(index, process.pid)
    const health = () => this.health()
    const cells = { version, versionCells }
    const opened = { access, networks, submissions, index, listeners }
    const modules = { ...opened, ...cells, health, lanes: shared.lanes, log, metrics }
    const locations = new EdgeLocations(config, modules)
    this.locations = locations
    locations.open()
    const checkSockets = (): void => {
      locations.revalidateSockets()
      locations.reportSubscriptions().catch((fault: unknown) => {
        log.error({ err: fault }, 'subscriptions were not counted')
      })
    }
    this.timers.push(setInterval(checkSockets, socketCheckMs))
    meterServers(metrics, locations.servers)
    meterConnections(metrics, locations.servers)
    meterQuic(metrics, locations.quicServers)
    meterViews(metrics, networks.views.values(), locations.servers)
    // Now: what opens stores takes longer than any later turn.
    meterLoop(metrics)
    // Last: a thread inherits the slice of the thread that creates it, and the pools exist now.
    const priority = raiseLoopPriority(
      { sliceMicros: edgeSliceMicros, isRealtime: edgeRealtime && leavesCore(config) },
      log,
    )
    this.stopLoopPriority = priority.stop
    const state = () => {
      const found = priority.state()
      return found !== 'not-wanted' ? found : edgeRealtime ? 'no-spare-core' : 'off'
    }
    meterPriority(metrics, state)
    log.info({ priority: state() }, 'the edge serves')
  }

  /** Sends a frame to all sockets that are subscribed to the topic. */
  publish(topic: string, frame: Uint8Array): void {
    if (this.isLeased) this.locations?.publish(topic, frame)
    else this.locations?.revalidateSockets()
  }

  onCommand(command: Command): void {
    const { metrics, send } = this.parts
    if (command.kind === 'accessChanged') return this.confirmVersion()
    if (this.isClosed) return
    if (command.kind === 'committed' || command.kind === 'storeReplaced') this.refresh()
    else if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
  }

  async drain(mode: DrainMode): Promise<void> {
    const { config, access, networks } = this.parts
    const { servers = [], quicServers = [] } = this.locations ?? {}
    // The service continues where a successor listens: a balancer has nothing to notice.
    if (!mode.isReplaced) {
      this.isDraining = true
      await sleep(config.processes.drainNoticeMs)
    }
    await Promise.all([
      ...servers.map(server => server.drain(mode)),
      ...quicServers.map(server => server.drain(config.server.drainMs)),
    ])
    for (const timer of this.timers) clearInterval(timer)
    this.stopLoopPriority()
    this.isClosed = true
    await networks.close()
    await this.submissions?.close()
    await this.parts.stored.close()
    await access.close()
  }

  private get isLeased(): boolean {
    return !Number.isNaN(this.parts.shared.leasedVersion())
  }

  private health(): Health {
    if (this.isDraining) return 'draining'
    return this.isLeased ? this.parts.networks.health(now()) : 'lease-expired'
  }

  private refresh(): void {
    const { index, networks, send, shared } = this.parts
    this.confirmVersion()
    networks.refresh(now())
    shared.report(index, this.health(), networks.tips(), networks.slotTimes())
    if (this.isIndexedSent || !networks.isIndexed) return
    this.isIndexedSent = true
    send({ kind: 'indexed' })
  }

  /**
   * Confirms that nothing is sent any more under an older version. Replies are rechecked before
   * they are sent and leave in the same tick; open WebSockets are revalidated here.
   */
  private confirmVersion(): void {
    const { index, shared } = this.parts
    const current = shared.accessVersion()
    if (current !== this.confirmedVersion || !this.isLeased) this.locations?.revalidateSockets()
    this.confirmedVersion = current
    shared.confirmVersion(index, current)
  }
}

/** An edge: serves the RPC, WebSocket and submission URLs of every location of this machine. */
export const startEdge: Start<'edge'> = async (assignment, send) => {
  const { config, index, position } = assignment
  const { log, flush, droppedCount } = openLog(`edge ${position}`, config.log)
  const metrics = createMetrics(`edge ${position}`)
  meterLog(metrics, droppedCount)
  const shared = openSharedMemory(config.dataDir)
  const { leasedVersion: version } = shared
  const access = await openAccess(config, { index, edgeCount: edgeSlotsOf(config), version, log })
  let edge: Edge | undefined
  const publish = (topic: string, frame: Uint8Array): void => edge?.publish(topic, frame)
  const stored = new StoredSubmissions(config, log)
  const networks = await openNetworks(config, {
    stored,
    log,
    metrics,
    now,
    publish,
    isLagging: shared.isLagging,
    version: readVersion(),
  })
  const running = new Edge({ ...assignment, send, log, metrics, shared, access, networks, stored })
  edge = running
  await running.open()
  return {
    onCommand: command => running.onCommand(command),
    drain: async mode => {
      await running.drain(mode)
      flush()
    },
  }
}
