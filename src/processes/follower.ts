import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openLimitTable } from '../access/limiter/limit-table.js'
import { openWriter } from '../access/store/store.js'
import { ClusterFollower } from '../cluster/cluster-follower.js'
import { connectEtcd } from '../cluster/connection.js'
import { certificateEndMs } from '../cluster/identity.js'
import type { FollowerConfig } from '../config/child-config.js'
import { edgeSlotsOf } from '../config/edge-count.js'
import { bootMs, lockFile } from '../native/os.js'
import { openLog } from '../shared/log.js'
import { createMetrics, type Metrics } from '../shared/metrics.js'
import { followerPath, writeStatus } from '../storage/status-file.js'
import { startStatusWriter } from '../storage/status-writer.js'
import { readVersion } from '../supervision/build.js'
import { openSharedMemory, type SharedMemory } from '../supervision/shared-memory.js'
import { openMachineEdges } from './machine-edges.js'
import { exitWithFailure, sendMetrics, type Running, type Start } from './start.js'

type Metered = {
  readonly cluster: NonNullable<FollowerConfig['cluster']>
  readonly shared: SharedMemory
  readonly networks: readonly string[]
  readonly running: Pick<ClusterFollower, 'applied' | 'lagMs'>
}

const meterFollower = (metrics: Metrics, parts: Metered): void => {
  const { cluster, networks, running, shared } = parts
  const leaseSeconds = metrics.gauge('leaseSeconds')
  const accessRevision = metrics.gauge('accessRevision')
  metrics.gauge('machineCertificateEnd').set(certificateEndMs(cluster.certFile) / 1_000)
  metrics.beforeSnapshot(() => {
    leaseSeconds.set((shared.leaseEnd() - bootMs()) / 1_000)
    accessRevision.set(running.applied)
    for (const [index, network] of networks.entries())
      metrics.gauge('machineLag', { network }).set(running.lagMs(index) / 1_000)
  })
}

/** Leaves for `slotline status` why no follower runs. */
const writeFailedStart = (dir: string, error: unknown): void => {
  const reason = error instanceof Error ? error.message : String(error)
  const { pid } = process
  const none = { leaseMs: 0, lags: {}, lagging: [], clocks: [] }
  try {
    writeStatus(dir, { pid, atMs: Date.now(), reason, ...none })
  } catch {
    // A full or read-only disk; the failure of the start is what the log must have.
  }
}

const openFollower: Start<'follower'> = async ({ config }, send): Promise<Running> => {
  const { log, flush } = openLog('follower', config.log)
  const { cluster, dataDir, access } = config
  if (cluster === undefined) throw new Error('a follower needs a cluster')
  const metrics = createMetrics('follower')
  const etcd = await connectEtcd(cluster, cluster.machine)
  const store = await openWriter(dataDir, access.store)
  const edges = openMachineEdges(config, send, log)
  const shared = openSharedMemory(dataDir)
  const table = openLimitTable(dataDir, edgeSlotsOf(config), access.limits)
  const networks = config.networks.map(({ id }) => id)
  const running = new ClusterFollower({
    cluster,
    dataDir,
    diskReserveBytes: config.store.diskReserveBytes,
    etcd,
    store,
    table,
    edges,
    shared,
    networks,
    version: readVersion(),
    bootMs,
    onFailure: message => exitWithFailure(send, message),
    log,
  })
  await running.open()
  const { writeMs } = config.status
  const status = startStatusWriter(followerPath(dataDir), writeMs, () => running.status(), log)
  meterFollower(metrics, { cluster, shared, networks, running })
  return {
    onCommand: command => {
      if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
    },
    drain: async () => {
      status.stop()
      await running.stop()
      etcd.close()
      await store.close()
      flush()
    },
  }
}

/** The follower of a cluster: the only writer of the access store, and holder of the lease. */
export const startFollower: Start<'follower'> = async (assignment, send): Promise<Running> => {
  const { dataDir } = assignment.config
  if (!lockFile(join(dataDir, 'follower.lock')))
    throw new Error(`another follower runs on ${dataDir}`)
  const dir = followerPath(dataDir)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  try {
    return await openFollower(assignment, send)
  } catch (error) {
    writeFailedStart(dir, error)
    throw error
  }
}
