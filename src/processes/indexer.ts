import type { IndexerConfig, IndexerNetwork } from '../config/child-config.js'
import { startSweep } from '../ingest/accounts-rpc/sweep-schedule.js'
import { BootstrapCancelled, type BootstrapPlan } from '../ingest/bootstrap/bootstrap.js'
import { createBootstraps } from '../ingest/bootstrap/network-bootstraps.js'
import type { BootstrapRunner } from '../ingest/bootstrap/runner.js'
import { FeedMetrics } from '../ingest/feed/feed-metrics.js'
import type { FeedHealth } from '../ingest/feed/source.js'
import { toFeedSources, type ChainOverride, type FeedSources } from '../ingest/feed/sources.js'
import { LiveStore } from '../ingest/live-store.js'
import type { RepairStepName } from '../ingest/repair/options.js'
import { RepairedFeed } from '../ingest/repair/repair.js'
import type { Indexer } from '../native/indexer.js'
import { printableLocation, type IndexerStatus } from '../shared/indexer-status.js'
import { openLog, type Log } from '../shared/log.js'
import { createMetrics, type Metrics } from '../shared/metrics.js'
import { storesPath } from '../storage/generations.js'
import { startLongReadMonitor } from '../storage/long-read-monitor.js'
import { startStatusWriter, type StatusWriter } from '../storage/status-writer.js'
import { toLiveStoreOptions } from '../storage/store-options.js'
import { toBootstrapSettings } from '../config/bootstrap-settings.js'
import type { SendEvent } from '../supervision/messages.js'
import { exitWithFailure, sendMetrics, type Start } from './start.js'

const incomplete = (isLoading: boolean): FeedHealth => ({
  isHealthy: false,
  reason: isLoading
    ? 'incomplete: its first complete store is being loaded'
    : 'incomplete: its store lacks accounts that have not changed since the feed began; ' +
      'load a complete one by slotline snapshot load or slotline bootstrap',
})

/** The plan of a repair step. */
const toPlan = (step: RepairStepName, { snapshots }: IndexerNetwork): BootstrapPlan => {
  switch (step) {
    case 'incremental':
      return { kind: 'incremental', location: snapshots.at(-1) ?? '' }
    case 'snapshot':
      return { kind: 'snapshot', locations: snapshots }
    case 'rpc':
      return { kind: 'rpc' }
  }
}

type IndexerParts = {
  readonly config: IndexerConfig
  readonly network: IndexerNetwork
  readonly chain: ChainOverride | undefined
  readonly mayRebuild: boolean
  readonly send: SendEvent
  readonly log: Log
  readonly metrics: Metrics
}

/** The one writer of a network's accounts store: commits the blocks of its feed one by one. */
class NetworkIndexer {
  private readonly parts: IndexerParts
  private readonly stores: string
  private readonly store: LiveStore
  private readonly sources: FeedSources
  private readonly feedMetrics: FeedMetrics
  /** A chain provider's chain is indexed from its first slot and never bootstrapped. */
  private readonly bootstraps: BootstrapRunner | undefined
  private readonly feed: RepairedFeed
  private readonly stopMonitor: () => void
  private readonly stopSweep: () => void
  private readonly status: StatusWriter
  private isDraining = false

  constructor(parts: IndexerParts) {
    const { chain, config, log, metrics, network } = parts
    this.parts = parts
    this.stores = storesPath(config.dataDir, network.id)
    this.store = this.openStore()
    this.sources = toFeedSources(network.feed, chain)
    this.feedMetrics = new FeedMetrics(metrics, network.id)
    this.bootstraps = chain === undefined ? this.createBootstraps() : undefined
    if (chain === undefined) this.store.removeOthers()
    this.feed = this.startFeed()
    this.bootstraps?.watch()
    if (this.store.isBeingRebuilt && this.bootstraps?.status() === undefined)
      void this.loadRebuilt()
    this.stopMonitor = this.startMonitor()
    const { writeMs } = config.status
    this.status = startStatusWriter(this.stores, writeMs, () => this.describe(), log)
    const complete = metrics.gauge('storeComplete', { network: network.id })
    metrics.beforeSnapshot(() => complete.set(this.store.isComplete ? 1 : 0))
    const store = (): Indexer => this.store.indexer
    this.stopSweep = startSweep({ network, store, metrics, log })
  }

  async drain(): Promise<void> {
    this.isDraining = true
    this.stopMonitor()
    this.stopSweep()
    await this.bootstraps?.stop()
    this.status.stop()
    this.feed.stop()
    this.store.close()
  }

  private openStore(): LiveStore {
    const { chain, config, log, mayRebuild, network, send } = this.parts
    return new LiveStore({
      stores: this.stores,
      storeOptions: toLiveStoreOptions(config, network.id),
      chainId: chain?.id,
      mayRebuild: mayRebuild && chain === undefined,
      log,
      bootstrapFolders: () => this.bootstraps?.folders() ?? [],
      onReplaced: () => send({ kind: 'storeReplaced', network: network.id }),
    })
  }

  private createBootstraps(): BootstrapRunner {
    const { config, log, metrics, network } = this.parts
    return createBootstraps(toBootstrapSettings(config, network.id), {
      live: () => this.store.indexer,
      log,
      metrics,
      sourceIndex: () => this.feed.sourceIndex(),
      onStatus: () => this.writeStatus(),
      setLiveFeedPaused: isPaused => (isPaused ? this.feed.pause() : this.feed.resume()),
      goLive: (indexer, generation) => {
        const before = this.store.replace(indexer, generation)
        this.feed.restart()
        before.close()
      },
    })
  }

  /** Loads all accounts of a store that is rebuilt, by the first repair step that can. */
  private async loadRebuilt(): Promise<void> {
    const { log, network } = this.parts
    // A copy of the live store has no more accounts than that.
    const steps = network.repairSteps.filter(step => step !== 'incremental')
    for (const step of steps)
      try {
        return await this.bootstraps?.run(toPlan(step, network))
      } catch (error) {
        // Its reason has a log line of its own.
        if (error instanceof BootstrapCancelled || this.isDraining) return
      }
    log.warn({ network: network.id, steps }, 'the rebuilt store lacks accounts: load it')
  }

  private startFeed(): RepairedFeed {
    const { chain, log, network } = this.parts
    return new RepairedFeed({
      sources: this.sources.sources,
      feed: this.sources.bounds,
      repair: network.repair,
      indexer: () => this.store.indexer,
      steps: chain === undefined ? network.repairSteps : [],
      run: (step, signal) =>
        this.bootstraps?.run(toPlan(step, network), signal) ??
        Promise.reject(new Error('this network cannot be bootstrapped')),
      isAutoRepairSuspended: () => this.bootstraps?.isAutoRepairSuspended() ?? false,
      now: Date.now,
      on: {
        committed: block => {
          this.store.onCommitted()
          this.feedMetrics.onCommitted(block)
          this.parts.send({ kind: 'committed', network: network.id, slot: block.slot })
        },
        // The reason has a log line of its own.
        health: ({ isHealthy }) => {
          this.feedMetrics.onHealth(isHealthy)
          this.writeStatus()
        },
        repair: state => {
          this.feedMetrics.onRepair(state?.step)
          this.writeStatus()
        },
        footers: areRequested => this.feedMetrics.onFooters(areRequested),
        source: index => {
          this.feedMetrics.onSource(index)
          this.writeStatus()
        },
        log: line => log[line.level]({ network: network.id }, line.text),
      },
    })
  }

  private startMonitor(): () => void {
    const { config, log, metrics, network, send } = this.parts
    return startLongReadMonitor({
      bounds: { ...config.processes, readerSecondsMax: config.store.readerSecondsMax },
      network: network.id,
      store: () => this.store.indexer,
      metrics,
      log,
      now: () => performance.now(),
      onLongRead: read => send({ kind: 'longRead', network: network.id, ...read }),
      onBroken: error =>
        exitWithFailure(send, `the store cannot be used any more: ${error.message}`),
    })
  }

  /** The first callbacks come before the writer is there. */
  private writeStatus(): void {
    const status: StatusWriter | undefined = this.status
    status?.write()
  }

  private describe(): Omit<IndexerStatus, 'pid' | 'atMs'> {
    const repair = this.feed.repair()
    const bootstrap = this.bootstraps?.status()
    const { isComplete } = this.store
    const health = isComplete ? this.feed.health() : incomplete(bootstrap?.state === 'running')
    const target = this.sources.sources[this.feed.sourceIndex()]
    return {
      network: this.parts.network.id,
      generation: this.store.generation,
      tip: this.store.describeTip(),
      source: printableLocation(target?.endpoint ?? ''),
      isHealthy: health.isHealthy,
      ...(health.isHealthy ? {} : { reason: health.reason }),
      ...(repair === undefined ? {} : { repair }),
      ...(bootstrap === undefined ? {} : { bootstrap }),
    }
  }
}

/** Starts the indexer of one network. */
export const startIndexer: Start<'indexer'> = async (
  { config, network: id, chain, mayRebuild },
  send,
) => {
  const network = config.networks.find(network => network.id === id)
  if (network === undefined) throw new Error(`no network ${id}`)
  const { log, flush, droppedCount } = openLog(`indexer ${network.id}`, config.log)
  const metrics = createMetrics(`indexer ${network.id}`)
  const dropped = metrics.gauge('logDropped')
  metrics.beforeSnapshot(() => dropped.set(droppedCount()))
  const indexer = new NetworkIndexer({ config, network, chain, mayRebuild, send, log, metrics })
  return {
    onCommand: command => {
      if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
    },
    drain: async () => {
      await indexer.drain()
      flush()
    },
  }
}
