import type { GrpcServer } from '../native/server/grpc-server.js'
import type { QuicStats } from '../native/server/quic-listener.js'
import type { TransactionChecks } from '../native/transactions.js'
import { SUBSCRIPTION_METHODS } from '../pubsub/methods.js'
import type { CallOutcome } from '../rpc/call-runner.js'
import { METHODS } from '../rpc/registry.js'
import { closedConnections } from '../server/compiled/closed.js'
import { CONNECTION_LIMITS } from '../server/compiled/functions.js'
import { measureTurns } from '../server/compiled/turns.js'
import type { QuicServer } from '../server/quic/quic-server.js'
import type { Server, ServerStats } from '../server/server.js'
import { CLOSE_CODES, OTHER_CLOSE } from '../server/websocket/socket-registry.js'
import { BUCKET_SECONDS, type Counter, type Metrics } from '../shared/metrics.js'
import { REFUSED_AS, type RefusedAs } from './admission.js'
import type { NetworkView } from './networks/network-view.js'

/** Labels of calls that are no method's: answered by an upstream, unknown, or not a call. */
const OTHER_CALLS = ['forwarded', 'unknown', 'none']

/** Counts and times calls. The series of each method are found once, not at every call. */
export const createCallMeter = (metrics: Metrics) => {
  const series = new Map(
    [...METHODS.keys(), ...SUBSCRIPTION_METHODS, ...OTHER_CALLS].map(method => [
      method,
      {
        ok: metrics.counter('requests', { method, outcome: 'ok' }),
        seconds: metrics.histogram('requestSeconds', { method }),
      },
    ]),
  )
  return (method: string, outcome: CallOutcome, elapsedMs: number): void => {
    const found = series.get(method)
    if (found === undefined) return
    if (outcome === 'ok') found.ok.add(1)
    else metrics.counter('requests', { method, outcome }).add(1)
    found.seconds.observe(elapsedMs / 1000)
  }
}

/** Counts refused requests by reason. */
export const createRefusalCounter = (metrics: Metrics): ((reason: RefusedAs) => void) => {
  const counters = new Map(
    REFUSED_AS.map(reason => [reason, metrics.counter('refusals', { reason })]),
  )
  return reason => counters.get(reason)?.add(1)
}

/** Adds to a counter what a running total has gained since the last call. */
const createGain = (counter: Counter): ((total: number) => void) => {
  let last = 0
  return total => {
    counter.add(total - last)
    last = total
  }
}

const sumOf = (stats: readonly ServerStats[], valueOf: (one: ServerStats) => number): number =>
  stats.reduce((sum, one) => sum + valueOf(one), 0)

/** Reports the HTTP requests and WebSockets of all servers of an edge. */
export const meterServers = (metrics: Metrics, servers: readonly Server[]): void => {
  const bodies = metrics.gauge('bodiesInFlight')
  const sockets = metrics.gauge('sockets')
  const queued = metrics.gauge('socketQueued')
  const addAborts = createGain(metrics.counter('httpAborts'))
  const addMessages = createGain(metrics.counter('socketMessages'))
  const closes = [...CLOSE_CODES, OTHER_CLOSE].map(code => {
    const label = code === OTHER_CLOSE ? 'other' : String(code)
    return { code, addCloses: createGain(metrics.counter('socketCloses', { code: label })) }
  })
  metrics.beforeSnapshot(() => {
    const stats = servers.map(server => server.stats())
    bodies.set(sumOf(stats, one => one.bodyBytesInFlight))
    sockets.set(sumOf(stats, one => one.sockets))
    queued.set(sumOf(stats, one => one.socketQueuedBytes))
    addAborts(sumOf(stats, one => one.abortedCount))
    addMessages(sumOf(stats, one => one.messagesCount))
    for (const { code, addCloses } of closes)
      addCloses(sumOf(stats, one => one.closes.get(code) ?? 0))
  })
}

/** What is refused of QUIC: clients before their handshake, and streams. */
const QUIC_REFUSALS = {
  handshakes: 'handshakesRefused',
  streams: 'streamsRefused',
  'unfinished-streams': 'streamsReset',
} as const satisfies Record<string, keyof QuicStats>

/** Reports the QUIC connections of an edge. */
export const meterQuic = (metrics: Metrics, servers: readonly QuicServer[]): void => {
  if (servers.length === 0) return
  const connections = metrics.gauge('quicConnections')
  const streams = metrics.gauge('quicStreams')
  const refusals = Object.entries(QUIC_REFUSALS).map(([what, figure]) => ({
    figure,
    addRefused: createGain(metrics.counter('quicRefused', { what })),
  }))
  metrics.beforeSnapshot(() => {
    const stats = servers.flatMap(server => server.stats() ?? [])
    const sum = (figure: keyof QuicStats): number =>
      stats.reduce((total, one) => total + one[figure], 0)
    connections.set(sum('connections'))
    streams.set(sum('streams'))
    for (const { figure, addRefused } of refusals) addRefused(sum(figure))
  })
}

/** Reports the connections and subscriptions of gRPC, and what it passes on of each network. */
export const meterGrpc = (
  metrics: Metrics,
  server: Pick<GrpcServer, 'stats'>,
  networks: readonly string[],
): void => {
  const connections = metrics.gauge('grpcConnections')
  const streams = metrics.gauge('grpcStreams')
  const resident = metrics.gauge('grpcResident')
  const addUpdates = createGain(metrics.counter('grpcUpdates'))
  const addBytes = createGain(metrics.counter('grpcUpdateBytes'))
  const addRefused = createGain(metrics.counter('grpcRefused'))
  const addLagged = createGain(metrics.counter('grpcLagged'))
  const sources = server.stats().sources.map(({ isDeshred, network }) => {
    const commitment = isDeshred ? 'deshred' : 'processed'
    const labels = { network: networks[network] ?? '', commitment }
    return {
      open: metrics.gauge('grpcSourceOpen', labels),
      addOpened: createGain(metrics.counter('grpcSourceOpened', labels)),
      addUpdates: createGain(metrics.counter('grpcSourceUpdates', labels)),
      addLosses: createGain(metrics.counter('grpcSourceLosses', labels)),
    }
  })
  metrics.beforeSnapshot(() => {
    const stats = server.stats()
    for (const [index, { isOpen, losses, opened, updates }] of stats.sources.entries()) {
      sources[index]?.open.set(isOpen ? 1 : 0)
      sources[index]?.addOpened(opened)
      sources[index]?.addUpdates(updates)
      sources[index]?.addLosses(losses)
    }
    connections.set(stats.connections)
    streams.set(stats.streams)
    resident.set(stats.residentBytes)
    addUpdates(stats.messages)
    addBytes(stats.bytes)
    addRefused(stats.refused)
    addLagged(stats.lagged)
  })
}

/** Reports connections that were closed because they exceeded a limit. */
export const meterConnections = (metrics: Metrics, servers: readonly Server[]): void => {
  const gainOf = (limit: string) => createGain(metrics.counter('connectionsClosed', { limit }))
  const limits = CONNECTION_LIMITS.map(limit => ({ limit, addClosed: gainOf(limit) }))
  metrics.beforeSnapshot(() => {
    const stats = servers.map(server => server.stats())
    const closed = closedConnections()
    for (const { limit, addClosed } of limits) {
      const abandoned = limit === 'response' ? sumOf(stats, one => one.abandonedCount) : 0
      addClosed(closed[limit] + abandoned)
    }
  })
}

/** Reports the certificates of a location's listeners. */
export const meterCertificates = (metrics: Metrics, location: string, server: Server): void => {
  const report = (): void => {
    for (const { certFile: file, endMs, isRefused } of server.certificates()) {
      metrics.gauge('certificateEnd', { location, file }).set(endMs / 1000)
      metrics.gauge('certificateRefused', { location, file }).set(isRefused ? 1 : 0)
    }
  }
  metrics.beforeSnapshot(report)
}

/** Reports tip and slot time of each network, and the pools and reply buffers of the process. */
export const meterViews = (
  metrics: Metrics,
  views: Iterable<NetworkView>,
  servers: readonly Server[],
): void => {
  const replies = metrics.gauge('repliesInFlight')
  const scan = metrics.gauge('queueDepth', { pool: 'scan' })
  const stream = metrics.gauge('queueDepth', { pool: 'stream' })
  const networks = Array.from(views, view => ({
    view,
    slot: metrics.gauge('tipSlot', { network: view.network }),
    age: metrics.gauge('tipAge', { network: view.network }),
    slotTime: metrics.gauge('slotTime', { network: view.network }),
  }))
  metrics.beforeSnapshot(() => {
    const copiedBytes = sumOf(
      servers.map(server => server.stats()),
      one => one.replyBytesInFlight,
    )
    for (const { view, slot, age, slotTime } of networks) {
      slot.set(view.tipSlot ?? 0)
      age.set(view.tipAgeMs(performance.now()) / 1000)
      slotTime.set((view.slotMs ?? 0) / 1000)
      // The pools belong to the process: every reader reports the same.
      const pools = view.reader?.poolStats()
      if (pools === undefined) continue
      replies.set(pools.replyBytesInFlight + copiedBytes)
      scan.set(pools.scanWaiting)
      stream.set(pools.streamWaiting)
    }
  })
}

/** Reports the pool of signature checks, which belongs to the process. */
export const meterChecks = (metrics: Metrics, checks: TransactionChecks | undefined): void => {
  if (checks === undefined) return
  const waiting = metrics.gauge('queueDepth', { pool: 'verify' })
  metrics.beforeSnapshot(() => waiting.set(checks.waiting()))
}

/** Reports the turns of this thread's event loop from now on. */
export const meterLoop = (metrics: Metrics): void => {
  const take = measureTurns(BUCKET_SECONDS)
  const turns = metrics.histogram('loopTurnSeconds')
  const wall = metrics.gauge('loopTurnMax', { clock: 'wall' })
  const cpu = metrics.gauge('loopTurnMax', { clock: 'cpu' })
  metrics.beforeSnapshot(() => {
    const { cells, longestSeconds, longestCpuSeconds } = take()
    turns.addAll(cells)
    wall.set(longestSeconds)
    cpu.set(longestCpuSeconds)
  })
}

/** Values of the label `state`: how the event loop is scheduled. */
export const PRIORITY_STATES = [
  'realtime',
  'busy',
  'not-permitted',
  'no-spare-core',
  'off',
] as const

/** Reports how the event loop is scheduled. */
export const meterPriority = (
  metrics: Metrics,
  state: () => (typeof PRIORITY_STATES)[number],
): void => {
  const states = PRIORITY_STATES.map(name => ({
    name,
    gauge: metrics.gauge('loopPriority', { state: name }),
  }))
  metrics.beforeSnapshot(() => {
    const current = state()
    for (const { gauge, name } of states) gauge.set(name === current ? 1 : 0)
  })
}

/** Reports log lines that were dropped. */
export const meterLog = (metrics: Metrics, droppedCount: () => number): void => {
  const dropped = metrics.gauge('logDropped')
  metrics.beforeSnapshot(() => dropped.set(droppedCount()))
}
