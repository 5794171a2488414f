import { createAuthenticate } from '../access/authenticate.js'
import { UsageLimiter } from '../access/limiter/usage-limiter.js'
import { AccessLimiter, openLimitTable } from '../access/limiter/access-limiter.js'
import { openReader } from '../access/store/store.js'
import { openUsage } from '../access/usage/usage.js'
import type { Origin } from '../rpc/dispatch.js'
import { METHODS } from '../rpc/registry.js'
import { openServer, type Server, type ServerStats } from '../server/server.js'
import { CLOSE_CODES, OTHER_CLOSE } from '../server/websocket/backpressure-monitor.js'
import type { ErrorName } from '../shared/errors.js'
import { openLog } from '../shared/log.js'
import { createMetrics, type Metrics } from '../shared/metrics.js'
import { createIds } from '../submission/store/submission-id.js'
import type { RelayRoute } from '../submission/store/submission.js'
import type { TransactionChecks } from '../native/transactions.js'
import { raiseLoopPriority } from '../edge/event-loop-priority.js'
import { boundUnsent } from '../native/os.js'
import { CLOSE, SOCKET_METHODS } from '../shared/socket.js'
import { describeFailure, REFUSED_AS, type RefusedAs } from '../edge/admission.js'
import { edgeCountOf, leavesCore } from './edge-count.js'
import { createEdgeRoutes } from '../edge/rpc-routes.js'
import { createEdgeSockets, type EdgeSockets } from '../edge/websocket/routes.js'
import { sendMetrics } from './send-metrics.js'
import { createJudge } from '../edge/websocket/group.js'
import { createSubmissionRoutes } from '../edge/submission-routes.js'
import { createNetworkView, type NetworkView } from '../edge/network-view.js'
import { openForward } from '../edge/open-forward.js'
import { openLander } from '../edge/open-lander.js'
import { openPubSub } from '../edge/open-pubsub.js'
import { openRelays } from '../edge/open-relays.js'
import type { Start } from './role.js'
import { openSharedMemory } from './shared-memory.js'

/** Counts calls without making anything per call: each method's series are found once. */
const createCallMeter = (metrics: Metrics) => {
  const meters = new Map(
    [...METHODS.keys(), ...SOCKET_METHODS, 'forwarded', 'unknown', 'none'].map(method => [
      method,
      {
        ok: metrics.counter('requests', { method, outcome: 'ok' }),
        time: metrics.histogram('requestSeconds', { method }),
      },
    ]),
  )
  return (method: string, outcome: 'ok' | ErrorName, elapsedMs: number): void => {
    const meter = meters.get(method)
    if (meter === undefined) return
    if (outcome === 'ok') meter.ok.add(1)
    else metrics.counter('requests', { method, outcome }).add(1)
    meter.time.observe(elapsedMs / 1000)
  }
}

const meterServers = (metrics: Metrics, servers: readonly Server[]): void => {
  const bodies = metrics.gauge('bodiesInFlight')
  const aborts = metrics.counter('httpAborts')
  let aborted = 0
  metrics.beforeSnapshot(() => {
    const stats = servers.map(server => server.stats())
    bodies.set(stats.reduce((sum, { bodyBytesInFlight }) => sum + bodyBytesInFlight, 0))
    const now = stats.reduce((sum, { abortedCount }) => sum + abortedCount, 0)
    aborts.add(now - aborted)
    aborted = now
  })
}

const meterSockets = (metrics: Metrics, servers: readonly Server[]): void => {
  const sockets = metrics.gauge('sockets')
  const queued = metrics.gauge('socketQueued')
  const messages = metrics.counter('socketMessages')
  const closes = new Map(
    [...CLOSE_CODES, OTHER_CLOSE].map(code => [
      code,
      metrics.counter('socketCloses', { code: code === OTHER_CLOSE ? 'other' : String(code) }),
    ]),
  )
  const counted = new Map<string, number>()
  /** What a count has gained since the last time. */
  const gain = (name: string, count: number): number => {
    const last = counted.get(name) ?? 0
    counted.set(name, count)
    return count - last
  }
  metrics.beforeSnapshot(() => {
    const stats = servers.map(server => server.stats())
    const sum = (of: (one: ServerStats) => number): number =>
      stats.reduce((total, one) => total + of(one), 0)
    sockets.set(sum(one => one.sockets))
    queued.set(sum(one => one.socketQueuedBytes))
    messages.add(
      gain(
        'messages',
        sum(one => one.messagesCount),
      ),
    )
    for (const [code, counter] of closes)
      counter.add(
        gain(
          String(code),
          sum(one => one.closes.get(code) ?? 0),
        ),
      )
  })
}

const meterViews = (
  metrics: Metrics,
  views: Iterable<NetworkView>,
  servers: readonly Server[],
): void => {
  /** Replies that the servers copied, because their buffer was to be used again. */
  const copied = (): number =>
    servers.reduce((sum, server) => sum + server.stats().replyBytesInFlight, 0)
  const replies = metrics.gauge('repliesInFlight')
  const scan = metrics.gauge('queueDepth', { pool: 'scan' })
  const stream = metrics.gauge('queueDepth', { pool: 'stream' })
  const all = Array.from(views, view => ({
    view,
    slot: metrics.gauge('tipSlot', { network: view.network }),
    age: metrics.gauge('tipAge', { network: view.network }),
  }))
  metrics.beforeSnapshot(() => {
    for (const { view, slot, age } of all) {
      slot.set(view.tipSlot ?? 0)
      age.set(view.tipAgeMs(performance.now()) / 1000)
      // The pools are the process's: any reader tells.
      const pools = view.reader?.poolStats()
      if (pools === undefined) continue
      replies.set(pools.replyBytesInFlight + copied())
      scan.set(pools.scanWaiting)
      stream.set(pools.streamWaiting)
    }
  })
}

/** The pool is the process's: the checks of any route tell. */
const meterChecks = (metrics: Metrics, checks: TransactionChecks | undefined): void => {
  if (checks === undefined) return
  const waiting = metrics.gauge('queueDepth', { pool: 'verify' })
  metrics.beforeSnapshot(() => waiting.set(checks.stats().verifyWaiting))
}

/** An edge: the RPC URLs of every location of this machine. */
export const startEdge: Start = async ({ config, index }, send) => {
  const { log, flush, droppedCount } = openLog(`edge ${index}`, config.log)
  const metrics = createMetrics(`edge ${index}`)
  const shared = openSharedMemory(config.dataDir)
  const access = await openReader(config.dataDir, config.access.store)
  const table = openLimitTable(config.dataDir, edgeCountOf(config), config.access.limits)
  // What an earlier life of this edge had in flight.
  table.clearEdge(index)
  const usage = openUsage(config.dataDir, index, {
    options: config.access.usage,
    onFault: fault => log.error({ err: fault }, 'counts of tokens are not kept'),
  })
  const limiter = new UsageLimiter(new AccessLimiter(table, index), usage)
  const sweep = setInterval(() => limiter.sweep(Date.now()), config.access.usage.sweepMs)
  limiter.sweep(Date.now())
  const authenticate = createAuthenticate(
    access,
    shared.accessVersion,
    config.access.authenticate,
    (reason, tokenId, address, nowMs) => usage.addRefused(reason, tokenId, address, nowMs),
  )

  const now = (): number => performance.now()
  const modules = {
    onCall: createCallMeter(metrics),
    onFault: (fault: unknown, method: string, { id, tokenId }: Origin): void =>
      log.error({ err: fault, method, requestId: id, tokenId }, 'a read failed'),
    now,
  }
  const submission = { log, metrics, now }
  const forwards = await Promise.all(
    config.networks.map(async network => ({
      id: network.id,
      opened: await openForward(network, submission),
    })),
  )
  const servers: Server[] = []
  const publish = (topic: string, frame: Uint8Array): void => {
    for (const server of servers) server.publish(topic, frame)
  }
  const pubsubs = new Map(
    config.networks.map(network => [
      network.id,
      openPubSub(config, network, { log, metrics, publish }),
    ]),
  )
  const views = new Map(
    forwards.map(({ id, opened }) => [
      id,
      createNetworkView(
        config,
        id,
        { ...modules, forward: opened?.forward },
        log,
        pubsubs.get(id)?.follower,
      ),
    ]),
  )

  /**
   * Replies of one tick have left with it, and all others are rechecked before they do: so by this
   * tick nothing of an older version can leave. Whatever stays open for longer than a request is to
   * be judged again here, first.
   */
  const locationSockets: EdgeSockets[] = []
  let judged = Number.NaN
  const judgeSockets = (): void => {
    for (const sockets of locationSockets) sockets.judge()
  }
  const confirmVersion = (): void => {
    const version = shared.accessVersion()
    if (version !== judged) judgeSockets()
    judged = version
    shared.confirmVersion(index, version)
  }
  let isIndexed = false
  const refresh = (): void => {
    confirmVersion()
    const nowMs = performance.now()
    for (const view of views.values()) view.refresh(nowMs)
    if (isIndexed || [...views.values()].some(view => view.tipSlot === undefined)) return
    isIndexed = true
    send({ kind: 'indexed' })
  }
  refresh()
  const poll = setInterval(refresh, config.processes.tipPollMs)

  let isDraining = false
  let isClosed = false
  const health = (): 'ok' | 'behind' | 'draining' | 'unknown' => {
    if (isDraining) return 'draining'
    const nowMs = performance.now()
    let worst: 'ok' | 'behind' = 'ok'
    for (const view of views.values()) {
      if (view.tipSlot === undefined || view.isIncomplete) return 'unknown'
      if (view.tipAgeMs(nowMs) > config.processes.tipAgeMaxMs) worst = 'behind'
    }
    return worst
  }

  const refusals = new Map(
    REFUSED_AS.map(reason => [reason, metrics.counter('refusals', { reason })]),
  )
  const onRefusal = (reason: RefusedAs): void => refusals.get(reason)?.add(1)
  const landers = await Promise.all(
    config.networks.map(async network => ({
      network: network.id,
      opened: await openLander(config, network, submission),
    })),
  )
  const relays = await openRelays(config, { index, count: edgeCountOf(config) }, submission)
  const submissions = new Map(
    landers.map(({ network, opened }) => [
      network,
      { lander: opened?.lander, relay: (route: RelayRoute) => relays.find(network, route) },
    ]),
  )
  const lander = landers.find(({ opened }) => opened !== undefined)?.opened
  meterChecks(metrics, lander?.checks ?? relays.checks)
  const newSubmissionId = createIds(Date.now)

  const judge = createJudge(onRefused =>
    createAuthenticate(access, shared.accessVersion, config.access.authenticate, onRefused),
  )
  const budget = { heldBytes: 0, heldBytesMax: config.processes.socketRepliesBytesMax }
  const check = setInterval(judgeSockets, config.processes.socketCheckMs)

  shared.enterEdge(index, process.pid)
  const boundConnections = (): void => {
    try {
      boundUnsent(config.processes.unsentBytesMax)
    } catch (error) {
      log.warn({ err: error }, 'the kernel takes more for clients that do not read')
    }
  }
  for (const location of config.locations) {
    const admission = {
      location: location.id,
      authenticate,
      version: shared.accessVersion,
      limiter,
      now: Date.now,
      onRefusal,
    }
    const { bodyBytesMax, submissionBytesMax } = config.processes
    const sockets = createEdgeSockets({
      ...admission,
      views,
      log,
      options: config.processes,
      judge,
      budget,
      connect: (network, socket, limits) => pubsubs.get(network)?.connect(socket, limits),
    })
    locationSockets.push(sockets)
    servers.push(
      await openServer({
        routes: [
          ...createEdgeRoutes({ ...admission, bodyBytesMax, views, log, health }),
          ...createSubmissionRoutes({
            ...admission,
            bodyBytesMax: submissionBytesMax,
            networks: submissions,
            newSubmissionId,
            log,
          }),
        ],
        sockets: sockets.routes,
        listeners: location.listeners,
        log,
        now: () => performance.now(),
        options: { ...config.server, trustedProxies: config.trustedProxies },
        describeFailure,
      }),
    )
    // At once: it holds for what is accepted from now on.
    boundConnections()
  }
  meterServers(metrics, servers)
  meterSockets(metrics, servers)
  meterViews(metrics, views.values(), servers)
  // Last: a thread inherits the slice of the thread that creates it, and the pools are created
  // above.
  const { edgeRealtime, edgeSliceMicros } = config.processes
  const stopLoopPriority = raiseLoopPriority(
    { sliceMicros: edgeSliceMicros, isRealtime: edgeRealtime && leavesCore(config) },
    log,
  )
  const dropped = metrics.gauge('logDropped')
  metrics.beforeSnapshot(() => dropped.set(droppedCount()))

  return {
    onCommand: command => {
      if (command.kind === 'accessChanged') return confirmVersion()
      // What the others read is closed by now.
      if (isClosed) return
      if (command.kind === 'committed' || command.kind === 'storeReplaced') refresh()
      else if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
    },
    drain: async () => {
      isDraining = true
      // At once: they find another edge while this one still answers what is on its way.
      for (const server of servers) server.closeSockets(CLOSE.restart, 'restart')
      await new Promise(resolve => setTimeout(resolve, config.processes.drainNoticeMs))
      await Promise.all(servers.map(server => server.drain()))
      clearInterval(poll)
      clearInterval(check)
      clearInterval(sweep)
      stopLoopPriority()
      isClosed = true
      for (const pubsub of pubsubs.values()) pubsub.close()
      for (const view of views.values()) view.close()
      const opened = [...landers, ...forwards]
      await Promise.all([...opened.map(({ opened }) => opened?.close()), relays.close()])
      await access.close()
      flush()
    },
  }
}
