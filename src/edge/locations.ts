import type { EdgeConfig } from '../config/child-config.js'
import { boundUnsent, openDatagrams } from '../native/os.js'
import { quicAddresses } from '../config/listeners.js'
import { nameOfAddress } from '../server/port.js'
import { QuicServer } from '../server/quic/quic-server.js'
import { openServer, type Server } from '../server/server.js'
import { ByteBudget } from '../shared/byte-budget.js'
import type { Log } from '../shared/log.js'
import type { Metrics } from '../shared/metrics.js'
import { describeFailure, type AdmissionParts } from './admission.js'
import { readDescriptorsMax, shareOfDescriptors } from './descriptors.js'
import { DirectReads } from './direct-reads.js'
import { createRefusalCounter, meterCertificates } from './metrics.js'
import type { OpenAccess } from './access.js'
import type { EdgeNetworks } from './networks/networks.js'
import type { OpenSubmissions } from './submission/open-submissions.js'
import type { LaneCounts } from '../storage/sender-status.js'
import type { Health } from './health.js'
import { createEdgeRoutes } from './rpc-routes.js'
import { createSubmissionRoutes } from './submission/submission-routes.js'
import { Submissions } from './submission/submissions.js'
import { SYSTEM_TIMERS } from '../shared/event-loop/timers.js'
import { createEdgeQuic, type EdgeQuic } from './quic/connections.js'
import { openResetKey } from './quic/reset-key.js'
import { AccessPauses } from './websocket/access-pauses.js'
import { createEdgeSockets, type EdgeSockets } from './websocket/routes.js'
import { SubscriptionCounts, type SocketSubscriptions } from './websocket/subscription-counts.js'

export type LocationsModules = {
  readonly access: OpenAccess
  readonly networks: EdgeNetworks
  readonly submissions: OpenSubmissions
  /** This edge's slot. */
  readonly index: number
  /** Descriptors of listening sockets that this process inherited, by `nameOfAddress`. */
  readonly listeners: Readonly<Record<string, number>>
  /** Value of accessVersion, NaN once the lease has expired. */
  readonly version: () => number
  /** Cells of which the first are accessVersion and the end of the lease. */
  readonly versionCells: Float64Array
  readonly health: () => Health
  /** How many lanes of the machine are in each state. */
  readonly lanes: () => LaneCounts | undefined
  readonly log: Log
  readonly metrics: Metrics
}

type SharedByLocations = {
  readonly onRefusal: AdmissionParts['onRefusal']
  readonly budget: ByteBudget
  readonly pauses: AccessPauses
}

/** Limits the unsent bytes in the send buffers of sockets accepted from now on. */
const boundSendBuffers = (bytes: number, log: Log): void => {
  try {
    boundUnsent(bytes)
  } catch (error) {
    log.warn({ err: error }, 'unsent bytes of sockets cannot be limited')
  }
}

/** The servers of all locations at one edge. */
export class EdgeLocations {
  readonly servers: Server[] = []
  readonly quicServers: QuicServer[] = []
  private readonly sockets: EdgeSockets[] = []
  private readonly quic: EdgeQuic[] = []
  private readonly subscriptions: SubscriptionCounts
  private readonly config: EdgeConfig
  private readonly modules: LocationsModules
  /** Of one location. */
  private connectionsMax = 1

  constructor(config: EdgeConfig, modules: LocationsModules) {
    this.config = config
    this.modules = modules
    this.subscriptions = new SubscriptionCounts(modules.access.limiter, () => performance.now())
  }

  /** Opens one server for each location. */
  open(): void {
    const { config, modules } = this
    const { processes } = config
    this.boundConnections()
    const shared = {
      onRefusal: createRefusalCounter(modules.metrics),
      budget: new ByteBudget(processes.socketRepliesBytesMax),
      pauses: new AccessPauses(processes, SYSTEM_TIMERS),
    }
    for (const location of config.locations) {
      this.openLocation(location, shared)
      // At once: the limit does not apply to connections accepted before it.
      boundSendBuffers(processes.unsentBytesMax, modules.log)
    }
  }

  /** Sends a frame to all sockets that are subscribed to the topic. */
  publish(topic: string, frame: Uint8Array): void {
    for (const server of this.servers) server.publish(topic, frame)
  }

  /** Revalidates all open WebSockets and QUIC connections: those whose access has ended close. */
  revalidateSockets(): void {
    for (const sockets of this.sockets) sockets.revalidateAll()
    for (const quic of this.quic) quic.revalidateAll()
  }

  /** Reports the subscriptions of each access at this edge. */
  async reportSubscriptions(): Promise<void> {
    await this.subscriptions.report(this.eachSubscribed())
  }

  private *eachSubscribed(): Generator<SocketSubscriptions> {
    for (const sockets of this.sockets) yield* sockets.subscriptions()
  }

  /** Bounds the connections of each location by the descriptors that this process may have. */
  private boundConnections(): void {
    const { server, processes, locations } = this.config
    const descriptorsMax = readDescriptorsMax()
    const { descriptorsReserved } = processes
    const share = shareOfDescriptors(descriptorsMax, descriptorsReserved, locations.length)
    const connectionsMax = Math.min(server.connectionsMax, share)
    const { log } = this.modules
    const line = { descriptorsMax, connectionsMax }
    if (connectionsMax === server.connectionsMax) log.info(line, 'connections are bounded')
    else log.warn(line, 'connections are bounded by the open files that the system allows')
    this.connectionsMax = connectionsMax
  }

  /** Opens where a location takes transactions over QUIC. */
  private openQuic(
    { listeners }: EdgeConfig['locations'][number],
    parts: Parameters<typeof createEdgeQuic>[0],
  ): void {
    const addresses = quicAddresses({ listeners })
    if (addresses.length === 0) return
    const { config, modules } = this
    const quic = createEdgeQuic(parts)
    this.quic.push(quic)
    const resetKey = openResetKey(config.dataDir)
    for (const { at, ...address } of addresses) {
      const inherited = modules.listeners[nameOfAddress(address)]
      const server = new QuicServer({
        descriptor: inherited ?? openDatagrams(address.host, address.port),
        slot: modules.index,
        resetKey,
        tls: listeners[at]?.tls,
        open: quic.open,
        log: modules.log,
      })
      this.quicServers.push(server)
    }
  }

  private openLocation(
    place: EdgeConfig['locations'][number],
    { onRefusal, budget, pauses }: SharedByLocations,
  ): void {
    const { id: location, listeners } = place
    const { config } = this
    const { access, networks, version, versionCells, health, lanes, log, metrics } = this.modules
    const { authenticate, limiter } = access
    const { processes } = config
    const { views } = networks
    const now = Date.now
    const admission = { location, authenticate, version, limiter, now, onRefusal }
    const { bodyBytesMax, submissionBytesMax } = processes
    const replyBytes = config.rpc.requestReplyBytes
    // At level debug every request is logged, which only JavaScript does.
    const direct = log.isLevelEnabled('debug')
      ? undefined
      : new DirectReads({ versionCells, bodyBytesMax, replyBytes })
    if (direct !== undefined) metrics.beforeSnapshot(() => direct.meter(metrics))
    const submissions = new Submissions({
      ...this.modules.submissions,
      location,
      now,
      onUpstreamError: (network, route) =>
        metrics.counter('submissionErrors', { network, route }).add(1),
      log,
    })
    const sockets = createEdgeSockets({
      ...admission,
      submissions: { submissions, bytesMax: submissionBytesMax },
      views,
      direct,
      log,
      options: processes,
      timers: SYSTEM_TIMERS,
      budget,
      pauses,
      connect: (network, socket, limits) => networks.connect(network, socket, limits),
    })
    this.sockets.push(sockets)
    const routes = [
      ...createEdgeRoutes({ ...admission, bodyBytesMax, views, direct, log, health, lanes }),
      ...createSubmissionRoutes({
        ...admission,
        bodyBytesMax: submissionBytesMax,
        submissions,
      }),
    ]
    const server = openServer({
      routes,
      sockets: sockets.routes,
      listeners: listeners.map(listener => {
        const { host, port, tls } = listener
        const descriptor = this.modules.listeners[nameOfAddress({ host, port })]
        return { host, port, tls, descriptor }
      }),
      log,
      now: () => performance.now(),
      options: {
        ...config.server,
        trustedProxies: config.trustedProxies,
        connectionsMax: this.connectionsMax,
      },
      describeFailure,
      direct,
    })
    this.servers.push(server)
    this.openQuic(place, { ...admission, submissions, pauses, log })
    meterCertificates(metrics, location, server)
  }
}
