import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openLimitTable } from '../access/limiter/access-limiter.js'
import type { LimitTable } from '../access/limiter/limit-table.js'
import type { AccessStore } from '../access/store/access-store.js'
import type { ClusterState } from '../access/store/tables.js'
import { openWriter } from '../access/store/store.js'
import { ClockWatch } from '../cluster/clock-watch.js'
import { connectEtcd, explainConnection } from '../cluster/connection.js'
import { EtcdLog } from '../cluster/etcd-log.js'
import { EtcdError, type Etcd } from '../cluster/etcd/client.js'
import { Follower } from '../cluster/follower.js'
import { certificateEndMs } from '../cluster/identity.js'
import { keysOf } from '../cluster/keys.js'
import { LagWatch } from '../cluster/lag-watch.js'
import { Lease } from '../cluster/lease.js'
import { MachineDirectory } from '../cluster/machine-directory.js'
import { join as joinCluster } from '../cluster/membership.js'
import { UseExchange } from '../cluster/use/use-exchange.js'
import type { FollowerConfig } from '../config/child-config.js'
import { edgeSlotsOf } from '../config/edge-count.js'
import type { MachineEdges } from '../control/accesses/edge-notifier.js'
import { bootMs, lockFile } from '../native/os.js'
import type { FollowerStatus } from '../storage/follower-status.js'
import { openLog, type Log } from '../shared/log.js'
import { createMetrics, type Metrics } from '../shared/metrics.js'
import { followerPath, writeStatus } from '../storage/status-file.js'
import { startStatusWriter } from '../storage/status-writer.js'
import type { SendEvent } from '../supervision/messages.js'
import type { Description } from '../cluster/values.js'
import { readVersion } from '../supervision/build.js'
import { openMachineEdges } from './machine-edges.js'
import { openSharedMemory, type SharedMemory } from '../supervision/shared-memory.js'
import { exitWithFailure, sendMetrics, type Running, type Start } from './start.js'

type ClusterConfig = NonNullable<FollowerConfig['cluster']>

type Parts = {
  readonly cluster: ClusterConfig
  readonly dataDir: string
  readonly diskReserveBytes: number
  readonly etcd: Etcd
  readonly store: AccessStore
  readonly table: LimitTable
  readonly edges: MachineEdges
  readonly shared: SharedMemory
  /** Their ids, in the order of their cells in shared memory. */
  readonly networks: readonly string[]
  readonly send: SendEvent
  readonly log: Log
}

/** Follows the cluster once this machine has joined it. */
class ClusterFollower {
  private readonly parts: Parts
  private readonly keys
  private readonly version = readVersion()
  private readonly stopping = new AbortController()
  private follower: Follower | undefined
  private lease: Lease | undefined
  private exchange: UseExchange | undefined
  private readonly directory: MachineDirectory
  private readonly lagWatch: LagWatch
  private readonly clockWatch: ClockWatch
  /** Why it has not joined. */
  private problem: string | undefined

  constructor(parts: Parts) {
    const { cluster, etcd, log: logger, networks, shared } = parts
    const { machine, location } = cluster
    this.parts = parts
    this.keys = keysOf(cluster.id)
    const of = { etcd, keys: this.keys, options: cluster, bootMs, logger }
    this.directory = new MachineDirectory(of)
    const { directory } = this
    const { setLagging, tip } = shared
    this.lagWatch = new LagWatch({ ...of, directory, machine, location, networks, tip, setLagging })
    this.clockWatch = new ClockWatch({ ...of, directory, machine, now: Date.now })
  }

  /**
   * Joins now, or later where etcd does not answer: meanwhile the machine runs and answers nothing.
   * Throws where it may not join.
   */
  async open(): Promise<void> {
    const { cluster, log, send } = this.parts
    try {
      this.start(await this.join())
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      log.error({ err: error }, 'etcd does not answer: this machine answers nothing until it does')
      this.problem = (await explainConnection(cluster, cluster.machine)) ?? error.message
      this.joinLater().catch((failure: unknown) => {
        if (!this.stopping.signal.aborted) exitWithFailure(send, String(failure))
      })
    }
  }

  /** Everything up to this revision is in the store. */
  get applied(): number {
    return this.follower?.applied ?? 0
  }

  /** Slots that the network with this index is behind the other machines of the location. */
  lag(network: number): number {
    return this.lagWatch.lag(network)
  }

  /** What `slotline status` shows. */
  status(): Omit<FollowerStatus, 'pid' | 'atMs'> {
    const { networks, shared } = this.parts
    const reason = this.problem ?? this.lease?.reason
    return {
      leaseMs: Math.max(0, shared.leaseEnd() - bootMs()),
      ...(reason === undefined ? {} : { reason }),
      lags: Object.fromEntries(networks.map((id, index) => [id, this.lag(index)])),
      lagging: networks.filter((_, index) => shared.isLagging(index)),
      clocks: this.clockWatch.problems,
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    this.lagWatch.stop()
    this.clockWatch.stop()
    await this.directory.stop()
    await this.exchange?.stop()
    await this.lease?.stop()
    await this.follower?.stop()
  }

  private join(): Promise<ClusterState> {
    const { cluster, dataDir, diskReserveBytes, etcd, log: logger, store } = this.parts
    const { id, machine, location } = cluster
    const { keys } = this
    return joinCluster({
      etcd,
      keys,
      cluster: id,
      machine,
      location,
      dataDir,
      store,
      diskReserveBytes,
      options: cluster,
      randomBytes,
      logger,
    })
  }

  private async joinLater(): Promise<void> {
    const { cluster } = this.parts
    for (;;) {
      await sleep(cluster.retryMs, undefined, this.stopping)
      try {
        return this.start(await this.join())
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error
      }
    }
  }

  /** What the other machines learn of this one. */
  private describe(): Description {
    const { cluster, networks, shared } = this.parts
    const { peerUrl } = cluster
    const slots = networks.flatMap((id, index) => {
      const slot = shared.tip(index)
      return slot === undefined ? [] : [[id, slot] as const]
    })
    return {
      ...(peerUrl === undefined ? {} : { peerUrl }),
      version: this.version,
      timeMs: Date.now(),
      health: shared.health(),
      slots: Object.fromEntries(slots),
      leaseMs: Math.max(0, shared.leaseEnd() - bootMs()),
    }
  }

  private start(state: ClusterState): void {
    this.problem = undefined
    const { cluster, edges, etcd, log, send, shared, store, table } = this.parts
    const { keys } = this
    const accessLog = new EtcdLog({
      etcd,
      keys,
      epoch: () => state.epoch,
      options: cluster,
      randomBytes,
      bootMs,
    })
    const follower = new Follower({
      log: accessLog,
      store,
      logger: log,
      retryMs: cluster.retryMs,
      announce: () => void edges.announce(),
      onChanged: () => this.lease?.prove(),
      useNext: () => etcd.useNext(),
    })
    this.follower = follower
    this.lease = new Lease(
      {
        etcd,
        keys,
        machine: cluster.machine,
        store,
        follower,
        options: cluster,
        logger: log,
        bootMs,
        confirmed: () => edges.confirmed(),
        setLeaseEnd: shared.setLeaseEnd,
        describe: () => this.describe(),
        explain: () => explainConnection(cluster, cluster.machine),
        onReplaced: message => exitWithFailure(send, message),
      },
      state,
    )
    this.exchange = new UseExchange({
      etcd,
      keys,
      machine: cluster.machine,
      machineCreated: state.added,
      table,
      options: cluster,
      logger: log,
      randomBytes,
      now: Date.now,
    })
    follower.start()
    this.lease.start()
    this.exchange.start()
    this.directory.start()
    this.lagWatch.start()
    this.clockWatch.start()
  }
}

type Metered = {
  readonly cluster: ClusterConfig
  readonly shared: SharedMemory
  readonly networks: readonly string[]
  readonly running: Pick<ClusterFollower, 'applied' | 'lag'>
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
      metrics.gauge('machineLag', { network }).set(running.lag(index))
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
  const { diskReserveBytes } = config.store
  const parts = {
    cluster,
    dataDir,
    diskReserveBytes,
    etcd,
    store,
    table,
    edges,
    shared,
    networks,
    send,
    log,
  }
  const running = new ClusterFollower(parts)
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
