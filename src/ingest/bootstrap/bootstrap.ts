import { setTimeout as sleep } from 'node:timers/promises'
import type { Indexer } from '../../native/indexer.js'
import type { BootstrapStep, StepProgress } from '../../shared/indexer-status.js'
import type { Spool } from '../../native/spool.js'
import type { Options } from './options.js'
import type { FeedHealth, FeedSource } from '../feed/source.js'

/** What a store is made from. */
export type BootstrapPlan =
  | { readonly kind: 'snapshot'; readonly places: readonly string[] }
  | { readonly kind: 'incremental'; readonly place: string }
  | { readonly kind: 'rpc' }

/** A store as it was loaded. */
export type LoadedBase = {
  /** Slot of its tip. */
  readonly slot: number
  /** Newest slot that a row of it is of, where that may be later. */
  readonly rowsSlot?: number | undefined
}

/** What a loading must know of the spool. */
export type SpoolView = Pick<Spool, 'stats'> & {
  /** Throws where the spool cannot be continued any more: there is no use in loading on. */
  check(): void
}

/** Makes the store of a plan. */
export type LoadStore = {
  /** The slot that the feed should begin at, where that is known before it is loaded. */
  startSlot(signal: AbortSignal): Promise<number | undefined>
  /** Loads into `dir`, which holds nothing. */
  load(
    dir: string,
    spool: SpoolView,
    show: (progress: StepProgress) => void,
    signal: AbortSignal,
  ): Promise<LoadedBase>
}

/** What one bootstrap works with. */
export type BootstrapParts = {
  readonly spool: Spool
  readonly loading: LoadStore
  /** Folder of the new store. */
  readonly dir: string
  /** Starts the feed into the spool; `startSlot` absent is the live head. */
  readonly startFeed: (startSlot: number | undefined) => FeedSource
  readonly options: Options
  /** Where a killed process had finished loading. */
  readonly loaded: LoadedBase | undefined
  /** A step begins. `loaded` is durable from the step `replay` on. */
  readonly onStep: (step: BootstrapStep, loaded: LoadedBase | undefined) => void
  readonly onProgress: (progress: StepProgress) => void
  readonly signal: AbortSignal
}

/**
 * The blocks of the spool cannot be continued: what lies between is nowhere. Only a new spool
 * helps.
 */
export class SpoolLost extends Error {}

/**
 * Somebody ended it, for the reason that is its message. Whoever asked for it does not ask again by
 * itself.
 */
export class BootstrapCancelled extends Error {}

const isLost = (health: FeedHealth): boolean =>
  !health.isHealthy && /^gap after slot|cannot begin at start_slot/.test(health.reason)

const reasonOf = (health: FeedHealth): string =>
  health.isHealthy ? 'it is healthy, but sends nothing' : health.reason

/**
 * Waits for a block in the spool; from the live head where the feed cannot begin where it was asked
 * to.
 */
const spoolFirst = async (
  parts: BootstrapParts,
  startSlot: number | undefined,
): Promise<FeedSource> => {
  const { firstBlockMs, pollMs } = parts.options
  let feed = parts.startFeed(startSlot)
  let isAtHead = startSlot === undefined
  const endMs = performance.now() + firstBlockMs
  for (;;) {
    const { blocks, bytes, first } = parts.spool.stats()
    parts.onProgress({ done: blocks, total: 0, unit: 'blocks', detail: `${bytes} bytes` })
    if (first !== undefined) return feed
    const health = feed.health()
    if (isLost(health) && !isAtHead) {
      feed.stop()
      isAtHead = true
      feed = parts.startFeed(undefined)
    }
    if (performance.now() > endMs) {
      feed.stop()
      throw new Error(`the feed has brought no block for ${firstBlockMs} ms: ${reasonOf(health)}`)
    }
    await sleep(pollMs, undefined, { signal: parts.signal })
  }
}

const watchReplay = async (
  parts: BootstrapParts,
  feed: FeedSource,
  base: LoadedBase,
  ended: AbortSignal,
): Promise<string | undefined> => {
  const { pollMs, replayStallMs } = parts.options
  let [seen, seenMs] = [-1, performance.now()]
  while (!ended.aborted) {
    const { appliedSlot = base.slot, failure, lastSlot = base.slot } = parts.spool.stats()
    const done = Math.max(0, appliedSlot - base.slot)
    const total = Math.max(0, lastSlot - base.slot)
    parts.onProgress({ done, total, unit: 'slots', detail: `slot ${appliedSlot}` })
    if (appliedSlot + lastSlot !== seen)
      [seen, seenMs] = [appliedSlot + lastSlot, performance.now()]
    const health = feed.health()
    if (performance.now() - seenMs > replayStallMs)
      return failure ?? `no block for ${replayStallMs} ms: ${reasonOf(health)}`
    if (isLost(health)) return reasonOf(health)
    await sleep(pollMs)
  }
  return undefined
}

/** Follows the replay to its hand-over; ends it where it cannot come there. */
const replay = async (parts: BootstrapParts, feed: FeedSource, base: LoadedBase): Promise<void> => {
  // An end that was asked for before this listens would never be heard.
  parts.signal.throwIfAborted()
  const ended = new AbortController()
  const cancel = (): void => parts.spool.cancel()
  parts.signal.addEventListener('abort', cancel, { once: true })
  let stuck: string | undefined
  const watching = watchReplay(parts, feed, base, ended.signal).then(reason => {
    stuck = reason
    if (reason !== undefined) cancel()
  })
  try {
    await parts.spool.replay({ dir: parts.dir, baseSlot: base.slot, rowsSlot: base.rowsSlot })
  } catch (error) {
    parts.signal.throwIfAborted()
    throw stuck === undefined ? error : new SpoolLost(stuck)
  } finally {
    ended.abort()
    parts.signal.removeEventListener('abort', cancel)
    await watching
  }
}

/**
 * Makes a store and brings it to the chain's head: reads the feed into the spool, loads, replays,
 * and answers the store's writer, with the same subscription going on into it. A new process goes
 * on with the spool that is there, and with the store if it was loaded whole.
 */
export const bootstrap = async (parts: BootstrapParts): Promise<Indexer> => {
  const { loading, onProgress, onStep, options, signal, spool } = parts
  let { loaded } = parts
  onStep(loaded === undefined ? 'spool' : 'replay', loaded)
  const isResumed = spool.stats().first !== undefined
  const startSlot =
    isResumed || loaded !== undefined ? loaded?.slot : await loading.startSlot(signal)
  const feed = await spoolFirst(parts, startSlot)
  try {
    if (loaded === undefined) {
      onStep('load', undefined)
      const loadingEnded = new AbortController()
      const check = (): void => {
        const { failure } = spool.stats()
        if (failure?.includes('spoolBytesMax') === true) throw new Error(failure)
        const health = feed.health()
        if (isLost(health)) throw new SpoolLost(reasonOf(health))
      }
      const failed = new AbortController()
      const watch = (async () => {
        while (!loadingEnded.signal.aborted) {
          try {
            check()
          } catch (error) {
            return failed.abort(error)
          }
          await sleep(options.pollMs)
        }
      })()
      try {
        const view = { stats: spool.stats, check }
        loaded = await loading.load(
          parts.dir,
          view,
          onProgress,
          AbortSignal.any([signal, failed.signal]),
        )
      } catch (error) {
        // The loader's own words are only that it was cancelled.
        failed.signal.throwIfAborted()
        throw error
      } finally {
        loadingEnded.abort()
        await watch
      }
      onStep('replay', loaded)
    }
    await replay(parts, feed, loaded)
    // What was told to end meanwhile must not become the live store.
    signal.throwIfAborted()
    return spool.handOver()
  } catch (error) {
    feed.stop()
    signal.throwIfAborted()
    throw error
  }
}
