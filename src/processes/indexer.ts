import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.js'
import type { BootstrapPlan } from '../ingest/bootstrap/bootstrap.js'
import type { RepairStepName } from '../ingest/repair/options.js'
import { startRepairedFeed } from '../ingest/repair/repair.js'
import type { FeedHealth } from '../ingest/feed/source.js'
import { shownPlace, type IndexerStatus } from '../shared/indexer-status.js'
import { openLog } from '../shared/log.js'
import { createMetrics } from '../shared/metrics.js'
import { openIndexer } from '../native/indexer.js'
import { lockFile } from '../native/os.js'
import { removeLeftDrafts } from '../storage/backup-draft.js'
import type { BootstrapRunner } from '../ingest/bootstrap/runner.js'
import { createBootstraps } from './bootstraps.js'
import { toFeedSources } from '../ingest/feed/sources.js'
import {
  clearCurrentGeneration,
  currentGeneration,
  demandWritable,
  FIRST_GENERATION,
  removeOtherGenerations,
  RESTORE_DRAFT,
  setCurrentGeneration,
  setIncomplete,
  storesPath,
} from '../storage/generations.js'
import { toStoreOptions } from '../storage/native-options.js'
import { startLongReadMonitor } from './long-read-monitor.js'
import { sendMetrics } from './send-metrics.js'
import { exitWithFailure, type Start } from './role.js'
import { startSweep } from '../ingest/accounts-rpc/sweep-schedule.js'
import { startStatusWriter, type StatusWriter } from '../storage/status-writer.js'

const LOADING: FeedHealth = {
  isHealthy: false,
  reason: 'its first whole store is being made',
}

/** A step of the repair ladder as what it makes a store from. */
const toPlan = (step: RepairStepName, { snapshots }: Config['networks'][number]): BootstrapPlan => {
  switch (step) {
    case 'incremental':
      return { kind: 'incremental', place: snapshots.at(-1) ?? '' }
    case 'snapshot':
      return { kind: 'snapshot', places: snapshots }
    case 'rpc':
      return { kind: 'rpc' }
  }
}

/**
 * The one writer of a network's accounts store: reads the feed and commits one block after the
 * other.
 */
export const startIndexer: Start = async ({ config, network, chain }, send) => {
  const target = config.networks.find(({ id }) => id === network)
  if (network === undefined || target === undefined) throw new Error(`no network ${network}`)
  const { log, flush, droppedCount } = openLog(`indexer ${network}`, config.log)
  const metrics = createMetrics(`indexer ${network}`)
  const stores = storesPath(config.dataDir, network)
  mkdirSync(stores, { recursive: true })
  demandWritable(stores)
  if (!lockFile(join(stores, 'indexer.lock')))
    throw new Error(`another indexer runs on network ${network} of ${config.dataDir}`)

  // No restore runs beside an indexer, and a backup that does holds its lock.
  rmSync(join(stores, RESTORE_DRAFT), { recursive: true, force: true })
  removeLeftDrafts(stores)

  // A dev chain lives as long as its process: a store of another one is of no use to who starts
  // now.
  const current = currentGeneration(stores)
  let generation = chain?.id ?? current ?? FIRST_GENERATION
  if (generation !== current) clearCurrentGeneration(stores)
  let indexer = openIndexer(join(stores, generation), toStoreOptions(config, network))

  // An empty store is not shown: until its first block, readers that have the one before stay with
  // it.
  let isLive = generation === current
  let bootstraps: BootstrapRunner | undefined
  const goLive = (): void => {
    if (isLive) return
    isLive = true
    setCurrentGeneration(stores, generation)
    removeOtherGenerations(stores, [generation, ...(bootstraps?.folders() ?? [])])
    send({ kind: 'storeReplaced', network })
  }
  if (indexer.tip() !== undefined) goLive()

  const slot = metrics.gauge('tipSlot', { network })
  const lag = metrics.gauge('feedLag', { network })
  const buffered = metrics.gauge('feedBuffer', { network })
  const isHealthy = metrics.gauge('feedHealthy', { network })
  const blocks = metrics.counter('blocksApplied', { network })
  const accounts = metrics.counter('accountsApplied', { network })
  const applyTime = metrics.histogram('applySeconds', { network })
  const dropped = metrics.gauge('logDropped')
  metrics.beforeSnapshot(() => dropped.set(droppedCount()))

  const { sources, bounds } = toFeedSources(target.feed, chain)
  let committedAtMs: number | null = null
  const describeTip = (): IndexerStatus['tip'] => {
    const tip = indexer.tip()
    if (tip === undefined) return null
    const { blockHeight, blockTime = null, slot } = tip
    return { slot, blockHeight, blockTime, committedAtMs }
  }
  let status: StatusWriter | undefined
  let isReplaying = false
  /** Of what the live store lacks a bootstrap is making a whole one. */
  let isIncomplete = false
  const watchCompleteness = (): void => {
    const isLoading = bootstraps?.status()?.state === 'running'
    const next = isLoading && generation === FIRST_GENERATION
    if (next !== isIncomplete) setIncomplete(stores, next)
    isIncomplete = next
  }
  const sourceIndex = metrics.gauge('feedSource', { network })
  // A guest's chain ends with its process, and is indexed from its first slot.
  if (chain === undefined)
    bootstraps = createBootstraps(config, network, log, {
      onStatus: () => {
        watchCompleteness()
        status?.write()
      },
      live: () => indexer,
      metrics,
      sourceIndex: () => feed.sourceIndex(),
      holdLive: isHeld => (isHeld ? feed.hold() : feed.release()),
      goLive: (next, name) => {
        const last = indexer
        indexer = next
        generation = name
        isLive = false
        goLive()
        watchCompleteness()
        feed.restart()
        last.close()
      },
    })
  // As a killed process left it, or not.
  setIncomplete(stores, false)
  watchCompleteness()
  // A process may have been killed before it removed the store before its own.
  if (chain === undefined)
    removeOtherGenerations(stores, [generation, ...(bootstraps?.folders() ?? [])])
  const feed = startRepairedFeed({
    sources,
    feed: bounds,
    repair: target.repair,
    indexer: () => indexer,
    steps: chain === undefined ? target.repairSteps : [],
    run: (step, signal) =>
      bootstraps?.run(toPlan(step, target), signal) ??
      Promise.reject(new Error('no bootstrap is offered')),
    isHeld: () => bootstraps?.isHeld() ?? false,
    now: Date.now,
    on: {
      committed: block => {
        goLive()
        committedAtMs = Date.now()
        slot.set(block.slot)
        if (block.lagMs !== undefined) lag.set(block.lagMs / 1000)
        buffered.set(block.bufferedBytes)
        blocks.add(1)
        accounts.add(block.accountCount)
        applyTime.observe(block.applyMicros / 1_000_000)
        send({ kind: 'committed', network, slot: block.slot })
      },
      health: state => {
        // The reason comes as a line of the feed's own.
        isHealthy.set(state.isHealthy ? 1 : 0)
        status?.write()
      },
      repair: state => {
        // A replay is entered again with each reason that it fails for.
        if (state !== undefined && !(state.step === 'replay' && isReplaying))
          metrics.counter('repairs', { network, step: state.step }).add(1)
        isReplaying = state?.step === 'replay'
        status?.write()
      },
      source: index => {
        sourceIndex.set(index)
        status?.write()
      },
      log: line => log[line.level]({ network }, line.text),
    },
  })
  bootstraps?.watch()
  const stopWatch = startLongReadMonitor({
    config,
    network,
    store: () => indexer,
    metrics,
    log,
    send,
    now: () => performance.now(),
    onBroken: error => {
      exitWithFailure(send, `the store cannot be used any more: ${error.message}`)
    },
  })
  status = startStatusWriter(
    stores,
    config.status.writeMs,
    () => {
      const shown = {
        network: target.id,
        generation,
        tip: describeTip(),
        source: shownPlace(sources[feed.sourceIndex()]?.endpoint ?? ''),
      }
      const health: FeedHealth = isIncomplete ? LOADING : feed.health()
      const repair = feed.repair()
      const bootstrap = bootstraps?.status()
      return {
        ...shown,
        isHealthy: health.isHealthy,
        ...(health.isHealthy ? {} : { reason: health.reason }),
        ...(repair === undefined ? {} : { repair }),
        ...(bootstrap === undefined ? {} : { bootstrap }),
      }
    },
    log,
  )

  const stopSweep = startSweep({ target, store: () => indexer, metrics, log })

  return {
    onCommand: command => {
      if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
    },
    drain: async () => {
      stopWatch()
      stopSweep()
      await bootstraps?.stop()
      status?.stop()
      feed.stop()
      indexer.close()
      flush()
    },
  }
}
