import { setTimeout as sleep } from 'node:timers/promises'
import { raiseLoopPriority } from '../edge/event-loop-priority.js'
import { meterLog, meterServers, meterViews } from '../edge/metrics.js'
import { openAccess } from '../edge/open-access.js'
import { EdgeLocations } from '../edge/open-locations.js'
import { openNetworks } from '../edge/open-networks.js'
import { openSubmissions } from '../edge/open-submissions.js'
import { openLog } from '../shared/log.js'
import { createMetrics } from '../shared/metrics.js'
import { CLOSE } from '../shared/socket.js'
import { edgeCountOf, leavesCore } from '../config/edge-count.js'
import { sendMetrics, type Start } from './start.js'
import { openSharedMemory } from './shared-memory.js'

/** An edge: serves the RPC, WebSocket and submission URLs of every location of this machine. */
export const startEdge: Start = async ({ config, index }, send) => {
  const { log, flush, droppedCount } = openLog(`edge ${index}`, config.log)
  const metrics = createMetrics(`edge ${index}`)
  const shared = openSharedMemory(config.dataDir)
  const { accessVersion: version } = shared
  const edgeCount = edgeCountOf(config)
  const access = await openAccess(config, { index, edgeCount, version, log })

  const now = (): number => performance.now()
  const modules = { log, metrics, now }
  let locations: EdgeLocations | undefined
  const publish = (topic: string, frame: Uint8Array): void => locations?.publish(topic, frame)
  const networks = await openNetworks(config, { ...modules, publish })

  let confirmedVersion = Number.NaN
  /**
   * Confirms that nothing is sent any more under an older version. Replies are rechecked before
   * they are sent and leave in the same tick; open WebSockets are revalidated here.
   */
  const confirmVersion = (): void => {
    const current = version()
    if (current !== confirmedVersion) locations?.revalidateSockets()
    confirmedVersion = current
    shared.confirmVersion(index, current)
  }
  let isIndexedSent = false
  const refresh = (): void => {
    confirmVersion()
    networks.refresh(now())
    if (isIndexedSent || !networks.isIndexed) return
    isIndexedSent = true
    send({ kind: 'indexed' })
  }
  refresh()
  const refreshTimer = setInterval(refresh, config.processes.tipPollMs)

  const submissions = await openSubmissions(config, { index, count: edgeCount }, modules)
  let isDraining = false
  const health = () => (isDraining ? 'draining' : networks.health(now()))
  shared.enterEdge(index, process.pid)
  locations = new EdgeLocations(config, {
    access,
    networks,
    submissions,
    version,
    health,
    log,
    metrics,
  })
  await locations.open()
  const { servers } = locations
  const revalidateTimer = setInterval(
    () => locations?.revalidateSockets(),
    config.processes.socketCheckMs,
  )
  meterServers(metrics, servers)
  meterViews(metrics, networks.views.values(), servers)
  meterLog(metrics, droppedCount)
  // Last: a thread inherits the slice of the thread that creates it, and the pools exist now.
  const { edgeRealtime, edgeSliceMicros } = config.processes
  const stopLoopPriority = raiseLoopPriority(
    { sliceMicros: edgeSliceMicros, isRealtime: edgeRealtime && leavesCore(config) },
    log,
  )

  let isClosed = false
  return {
    onCommand: command => {
      if (command.kind === 'accessChanged') return confirmVersion()
      if (isClosed) return
      if (command.kind === 'committed' || command.kind === 'storeReplaced') refresh()
      else if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
    },
    drain: async () => {
      isDraining = true
      // First, so that these clients reconnect elsewhere while this edge finishes its requests.
      for (const server of servers) server.closeSockets(CLOSE.restart, 'restart')
      await sleep(config.processes.drainNoticeMs)
      await Promise.all(servers.map(server => server.drain()))
      clearInterval(refreshTimer)
      clearInterval(revalidateTimer)
      stopLoopPriority()
      isClosed = true
      await networks.close()
      await submissions.close()
      await access.close()
      flush()
    },
  }
}
