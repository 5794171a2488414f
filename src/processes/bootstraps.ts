import { dirname, join } from 'node:path'
import type { Config } from '../config/config.js'
import type { BootstrapPlan, LoadStore } from '../ingest/bootstrap/bootstrap.js'
import { startGeyser } from '../ingest/feed/geyser.js'
import { loadIncremental, type LiveStore } from '../ingest/bootstrap/load-incremental.js'
import { loadScope } from '../ingest/bootstrap/load-scope.js'
import { loadSnapshot, type SnapshotOptions } from '../ingest/bootstrap/load-snapshot.js'
import type { FeedHealth, FeedSource } from '../ingest/feed/source.js'
import { BOOTSTRAP_STEPS } from '../shared/indexer-status.js'
import type { Log } from '../shared/log.js'
import type { Metrics } from '../shared/metrics.js'
import { openSpool } from '../native/spool.js'
import { openStoreLoader, type StoreLoader } from '../native/loader.js'
import { demandRoom } from '../storage/backup.js'
import {
  createBootstrapRunner,
  type BootstrapRunner,
  type RunnerParts,
} from '../ingest/bootstrap/runner.js'
import { toFeedSources } from '../ingest/feed/sources.js'
import { storesPath } from '../storage/generations.js'
import { toStoreOptions } from '../storage/native-options.js'
import { readAuthority } from '../ingest/accounts-rpc/read-authority.js'
import { toRpcTarget } from '../ingest/accounts-rpc/target.js'

/** A loader for the stores of one network. */
export const openLoader = (config: Config, network: string, workDir: string): StoreLoader => {
  const bounds = { ...config.bootstrap.load, diskReserveBytes: config.store.diskReserveBytes }
  return openStoreLoader(workDir, toStoreOptions(config, network), bounds)
}

/**
 * Bounds of a network's bootstraps, with its certificate authority. Reads that file, and throws
 * where it cannot.
 */
export const toSnapshotOptions = (config: Config, network: string): SnapshotOptions => {
  const caFile = config.networks.find(({ id }) => id === network)?.snapshotsCaFile
  const ca =
    caFile === undefined
      ? {}
      : { caCertificatePem: readAuthority(caFile, 'networks.snapshotsCaFile') }
  return { ...config.bootstrap, ...ca }
}

/**
 * What a network's accounts are read from by an upstream RPC; throws where it is not configured.
 */
export const demandRpc = ({ accountsRpc, id, scope }: Config['networks'][number]) => {
  if (accountsRpc !== undefined && scope !== undefined) return { accountsRpc, scope }
  throw new Error(
    `network ${id} has no ${scope === undefined ? 'scope' : 'accountsRpc'}: both are needed to read its accounts from an RPC`,
  )
}

/**
 * Rows of the network's upstream RPC. The feed is spooled from its head on: what comes before is in
 * the rows.
 */
const loadRpc = (network: Config['networks'][number], openLoader: () => StoreLoader): LoadStore => {
  const { accountsRpc, scope } = demandRpc(network)
  const from = { target: toRpcTarget(accountsRpc), options: accountsRpc, scope, openLoader }
  return {
    startSlot: () => Promise.resolve(undefined),
    load: (dir, spool, show, signal) =>
      loadScope(from, { dir, first: spool.stats().first, show, signal }),
  }
}

/**
 * A copy cannot be ended: after one that nobody waits for, the next one waits, so that the disk
 * holds one of them.
 */
const oneCopyAtATime = (
  config: Config,
  live: () => LiveStore | undefined,
): (() => LiveStore | undefined) => {
  let last: Promise<void> = Promise.resolve()
  return () => {
    const store = live()
    if (store === undefined) return undefined
    const copyTo = (file: string): Promise<void> => {
      last = last
        .catch(() => {})
        .then(() => {
          demandRoom(config, dirname(file), store.stats().usedBytes)
          return store.copyTo(file)
        })
      return last
    }
    return { tip: store.tip, stats: store.stats, copyTo }
  }
}

const meter = (metrics: Metrics, network: string, runner: BootstrapRunner): void => {
  const done = metrics.gauge('bootstrapDone', { network })
  const steps = BOOTSTRAP_STEPS.map(step => ({
    step,
    gauge: metrics.gauge('bootstrapRunning', { network, step }),
  }))
  metrics.beforeSnapshot(() => {
    const status = runner.status()
    const running = status?.state === 'running' ? status.step : undefined
    for (const { gauge, step } of steps) gauge.set(step === running ? 1 : 0)
    done.set(running === undefined ? 0 : (status?.progress?.done ?? 0))
  })
}

/** The bootstraps of one network, by its configuration. */
export const createBootstraps = (
  config: Config,
  network: string,
  log: Log,
  {
    live,
    metrics,
    sourceIndex = () => 0,
    ...on
  }: Pick<RunnerParts, 'goLive' | 'holdLive' | 'onStatus'> & {
    /** The store that is live, opened by this process. */
    readonly live: () => LiveStore | undefined
    readonly metrics?: Metrics
    /**
     * Which server of the feed is in use. A spool follows where its own brings no blocks: the feed
     * of the live store has turned away from that one.
     */
    readonly sourceIndex?: () => number
  },
): BootstrapRunner => {
  const target = config.networks.find(({ id }) => id === network)
  if (target === undefined) throw new Error(`no network ${network}`)
  const options = toSnapshotOptions(config, network)
  const { groupBlocksMax, groupBytesMax } = target.feed
  const { bounds, sources } = toFeedSources(target.feed, undefined)
  const spoolBounds = {
    bytesMax: options.spoolBytesMax,
    segmentBytesMax: options.spoolSegmentBytesMax,
    groupBlocksMax,
    groupBytesMax,
  }
  const copyable = oneCopyAtATime(config, live)
  const loading = (plan: BootstrapPlan, workDir: string): LoadStore => {
    const open = (): StoreLoader => openLoader(config, network, join(workDir, 'sort'))
    switch (plan.kind) {
      case 'snapshot':
        return loadSnapshot({ places: plan.places, openLoader: open, options })
      case 'incremental': {
        const copyDir = join(workDir, 'copy')
        return loadIncremental({
          place: plan.place,
          openLoader: open,
          live: copyable,
          copyDir,
          options,
        })
      }
      case 'rpc':
        return loadRpc(target, open)
    }
  }
  const runner = createBootstrapRunner({
    ...on,
    onStatus: status => {
      if (status.state !== 'running')
        metrics?.counter('bootstraps', { network, outcome: status.state }).add(1)
      on.onStatus(status)
    },
    stores: storesPath(config.dataDir, network),
    tipSlot: () => live()?.tip()?.slot ?? null,
    options,
    log,
    loading,
    openSpool: dir => openSpool(dir, spoolBounds, toStoreOptions(config, network)),
    startFeed: (spool, startSlot) => {
      let index = sourceIndex()
      const start = (): FeedSource => {
        // Where an empty store begins is another matter.
        const { startSlot: _startSlot, ...source } = sources[index] ?? sources[0]
        return startGeyser(
          spool,
          { ...bounds, ...source, ...(startSlot === undefined ? {} : { startSlot }) },
          {
            committed: () => {},
            // It has a line in the log of its own.
            interrupted: () => {},
            health: (health: FeedHealth) => {
              if (!health.isHealthy) log.warn({ reason: health.reason }, 'the feed of a bootstrap')
            },
            log: line => log[line.level]({ network }, `bootstrap: ${line.text}`),
          },
        )
      }
      let feed = start()
      return {
        // A bootstrap asks all the time, until the subscription is the new store's.
        health: () => {
          const next = sourceIndex()
          if (next !== index && !feed.health().isHealthy) {
            feed.stop()
            index = next
            feed = start()
          }
          return feed.health()
        },
        stop: () => feed.stop(),
      }
    },
  })
  if (metrics !== undefined) meter(metrics, network, runner)
  return runner
}
