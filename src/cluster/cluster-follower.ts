import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LimitTable } from '../access/limiter/limit-table.js'
import type { AccessStore } from '../access/store/access-store.js'
import type { ClusterState } from '../access/store/tables.js'
import type { Log } from '../shared/log.js'
import type { FollowerStatus } from '../storage/follower-status.js'
import { ClockWatch } from './clock-watch.js'
import { explainConnection, type ConnectionOptions } from './connection.js'
import { EtcdJournal } from './etcd-journal.js'
import { EtcdError, type Etcd } from './etcd/client.js'
import { Follower } from './follower.js'
import { keysOf } from './keys.js'
import { LagWatch } from './lag-watch.js'
import { Lease } from './lease.js'
import { MachineDirectory } from './machine-directory.js'
import { join } from './membership.js'
import type { Options } from './options.js'
import { UseExchange } from './use/use-exchange.js'
import type { Description } from './values.js'

/** What the processes of this machine share: the lease, and the tips that its edges serve. */
type SharedState = {
  setLeaseEnd(bootMs: number): void
  leaseEnd(): number
  health(): Description['health']
  tip(network: number): number | undefined
  slotMs(network: number): number | undefined
  setLagging(network: number, isLagging: boolean): void
  isLagging(network: number): boolean
}

export type ClusterFollowerParts = {
  readonly cluster: Options &
    ConnectionOptions & {
      readonly id: string
      readonly machine: string
      readonly location: string
      readonly peerUrl?: string | undefined
    }
  readonly dataDir: string
  readonly diskReserveBytes: number
  readonly etcd: Etcd
  readonly store: AccessStore
  readonly table: LimitTable
  /** Those of this machine. */
  readonly edges: { announce(): Promise<void>; confirmed(): Promise<void> }
  readonly shared: SharedState
  /** Their ids, in the order of their cells in shared memory. */
  readonly networks: readonly string[]
  /** Of the software of this machine. */
  readonly version: string
  /** Milliseconds of the boot clock. */
  readonly bootMs: () => number
  /** This process cannot continue. */
  readonly onFailure: (message: string) => void
  readonly log: Log
}

/** Follows the cluster once this machine has joined it. */
export class ClusterFollower {
  private readonly parts: ClusterFollowerParts
  private readonly keys
  private readonly stopping = new AbortController()
  private follower: Follower | undefined
  private lease: Lease | undefined
  private exchange: UseExchange | undefined
  private readonly directory: MachineDirectory
  private readonly lagWatch: LagWatch
  private readonly clockWatch: ClockWatch
  /** Why it has not joined. */
  private problem: string | undefined

  constructor(parts: ClusterFollowerParts) {
    const { bootMs, cluster, etcd, log: logger, networks, shared } = parts
    const { machine, location } = cluster
    this.parts = parts
    this.keys = keysOf(cluster.id)
    const of = { etcd, keys: this.keys, options: cluster, bootMs, logger }
    this.directory = new MachineDirectory(of)
    const { directory } = this
    const { setLagging, slotMs, tip } = shared
    const ofNetworks = { networks, tip, slotMs, setLagging }
    this.lagWatch = new LagWatch({ ...of, ...ofNetworks, directory, machine, location })
    this.clockWatch = new ClockWatch({ ...of, directory, machine, now: Date.now })
  }

  /**
   * Joins now, or later where etcd does not answer: meanwhile the machine runs and answers nothing.
   * Throws if it may not join.
   */
  async open(): Promise<void> {
    const { cluster, log, onFailure } = this.parts
    try {
      this.start(await this.join())
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      log.error({ err: error }, 'etcd does not answer: this machine answers nothing until it does')
      this.problem = (await explainConnection(cluster, cluster.machine)) ?? error.message
      this.joinLater().catch((failure: unknown) => {
        if (!this.stopping.signal.aborted) onFailure(String(failure))
      })
    }
  }

  /** Everything up to this revision is in the store. */
  get applied(): number {
    return this.follower?.applied ?? 0
  }

  /** Milliseconds that the network with this index is behind the other machines of the location. */
  lagMs(network: number): number {
    return this.lagWatch.lagMs(network)
  }

  /** What `slotline status` shows. */
  status(): Omit<FollowerStatus, 'pid' | 'atMs'> {
    const { bootMs, networks, shared } = this.parts
    const reason = this.problem ?? this.lease?.reason
    return {
      leaseMs: Math.max(0, shared.leaseEnd() - bootMs()),
      ...(reason === undefined ? {} : { reason }),
      lags: Object.fromEntries(networks.map((id, index) => [id, this.lagWatch.lag(index)])),
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
    return join({
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
    const { bootMs, cluster, networks, shared, version } = this.parts
    const { peerUrl } = cluster
    const slots = networks.flatMap((id, index) => {
      const slot = shared.tip(index)
      return slot === undefined ? [] : [[id, slot] as const]
    })
    return {
      ...(peerUrl === undefined ? {} : { peerUrl }),
      version,
      timeMs: Date.now(),
      health: shared.health(),
      slots: Object.fromEntries(slots),
      leaseMs: Math.max(0, shared.leaseEnd() - bootMs()),
    }
  }

  private start(state: ClusterState): void {
    this.problem = undefined
    const { bootMs, cluster, edges, etcd, log, onFailure, shared, store, table } = this.parts
    const { keys } = this
    const accessJournal = new EtcdJournal({
      etcd,
      keys,
      epoch: () => state.epoch,
      options: cluster,
      randomBytes,
      bootMs,
    })
    const follower = new Follower({
      journal: accessJournal,
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
        onReplaced: onFailure,
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
