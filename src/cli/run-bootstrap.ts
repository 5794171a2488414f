import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.js'
import { toRpcTarget } from '../ingest/accounts-rpc/target.js'
import { describeChecks } from '../ingest/bootstrap/archive-checks.js'
import type { BootstrapPlan } from '../ingest/bootstrap/bootstrap.js'
import {
  createBootstraps,
  demandRpc,
  toSnapshotOptions,
} from '../ingest/bootstrap/network-bootstraps.js'
import type { BootstrapRunner } from '../ingest/bootstrap/runner.js'
import {
  BOOTSTRAP_DIR,
  forgetBootstrap,
  readState,
  requestBootstrap,
} from '../ingest/bootstrap/state.js'
import { openStoreInspector, type StoreInspector } from '../native/store-inspector.js'
import { toBootstrapSettings } from '../config/bootstrap-settings.js'
import type { BootstrapStatus } from '../shared/indexer-status.js'
import { openLog, type Log } from '../shared/log.js'
import {
  currentGeneration,
  removeOtherGenerations,
  setCurrentGeneration,
  storesPath,
} from '../storage/generations.js'
import { lockStores } from '../storage/lock-stores.js'
import { readStatus } from '../storage/status-file.js'
import { startStatusWriter, type StatusWriter } from '../storage/status-writer.js'
import { toStoreOptions } from '../storage/store-options.js'
import { demandResponsive } from './service/indexer-process.js'
import { StepProgressLines } from './progress.js'

const isFinal = ({ state }: BootstrapStatus): boolean => state !== 'running'

/** Prints that the new store is live, and what a snapshot proved; throws if it is not. */
const printOutcome = (
  config: Config,
  network: string,
  status: BootstrapStatus | undefined,
): void => {
  if (status?.state !== 'done') {
    const why = status?.reason ?? 'no reason is known'
    const how = status?.state === 'cancelled' ? 'the bootstrap was cancelled: ' : ''
    throw new Error(`network ${network} has no new store: ${how}${why}`)
  }
  const seconds = Math.round(((status.endedAtMs ?? 0) - status.begunAtMs) / 1_000)
  process.stdout.write(`network ${network}: the new store is live, after ${seconds} s\n`)
  const { scope } = toBootstrapSettings(config, network).network
  const checks = describeChecks(status.kind, scope !== undefined)
  if (checks === undefined) return
  process.stdout.write(`checked: ${checks.checked}\nnot checked: ${checks.notChecked}\n`)
}

/** Calls `stop` at the first signal; a second one exits at once. */
const onStop = (stop: () => void): void => {
  let isStopping = false
  const onSignal = (): void => {
    if (isStopping) process.exit(1)
    isStopping = true
    stop()
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onSignal)
}

const isIndexerRunning = (config: Config, stores: string): boolean => {
  const status = readStatus(stores)
  return status !== undefined && Date.now() - status.atMs <= config.status.staleMs
}

/** Requests the bootstrap from the running indexer; returns the id of the request. */
const requestFromIndexer = (config: Config, network: string, plan: BootstrapPlan): string => {
  const stores = storesPath(config.dataDir, network)
  if (!isIndexerRunning(config, stores))
    throw new Error(`a Slotline runs on ${config.dataDir}, but not its indexer of ${network}`)
  if (readStatus(stores)?.bootstrap?.state === 'running')
    throw new Error(
      `a bootstrap of network ${network} runs already: see slotline status; slotline bootstrap cancel cancels it`,
    )
  return requestBootstrap(stores, plan)
}

/** Runs it in the running service, and shows its progress. */
const runInService = async (
  config: Config,
  network: string,
  plan: BootstrapPlan,
): Promise<void> => {
  const stores = storesPath(config.dataDir, network)
  const id = requestFromIndexer(config, network, plan)
  const lines = new StepProgressLines(network)
  onStop(() => {
    lines.end()
    process.stderr.write(
      'slotline: the service continues it: see slotline status; slotline bootstrap cancel cancels it\n',
    )
    process.exit(1)
  })
  let seenMs = performance.now()
  for (;;) {
    await sleep(config.bootstrap.pollMs)
    // A killed indexer is restarted long before this.
    if (performance.now() - seenMs > config.processes.startMs)
      throw new Error(`the indexer of ${network} does not report this bootstrap: see its log`)
    const bootstrap = readStatus(stores)?.bootstrap
    if (bootstrap?.id !== id) {
      demandResponsive(config, network, 'it starts the bootstrap when it runs again')
      continue
    }
    if (isIndexerRunning(config, stores)) seenMs = performance.now()
    lines.show(bootstrap)
    if (isFinal(bootstrap)) break
  }
  lines.end()
  printOutcome(config, network, readStatus(stores)?.bootstrap)
}

/** Requests the plan, unless a stopped process left the same plan, which is then resumed. */
const requestOrResume = (stores: string, plan: BootstrapPlan): void => {
  const left = readState(stores)
  const isRunning = left?.status.state === 'running'
  if (isRunning && JSON.stringify(left.request.plan) === JSON.stringify(plan)) return
  if (isRunning && left.generation !== currentGeneration(stores))
    rmSync(join(stores, left.generation), { recursive: true, force: true })
  forgetBootstrap(stores)
  requestBootstrap(stores, plan)
}

/** Opens the live store at the first call and reuses it: several attempts may need it. */
const openLiveOnce = (config: Config, network: string): (() => StoreInspector | undefined) => {
  const stores = storesPath(config.dataDir, network)
  let live: StoreInspector | undefined
  return () => {
    const generation = currentGeneration(stores)
    if (generation === undefined) return undefined
    live ??= openStoreInspector(join(stores, generation), toStoreOptions(config, network))
    return live
  }
}

const startStatus = (
  config: Config,
  network: string,
  bootstraps: () => BootstrapRunner,
  log: Log,
): StatusWriter => {
  const stores = storesPath(config.dataDir, network)
  return startStatusWriter(
    stores,
    config.status.writeMs,
    () => {
      const bootstrap = bootstraps().status()
      return {
        network,
        generation: currentGeneration(stores) ?? '',
        tip: null,
        isHealthy: false,
        reason: 'a bootstrap runs, and no service',
        source: '',
        ...(bootstrap === undefined ? {} : { bootstrap }),
      }
    },
    log,
  )
}

const stopBootstraps = (bootstraps: BootstrapRunner, lines: StepProgressLines): void => {
  lines.end()
  const step = bootstraps.status()?.step ?? 'its first step'
  void bootstraps.stop().finally(() => {
    process.stderr.write(
      `slotline: stopped at ${step}: the same command, or the service at its start, resumes it; slotline bootstrap cancel removes it\n`,
    )
    process.exit(1)
  })
}

/** Runs it in this process, which holds the locks of the service. */
const runHere = async (config: Config, network: string, plan: BootstrapPlan): Promise<void> => {
  const stores = storesPath(config.dataDir, network)
  const { flush, log } = openLog('bootstrap', { ...config.log, level: 'warn' })
  requestOrResume(stores, plan)
  const lines = new StepProgressLines(network)
  let settle = (): void => {}
  const ended = new Promise<void>(resolve => (settle = resolve))
  const bootstraps: BootstrapRunner = createBootstraps(toBootstrapSettings(config, network), {
    live: openLiveOnce(config, network),
    log,
    onStatus: status => {
      writer.write()
      if (isFinal(status)) settle()
    },
    // No process feeds the live store.
    setLiveFeedPaused: () => {},
    goLive: (indexer, generation) => {
      // The service requests later slots when it starts.
      indexer.stopFeed()
      indexer.close()
      setCurrentGeneration(stores, generation)
      removeOtherGenerations(stores, [generation, BOOTSTRAP_DIR])
    },
  })
  const writer = startStatus(config, network, () => bootstraps, log)
  const timer = setInterval(() => {
    const status = bootstraps.status()
    if (status !== undefined) lines.show(status)
  }, config.bootstrap.pollMs)
  onStop(() => {
    clearInterval(timer)
    stopBootstraps(bootstraps, lines)
  })
  bootstraps.watch()
  await ended
  clearInterval(timer)
  lines.end()
  await bootstraps.stop()
  writer.stop()
  flush()
  printOutcome(config, network, bootstraps.status())
}

/** Runs a bootstrap in the service running on the data directory, or else in this process. */
export const runPlan = async (
  config: Config,
  network: string,
  plan: BootstrapPlan,
): Promise<void> => {
  const settings = toBootstrapSettings(config, network)
  // Checks certificate files and settings before the request.
  toSnapshotOptions(settings)
  if (plan.kind === 'rpc') toRpcTarget(demandRpc(settings.network).accountsRpc)
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  mkdirSync(storesPath(config.dataDir, network), { recursive: true })
  const isAlone = lockStores(config.dataDir, network)
  await (isAlone ? runHere : runInService)(config, network, plan)
}
