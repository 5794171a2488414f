import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  bootstrap,
  BootstrapCancelled,
  SpoolLost,
  type BootstrapPlan,
  type LoadedBase,
  type LoadStore,
} from './bootstrap.js'
import type { Options } from './options.js'
import type { GeyserIndexer } from '../feed/geyser.js'
import type { FeedSource } from '../feed/source.js'
import type { Indexer } from '../../native/indexer.js'
import {
  shownPlace,
  type BootstrapStatus,
  type BootstrapStep,
  type StepProgress,
} from '../../shared/indexer-status.js'
import type { Log } from '../../shared/log.js'
import type { Spool } from '../../native/spool.js'
import {
  BOOTSTRAP_DIR,
  forgetCancel,
  forgetRequest,
  readCancel,
  readRequest,
  readState,
  writeState,
  type BootstrapRequest,
  type BootstrapState,
} from './state.js'
import { currentGeneration } from '../../storage/generations.js'

/** What the runner of one network's bootstraps works with. */
export type RunnerParts = {
  readonly stores: string
  readonly options: Options
  readonly log: Log
  readonly openSpool: (dir: string) => Spool
  readonly startFeed: (spool: GeyserIndexer, startSlot: number | undefined) => FeedSource
  /** How a plan's store is made; `workDir` is for `sort` and `copy`, which are not there. */
  readonly loading: (plan: BootstrapPlan, workDir: string) => LoadStore
  /** Tip of the live store; null where there is none. */
  readonly tipSlot: () => number | null
  /** Has the feed of the live store stand still, or go on. */
  readonly holdLive: (isHeld: boolean) => void
  /** The new store is at the chain's head: it takes the place of the one before. */
  readonly goLive: (indexer: Indexer, generation: string) => void
  /** Something has changed that an operator watches. */
  readonly onStatus: (status: BootstrapStatus) => void
}

/** One network's bootstraps, one at a time. */
export type BootstrapRunner = {
  /**
   * Runs a plan until its store is the live one, or joins a bootstrap that runs already, as after a
   * kill. Rejects with the reason where that fails, with `BootstrapCancelled` where somebody ended
   * it.
   */
  run(plan: BootstrapPlan, signal?: AbortSignal): Promise<void>
  /** Goes on with what a killed process left, and looks for requests. */
  watch(): void
  status(): BootstrapStatus | undefined
  /**
   * Whether the last one was cancelled, and the live store has got no block since: nothing may
   * begin one by itself.
   */
  isHeld(): boolean
  /** Folders that belong to it, beside the live store. */
  folders(): readonly string[]
  /** Ends what runs; the next process goes on with it. */
  stop(): Promise<void>
}

const placesOf = (plan: BootstrapPlan): readonly string[] =>
  plan.kind === 'snapshot' ? plan.places : plan.kind === 'incremental' ? [plan.place] : []

/** How often a new store that is behind the live one is looked at: some times in a slot. */
const CATCH_UP_LOOK_MS = 20

const words = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * One more than the greatest number among the generations, and not the first: a service that starts
 * may begin that.
 */
const nextGeneration = (stores: string): string =>
  String(1 + Math.max(1, ...readdirSync(stores).map(Number).filter(Number.isSafeInteger)))

export const createBootstrapRunner = (parts: RunnerParts): BootstrapRunner => {
  const { log, options, stores } = parts
  const work = join(stores, BOOTSTRAP_DIR)
  const stopping = new AbortController()
  let state = readState(stores)
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  /** Ends the bootstrap that runs. */
  let cancelling: AbortController | undefined

  /** Answers whether it is on the disk now. */
  const keep = (): boolean => {
    if (state === undefined) return false
    try {
      writeState(stores, state)
      return true
    } catch (error) {
      // On a full disk it goes on as it can; who starts after a kill then begins from an earlier
      // step.
      log.warn({ err: error }, 'the state of a bootstrap cannot be kept')
      return false
    }
  }

  const change = (to: Partial<BootstrapStatus>, more: Partial<BootstrapState> = {}): boolean => {
    if (state === undefined) return false
    const { progress, ...before } = state.status
    // How far the step before had come is nothing to the next one.
    const kept = to.step === undefined && progress !== undefined ? { progress } : {}
    state = { ...state, ...more, status: { ...before, ...kept, ...to } }
    const isKept = keep()
    parts.onStatus(state.status)
    return isKept
  }
  const show = (progress: StepProgress): void => {
    // Not on the disk: it is told by the status alone.
    if (state !== undefined) state = { ...state, status: { ...state.status, progress } }
  }

  /** Forgets the store, or also the blocks of the feed. */
  const clean = (generation: string, isAll: boolean): void => {
    // A store that is live is not to be removed, whatever failed after it became so.
    if (generation !== currentGeneration(stores))
      rmSync(join(stores, generation), { recursive: true, force: true })
    for (const name of isAll ? [''] : ['sort', 'copy'])
      rmSync(join(work, name), { recursive: true, force: true })
  }

  const openSpool = (): Spool => {
    const dir = join(work, 'spool')
    mkdirSync(work, { recursive: true, mode: 0o700 })
    try {
      return parts.openSpool(dir)
    } catch (error) {
      log.warn({ err: error }, 'the spool of a bootstrap cannot be used and is begun anew')
      rmSync(dir, { recursive: true, force: true })
      return parts.openSpool(dir)
    }
  }

  const attempt = async (current: BootstrapState, signal: AbortSignal): Promise<void> => {
    const { generation, request } = current
    const dir = join(stores, generation)
    const loaded = existsSync(dir) ? current.loaded : undefined
    if (loaded === undefined) clean(generation, false)
    const spool = openSpool()
    let indexer: Indexer
    try {
      indexer = await bootstrap({
        spool,
        loading: parts.loading(request.plan, work),
        dir,
        startFeed: startSlot => parts.startFeed(spool, startSlot),
        options,
        loaded,
        onStep: (step: BootstrapStep, base: LoadedBase | undefined) => {
          log.info({ step, generation }, 'bootstrap')
          const stepAtMs = Date.now()
          change({ step, stepAtMs }, base === undefined ? {} : { loaded: base })
        },
        onProgress: show,
        signal,
      })
    } finally {
      spool.close()
    }
    try {
      await catchUp(indexer, signal)
    } catch (error) {
      indexer.stopFeed()
      indexer.close()
      parts.holdLive(false)
      throw error
    }
    parts.goLive(indexer, generation)
    finish(generation)
  }

  /**
   * Its feed is another one than that of the live store, and may be behind it: readers would see a
   * slot go back.
   */
  const catchUp = async (indexer: Indexer, signal: AbortSignal): Promise<void> => {
    const endMs = performance.now() + options.catchUpMs
    const isThere = (): boolean => (indexer.tip()?.slot ?? 0) >= (parts.tipSlot() ?? 0)
    for (let isHeld = false; !isThere() || !isHeld;) {
      // What is committed before this returns is the last that readers see of it.
      if (isThere()) parts.holdLive((isHeld = true))
      else if (performance.now() < endMs) await sleep(CATCH_UP_LOOK_MS, undefined, { signal })
      else {
        log.warn({ slot: indexer.tip()?.slot, live: parts.tipSlot() }, 'slots go back')
        return
      }
    }
  }

  const finish = (generation: string): void => {
    // First: who hears that it is done finds nothing of it. A kill in between is settled by the
    // next start.
    rmSync(work, { recursive: true, force: true })
    change({ step: 'live', state: 'done', stepAtMs: Date.now(), endedAtMs: Date.now() })
    log.info({ generation }, 'bootstrap is done')
  }

  /** Ends what a killed process left unsaid, and removes what it left. */
  const settleLeft = (): void => {
    if (state?.status.state !== 'running') rmSync(work, { recursive: true, force: true })
    // The store that is live by now is not to be made again: others read it.
    else if (state.generation === currentGeneration(stores)) finish(state.generation)
    else {
      const asked = readCancel(stores)
      if (asked?.id === state.request.id) cancel(asked.reason)
    }
  }

  /** What asked for it is forgotten last: a kill before that does all of this again. */
  const cancel = (reason: string): BootstrapCancelled => {
    log.info({ reason, step: state?.status.step }, 'bootstrap is cancelled')
    if (state !== undefined) clean(state.generation, true)
    const ended = { state: 'cancelled', reason, endedAtMs: Date.now() } as const
    const isKept = change(ended, { cancelledAtSlot: parts.tipSlot() })
    if (isKept && state !== undefined) forgetCancel(stores, state.request.id)
    return new BootstrapCancelled(reason)
  }

  const fail = (reason: string): Error => {
    log.error({ reason }, 'bootstrap failed')
    if (state !== undefined) clean(state.generation, true)
    change({ state: 'failed', reason, endedAtMs: Date.now() })
    return new Error(reason)
  }

  /** Forgets what is on the disk, but not how often it was tried. */
  const beginAnew = (why: string): void => {
    if (state === undefined) return
    log.warn({ why }, 'bootstrap begins anew: the blocks that it kept cannot be continued')
    clean(state.generation, true)
    const { loaded: _loaded, ...rest } = state
    state = rest
    change({ step: 'spool', stepAtMs: Date.now() })
  }

  const runAttempts = async (signal: AbortSignal, cancelled: AbortSignal): Promise<void> => {
    for (;;) {
      if (state === undefined) return
      const { attempts } = state.status
      if (attempts >= options.attemptsMax)
        throw fail(`it was begun ${attempts} times and never came to its end (attemptsMax)`)
      change({ attempts: attempts + 1 })
      try {
        return await attempt(state, signal)
      } catch (error) {
        if (cancelled.aborted) throw cancel(words(cancelled.reason))
        if (stopping.signal.aborted) {
          log.info('bootstrap stops with its process: the next one goes on with it')
          // Not in vain, so it is not counted.
          change({ attempts })
          throw stopping.signal.reason
        }
        if (!(error instanceof SpoolLost)) throw fail(words(error))
        beginAnew(error.message)
      }
    }
  }

  const go = (signal: AbortSignal): Promise<void> => {
    const { signal: cancelled } = (cancelling = new AbortController())
    const all = AbortSignal.any([signal, cancelled])
    running = runAttempts(all, cancelled).finally(() => (running = undefined))
    return running
  }

  const begin = (request: BootstrapRequest, signal: AbortSignal): Promise<void> => {
    const begunAtMs = Date.now()
    const { plan } = request
    const status: BootstrapStatus = {
      id: request.id,
      kind: plan.kind,
      places: placesOf(plan).map(shownPlace),
      step: 'spool',
      state: 'running',
      attempts: 0,
      begunAtMs,
      stepAtMs: begunAtMs,
    }
    rmSync(work, { recursive: true, force: true })
    state = { request, generation: nextGeneration(stores), status }
    change({})
    return go(signal)
  }

  const look = (): void => {
    const request = readRequest(stores)
    if (request !== undefined) hear(request)
    lookForCancel()
  }

  const hear = (request: BootstrapRequest): void => {
    if (request.id !== state?.request.id) {
      if (running === undefined) begin(request, stopping.signal).catch(() => {})
      else log.warn('a bootstrap was asked for while another one runs')
    }
    // Not before its state is kept: a kill in between would lose it. And no other one, which nobody
    // has heard yet.
    if (readRequest(stores)?.id === request.id) forgetRequest(stores)
  }

  const lookForCancel = (): void => {
    const asked = readCancel(stores)
    // Its request may have come since: the next look hears both.
    if (asked === undefined || asked.id === readRequest(stores)?.id) return
    const isThis = asked.id === state?.request.id
    if (isThis && running !== undefined) cancelling?.abort(new Error(asked.reason))
    // The disk was full when it ended, and would have the next process go on with it.
    else if (!isThis || state?.status.state !== 'cancelled' || keep())
      forgetCancel(stores, asked.id)
  }

  return {
    run: (plan, signal) => {
      // Whatever it makes its store from, that will be a newer one: a second would only disturb it.
      if (running !== undefined) return running
      const all = signal === undefined ? [stopping.signal] : [signal, stopping.signal]
      return begin({ id: `repair-${Date.now()}`, plan }, AbortSignal.any(all))
    },
    watch: () => {
      settleLeft()
      // It has said why by its status, and in the log.
      if (state?.status.state === 'running') go(stopping.signal).catch(() => {})
      timer = setInterval(look, options.pollMs)
      timer.unref()
      look()
    },
    status: () => state?.status,
    isHeld: () => state?.status.state === 'cancelled' && state.cancelledAtSlot === parts.tipSlot(),
    folders: () => (state?.status.state === 'running' ? [BOOTSTRAP_DIR, state.generation] : []),
    stop: async () => {
      clearInterval(timer)
      stopping.abort(new Error('the process is to end'))
      await running?.catch(() => {})
    },
  }
}
