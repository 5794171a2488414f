import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Indexer } from '../../native/indexer.js'
import type { Spool } from '../../native/spool.js'
import type { BootstrapStatus } from '../../shared/indexer-status.js'
import type { Log } from '../../shared/log.js'
import type { GeyserIndexer } from '../feed/geyser.js'
import type { FeedSource } from '../feed/source.js'
import { bootstrap, type BootstrapPlan, type LoadStore } from './bootstrap.js'
import type { Options } from './options.js'
import type { RunRecord } from './run-record.js'
import type { BootstrapState } from './state.js'

/** Dependencies of the bootstraps of one network. */
export type RunnerParts = {
  readonly stores: string
  readonly options: Options
  readonly log: Log
  readonly openSpool: (dir: string) => Spool
  readonly startFeed: (spool: GeyserIndexer, startSlot: number | undefined) => FeedSource
  /** How a plan's store is loaded; `workDir` has no folder `copy`. */
  readonly createLoad: (plan: BootstrapPlan, workDir: string) => Promise<LoadStore>
  /** Slot of the live store's tip; null if there is none. */
  readonly tipSlot: () => number | null
  /** Pauses the feed of the live store, or resumes it. */
  readonly setLiveFeedPaused: (isPaused: boolean) => void
  /** The new store has reached the chain's head and replaces the live one. */
  readonly goLive: (indexer: Indexer, generation: string) => void
  /** The status has changed. */
  readonly onStatus: (status: BootstrapStatus) => void
}

/** How often the tips of the two stores are compared: several times per slot. */
const CATCH_UP_POLL_MS = 20

const openSpool = ({ log, ...parts }: RunnerParts, workDir: string): Spool => {
  const dir = join(workDir, 'spool')
  mkdirSync(workDir, { recursive: true, mode: 0o700 })
  try {
    return parts.openSpool(dir)
  } catch (error) {
    log.warn({ err: error }, 'the spool of a bootstrap cannot be used: starting a new one')
    rmSync(dir, { recursive: true, force: true })
    return parts.openSpool(dir)
  }
}

/** Loads the store, or resumes at its replay where it was loaded before. */
const buildStore = async (
  parts: RunnerParts,
  record: RunRecord,
  { generation, loaded: known, request }: BootstrapState,
  signal: AbortSignal,
): Promise<Indexer> => {
  const { log, options, stores } = parts
  const dir = join(stores, generation)
  const loaded = existsSync(dir) ? known : undefined
  if (loaded === undefined) record.removeLoaded()
  const spool = openSpool(parts, record.workDir)
  try {
    return await bootstrap({
      spool,
      loading: await parts.createLoad(request.plan, record.workDir),
      dir,
      startFeed: startSlot => parts.startFeed(spool, startSlot),
      options,
      loaded,
      onStep: (step, base) => {
        log.info({ step, generation }, 'bootstrap step')
        const more = base === undefined ? {} : { loaded: base }
        // First on the disk: a load whose store is not known continues with what is sorted.
        if (record.change({ step, stepAtMs: Date.now() }, more) && base !== undefined)
          record.removeSorted()
      },
      onProgress: progress => record.showProgress(progress),
      signal,
    })
  } finally {
    spool.close()
  }
}

/**
 * Waits until the new store is as far as the live one, so that no reader sees the slot decrease:
 * its feed is another one and may be behind.
 */
const catchUp = async (
  { log, options, setLiveFeedPaused, tipSlot }: RunnerParts,
  indexer: Indexer,
  signal: AbortSignal,
): Promise<void> => {
  const endMs = performance.now() + options.catchUpMs
  const isThere = (): boolean => (indexer.tip()?.slot ?? 0) >= (tipSlot() ?? 0)
  for (let isPaused = false; !isThere() || !isPaused;) {
    // Commits until this returns are the last of the live store, so the tips are compared again.
    if (isThere()) setLiveFeedPaused((isPaused = true))
    else if (performance.now() < endMs) await sleep(CATCH_UP_POLL_MS, undefined, { signal })
    else {
      const slots = { slot: indexer.tip()?.slot, live: tipSlot() }
      log.warn(slots, 'the new store is behind the live one: slots go back')
      return
    }
  }
}

/** Builds the store of a bootstrap and makes it the live one. */
export const runAttempt = async (
  parts: RunnerParts,
  record: RunRecord,
  state: BootstrapState,
  signal: AbortSignal,
): Promise<void> => {
  const indexer = await buildStore(parts, record, state, signal)
  try {
    await catchUp(parts, indexer, signal)
  } catch (error) {
    indexer.stopFeed()
    indexer.close()
    parts.setLiveFeedPaused(false)
    throw error
  }
  parts.goLive(indexer, state.generation)
}
