import { join } from 'node:path'
import { openStoreLoader, type LoaderOptions, type StoreLoader } from '../../native/loader.js'
import { openSpool } from '../../native/spool.js'
import type { StoreOptions } from '../../native/store.js'
import { BOOTSTRAP_STEPS } from '../../shared/indexer-status.js'
import type { Log } from '../../shared/log.js'
import type { Metrics } from '../../shared/metrics.js'
import { demandDiskSpace } from '../../storage/disk-space.js'
import { storesPath } from '../../storage/generations.js'
import { readAuthority } from '../accounts-rpc/read-authority.js'
import type { ListedScope } from '../accounts-rpc/scope.js'
import { describeChecks } from './archive-checks.js'
import { toRpcTarget, type AccountsRpcConfig } from '../accounts-rpc/target.js'
import type { GeyserIndexer } from '../feed/geyser.js'
import type { FeedSource } from '../feed/source.js'
import { toFeedSources, type FeedConfig } from '../feed/sources.js'
import type { Options as ArchiveOptions } from './archive-options.js'
import type { RunnerParts } from './attempt.js'
import type { BootstrapPlan, LoadStore } from './bootstrap.js'
import type { LiveStore } from './load-incremental.js'
import type { SnapshotOptions } from './load-snapshot.js'
import type { PeerIdentity, PeerParts } from './load-peer.js'
import { CHECKPOINT_MS } from './load-options.js'
import type { Options } from './options.js'
import { BootstrapRunner } from './runner.js'
import { startSpoolFeed } from './spool-feed.js'

/** One network's part of the configuration. */
export type BootstrapNetwork = {
  readonly id: string
  readonly feed: FeedConfig
  readonly scope?: ListedScope | undefined
  readonly accountsRpc?: AccountsRpcConfig | undefined
  readonly snapshotsCaFile?: string | undefined
}

/** The configuration of one network's bootstraps. */
export type BootstrapSettings = {
  readonly dataDir: string
  readonly network: BootstrapNetwork
  readonly options: Options & {
    readonly load: Omit<LoaderOptions, 'diskReserveBytes'>
    readonly archive: ArchiveOptions
  }
  readonly storeOptions: StoreOptions
  readonly diskReserveBytes: number
  /** Reads the certificate of this machine; undefined outside of a cluster. */
  readonly peerIdentity?: (() => PeerIdentity) | undefined
}

/** A loader for the stores of one network; without `checkpointMs` its folder is emptied. */
export const openLoader = (
  { diskReserveBytes, options, storeOptions }: BootstrapSettings,
  workDir: string,
  checkpoints: Pick<LoaderOptions, 'checkpointMs'> = {},
): StoreLoader =>
  openStoreLoader(workDir, storeOptions, { ...options.load, diskReserveBytes, ...checkpoints })

/** Bounds of snapshots with their certificate authority. Reads its file; throws if it cannot. */
export const toSnapshotOptions = ({ network, options }: BootstrapSettings): SnapshotOptions => {
  const { snapshotsCaFile: file } = network
  const ca =
    file === undefined ? {} : { caCertificatePem: readAuthority(file, 'networks.snapshotsCaFile') }
  return { ...options, ...ca }
}

/**
 * What a network's accounts are read from by an upstream RPC. Throws if it is not configured.
 */
export const demandRpc = ({
  accountsRpc,
  id,
  scope,
}: BootstrapNetwork): { readonly accountsRpc: AccountsRpcConfig; readonly scope: ListedScope } => {
  if (accountsRpc !== undefined && scope !== undefined) return { accountsRpc, scope }
  throw new Error(
    `network ${id} has no ${scope === undefined ? 'scope' : 'accountsRpc'}: a bootstrap from an RPC needs a scope and an accountsRpc`,
  )
}

/** Loads rows of the upstream RPC. The feed is spooled from the live head: the rows are newer. */
const loadRpc = async (
  network: BootstrapNetwork,
  openLoader: () => StoreLoader,
): Promise<LoadStore> => {
  const { loadScope } = await import('./load-scope.js')
  const { accountsRpc, scope } = demandRpc(network)
  const from = { target: toRpcTarget(accountsRpc), options: accountsRpc, scope, openLoader }
  return {
    startSlot: () => Promise.resolve(undefined),
    load: (dir, spool, show, signal) =>
      loadScope(from, { dir, first: spool.stats().first, show, signal }),
  }
}

/** Serialises copies of the live store: one cannot be stopped, and the disk has space for one. */
const oneCopyAtATime = (
  live: () => LiveStore | undefined,
  diskReserveBytes: number,
): (() => LiveStore | undefined) => {
  let last: Promise<void> = Promise.resolve()
  return () => {
    const store = live()
    if (store === undefined) return undefined
    const copyTo = (dir: string): Promise<void> => {
      last = last
        .catch(() => {})
        .then(() => {
          demandDiskSpace(dir, store.stats().usedBytes, diskReserveBytes)
          return store.copyTo(dir)
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

const toPeer = ({
  network,
  options,
  peerIdentity,
  storeOptions,
  diskReserveBytes,
}: BootstrapSettings): Omit<PeerParts, 'machine' | 'url'> => {
  if (peerIdentity === undefined) throw new Error('only a machine of a cluster has peers')
  const identity = peerIdentity()
  return { identity, network: network.id, storeOptions, diskReserveBytes, options }
}

/** How the store of each kind of plan is loaded; only its modules are imported. */
const createLoads = (
  settings: BootstrapSettings,
  live: () => LiveStore | undefined,
): RunnerParts['createLoad'] => {
  const options = toSnapshotOptions(settings)
  const copyable = oneCopyAtATime(live, settings.diskReserveBytes)
  return async (plan: BootstrapPlan, workDir: string): Promise<LoadStore> => {
    const sortDir = join(workDir, 'sort')
    const open = (): StoreLoader => openLoader(settings, sortDir)
    const copyDir = join(workDir, 'copy')
    switch (plan.kind) {
      case 'snapshot': {
        const { loadSnapshot } = await import('./load-snapshot.js')
        const resume = (): StoreLoader =>
          openLoader(settings, sortDir, { checkpointMs: CHECKPOINT_MS })
        return loadSnapshot({ locations: plan.locations, openLoader: resume, options })
      }
      case 'incremental': {
        const { loadIncremental } = await import('./load-incremental.js')
        const { createFindBlock } = await import('../accounts-rpc/find-block.js')
        const { location } = plan
        const { accountsRpc } = settings.network
        const findBlock = accountsRpc === undefined ? undefined : createFindBlock(accountsRpc)
        const store = { openLoader: open, live: copyable, copyDir, options }
        return loadIncremental({ ...store, location, findBlock })
      }
      case 'rpc':
        return loadRpc(settings.network, open)
      case 'peer': {
        const { loadPeer } = await import('./load-peer.js')
        return loadPeer({ ...toPeer(settings), machine: plan.machine, url: plan.url })
      }
    }
  }
}

export type BootstrapsParts = Pick<RunnerParts, 'goLive' | 'setLiveFeedPaused' | 'onStatus'> & {
  /** The live store, opened by this process. */
  readonly live: () => LiveStore | undefined
  readonly log: Log
  readonly metrics?: Metrics
  /**
   * Index of the feed server in use. A spool follows it where its own server delivers no blocks:
   * the feed of the live store has switched away from that one.
   */
  readonly sourceIndex?: () => number
}

/** The bootstraps of one network. */
export const createBootstraps = (
  settings: BootstrapSettings,
  { live, log, metrics, sourceIndex = () => 0, onStatus, ...on }: BootstrapsParts,
): BootstrapRunner => {
  const { dataDir, network, options, storeOptions } = settings
  const { groupBlocksMax, groupBytesMax } = network.feed
  const feed = toFeedSources(network.feed, undefined)
  const spoolBounds = {
    bytesMax: options.spoolBytesMax,
    msMax: options.spoolMs,
    segmentBytesMax: options.spoolSegmentBytesMax,
    groupBlocksMax,
    groupBytesMax,
  }
  const runner = new BootstrapRunner({
    ...on,
    onStatus: status => {
      if (status.state !== 'running')
        metrics?.counter('bootstraps', { network: network.id, outcome: status.state }).add(1)
      const checks = describeChecks(status.kind, network.scope !== undefined)
      if (status.state === 'done' && checks !== undefined)
        log.info(checks, 'what was checked of the snapshot, and what was not')
      onStatus(status)
    },
    stores: storesPath(dataDir, network.id),
    tipSlot: () => live()?.tip()?.slot ?? null,
    options,
    log,
    createLoad: createLoads(settings, live),
    openSpool: dir => openSpool(dir, spoolBounds, storeOptions),
    startFeed: (spool: GeyserIndexer, startSlot): FeedSource =>
      startSpoolFeed(spool, startSlot, { feed, log, network: network.id, sourceIndex }),
  })
  if (metrics !== undefined) meter(metrics, network.id, runner)
  return runner
}
