import { existsSync, mkdirSync, rmSync, statfsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.js'
import type { BootstrapPlan } from '../ingest/bootstrap/bootstrap.js'
import { countSnapshot } from '../ingest/bootstrap/load-snapshot.js'
import { isUrl, resolveSnapshot } from '../ingest/bootstrap/snapshot-location.js'
import { openCaretaker, type Caretaker } from '../native/inspector.js'
import { shownPlace, type BootstrapStatus, type StepProgress } from '../shared/indexer-status.js'
import { openLog } from '../shared/log.js'
import {
  BOOTSTRAP_DIR,
  forgetBootstrap,
  readState,
  requestBootstrap,
} from '../ingest/bootstrap/state.js'
import {
  createBootstraps,
  demandRpc,
  openLoader,
  toSnapshotOptions,
} from '../processes/bootstraps.js'
import {
  currentGeneration,
  dryRunName,
  removeOtherGenerations,
  setCurrentGeneration,
  storesPath,
} from '../storage/generations.js'
import { lockStores } from '../storage/lock-stores.js'
import { toStoreOptions } from '../storage/native-options.js'
import { createProgress, type Progress } from '../storage/progress.js'
import { toRpcTarget } from '../ingest/accounts-rpc/target.js'
import { readStatus } from '../storage/status-file.js'
import { startStatusWriter } from '../storage/status-writer.js'

/** Shows the steps of a bootstrap, each with a line of its own. */
const createSteps = (network: string): { show(status: BootstrapStatus): void; end(): void } => {
  let step = ''
  let unit = ''
  let progress: Progress | undefined
  const end = (): void => progress?.end()
  return {
    end,
    show: status => {
      if (step !== status.step) {
        end()
        step = status.step
        unit = ''
        process.stderr.write(`${network}: ${step}\n`)
      }
      const at = status.progress
      if (at === undefined) return
      if (unit !== at.unit) {
        // A load counts bytes, and then rows: another rate, and another time left.
        end()
        unit = at.unit
        progress = createProgress(process.stderr, unit, () => performance.now())
      }
      progress?.show(at.done, at.total, `${network}, ${step}, ${at.detail}`)
    },
  }
}

const isFinal = ({ state }: BootstrapStatus): boolean => state !== 'running'

const end = (network: string, status: BootstrapStatus | undefined): void => {
  if (status?.state !== 'done') {
    const why = status?.reason ?? 'no reason is known'
    const how = status?.state === 'cancelled' ? 'the bootstrap was cancelled: ' : ''
    throw new Error(`network ${network} has no new store: ${how}${why}`)
  }
  const seconds = Math.round(((status.endedAtMs ?? 0) - status.begunAtMs) / 1_000)
  process.stdout.write(`network ${network}: the new store is live, after ${seconds} s\n`)
}

/** Asks the running indexer, and shows how far it is. */
const askService = async (config: Config, network: string, plan: BootstrapPlan): Promise<void> => {
  const stores = storesPath(config.dataDir, network)
  const isThere = (): boolean => {
    const said = readStatus(stores)
    return said !== undefined && Date.now() - said.atMs <= config.status.staleMs
  }
  if (!isThere())
    throw new Error(`a Slotline runs on ${config.dataDir}, but not its indexer of ${network}`)
  if (readStatus(stores)?.bootstrap?.state === 'running')
    throw new Error(
      `a bootstrap of network ${network} runs already: see slotline status; slotline bootstrap cancel ends it`,
    )
  const id = requestBootstrap(stores, plan)
  const steps = createSteps(network)
  onStop(() => {
    steps.end()
    process.stderr.write(
      'slotline: the service goes on with it: see slotline status; slotline bootstrap cancel ends it\n',
    )
    process.exit(1)
  })
  let heardMs = performance.now()
  for (;;) {
    await sleep(config.bootstrap.pollMs)
    // An indexer that was killed is back long before.
    if (performance.now() - heardMs > config.processes.startMs)
      throw new Error(`the indexer of ${network} says nothing of this bootstrap: see its log`)
    const bootstrap = readStatus(stores)?.bootstrap
    if (bootstrap?.id === id) {
      if (isThere()) heardMs = performance.now()
      steps.show(bootstrap)
      if (isFinal(bootstrap)) break
    }
  }
  steps.end()
  end(network, readStatus(stores)?.bootstrap)
}

/** Once: whoever asks again means at once. */
const onStop = (stop: () => void): void => {
  let isStopping = false
  const hear = (): void => {
    if (isStopping) process.exit(1)
    isStopping = true
    stop()
  }
  process.on('SIGTERM', hear).on('SIGINT', hear).on('SIGHUP', hear)
}

/**
 * Asks for this plan, unless a process that has ended left it: then that goes on. What it left of
 * another plan goes.
 */
const forgetOther = (stores: string, plan: BootstrapPlan): void => {
  const left = readState(stores)
  const isRunning = left?.status.state === 'running'
  if (isRunning && JSON.stringify(left.request.plan) === JSON.stringify(plan)) return
  if (isRunning && left.generation !== currentGeneration(stores))
    rmSync(join(stores, left.generation), { recursive: true, force: true })
  forgetBootstrap(stores)
  requestBootstrap(stores, plan)
}

/** Does the work in this process: no service runs, and none can start meanwhile. */
const workAlone = async (config: Config, network: string, plan: BootstrapPlan): Promise<void> => {
  const stores = storesPath(config.dataDir, network)
  const { flush, log } = openLog('bootstrap', { ...config.log, level: 'warn' })
  let settle = (): void => {}
  const ended = new Promise<void>(resolve => (settle = resolve))
  const steps = createSteps(network)
  forgetOther(stores, plan)
  // Opened once: an attempt may follow another.
  let live: Caretaker | undefined
  const openLive = (): Caretaker | undefined => {
    const generation = currentGeneration(stores)
    if (generation === undefined) return undefined
    live ??= openCaretaker(join(stores, generation), toStoreOptions(config, network))
    return live
  }
  const bootstraps = createBootstraps(config, network, log, {
    live: openLive,
    onStatus: status => {
      writer.write()
      if (isFinal(status)) settle()
    },
    // Nobody feeds it.
    holdLive: () => {},
    goLive: (indexer, generation) => {
      // What the feed brings from here on, the service asks for when it starts.
      indexer.stopFeed()
      indexer.close()
      setCurrentGeneration(stores, generation)
      removeOtherGenerations(stores, [generation, BOOTSTRAP_DIR])
    },
  })
  const writer = startStatusWriter(
    stores,
    config.status.writeMs,
    () => {
      const generation = currentGeneration(stores) ?? ''
      const bootstrap = bootstraps.status()
      const reason = 'a bootstrap runs, and no service'
      const shown = { network, generation, tip: null, isHealthy: false, reason, source: '' }
      return { ...shown, ...(bootstrap === undefined ? {} : { bootstrap }) }
    },
    log,
  )
  onStop(() => {
    clearInterval(shown)
    steps.end()
    const step = bootstraps.status()?.step ?? 'its beginning'
    const says = `slotline: stopped at ${step}: the same command, or the service when it starts, goes on with it; slotline bootstrap cancel removes it\n`
    void bootstraps.stop().finally(() => {
      process.stderr.write(says)
      process.exit(1)
    })
  })
  const shown = setInterval(() => {
    const status = bootstraps.status()
    if (status !== undefined) steps.show(status)
  }, config.bootstrap.pollMs)
  bootstraps.watch()
  await ended
  clearInterval(shown)
  steps.end()
  const status = bootstraps.status()
  await bootstraps.stop()
  writer.stop()
  flush()
  end(network, status)
}

/** Runs a plan: by the service where one runs, else in this process. */
export const runPlan = async (
  config: Config,
  network: string,
  plan: BootstrapPlan,
): Promise<void> => {
  if (!config.networks.some(({ id }) => id === network)) throw new Error(`no network ${network}`)
  // A certificate file that is none is refused before anything is asked for, which would be left
  // behind.
  toSnapshotOptions(config, network)
  const stores = storesPath(config.dataDir, network)
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  mkdirSync(stores, { recursive: true })
  const isAlone = lockStores(config, network)
  await (isAlone ? workAlone : askService)(config, network, plan)
}

/** What a snapshot would make of a store, in numbers. */
const dryRun = async (
  config: Config,
  network: string,
  places: readonly string[],
): Promise<void> => {
  const workDir = join(storesPath(config.dataDir, network), dryRunName(process.pid))
  const remove = (): void => rmSync(workDir, { recursive: true, force: true })
  process.once('exit', remove)
  process.once('SIGTERM', () => process.exit(1)).once('SIGINT', () => process.exit(1))
  mkdirSync(workDir, { recursive: true })
  const progress = createProgress(process.stderr, 'bytes', () => performance.now())
  const show = ({ detail, done, total }: StepProgress): void =>
    progress.show(done, total, `${network}, ${detail}`)
  const open = () => openLoader(config, network, workDir)
  const options = toSnapshotOptions(config, network)
  const { accounts, archive, bytes, runBytes } = await countSnapshot(
    { places, openLoader: open, options },
    show,
  )
  progress.end()
  const { bavail, bsize } = statfsSync(workDir)
  const count = (number: number): string => number.toLocaleString('en')
  process.stdout.write(
    `network ${network}, ${places.map(shownPlace).join(' and ')}: slot ${archive.slot}, ` +
      `${count(accounts)} accounts in scope, a store of about ${count(bytes)} bytes, and ` +
      `${count(runBytes)} more while it is loaded; ${count(bavail * bsize)} are free; ` +
      'nothing was written\n',
  )
}

/** An incremental snapshot alone continues the store that is there. */
const planOf = async (
  config: Config,
  network: string,
  places: readonly string[],
): Promise<BootstrapPlan> => {
  const [place = '', ...more] = places
  const { base } = await resolveSnapshot(place, toSnapshotOptions(config, network))
  return base === undefined || more.length > 0
    ? { kind: 'snapshot', places }
    : { kind: 'incremental', place }
}

/**
 * `slotline snapshot load`: a new store of a network from a full snapshot, and an incremental one
 * over it; or, from the latter alone, the store that is there brought up to date.
 */
export const loadSnapshots = async (
  config: Config,
  options: {
    readonly network: string
    readonly places: readonly string[]
    readonly dryRun?: boolean
  },
): Promise<void> => {
  process.title = 'slotline snapshot'
  const { network } = options
  if (!config.networks.some(({ id }) => id === network)) throw new Error(`no network ${network}`)
  if (options.places.length > 2)
    throw new Error(
      'name one full snapshot, and at most one incremental snapshot that builds on it',
    )
  // The service has another working directory.
  const places = options.places.map(place => (isUrl(place) ? place : resolve(place)))
  const missing = places.find(place => !isUrl(place) && !existsSync(place))
  if (missing !== undefined) throw new Error(`${missing} does not exist`)
  if (options.dryRun) return dryRun(config, network, places)
  return runPlan(config, network, await planOf(config, network, places))
}

/** `slotline bootstrap rpc`: a new store of a scoped network from its upstream RPC. */
export const loadFromRpc = async (
  config: Config,
  options: { readonly network: string },
): Promise<void> => {
  process.title = 'slotline bootstrap'
  const target = config.networks.find(({ id }) => id === options.network)
  // What can never go well leaves the last bootstrap in the status alone.
  if (target !== undefined) toRpcTarget(demandRpc(target).accountsRpc)
  return runPlan(config, options.network, { kind: 'rpc' })
}
