import { setTimeout as sleep } from 'node:timers/promises'
import type { Indexer } from '../../native/indexer.js'
import type { BootstrapStep, StepProgress } from '../../shared/indexer-status.js'
import type { Spool } from '../../native/spool.js'
import type { Options } from './options.js'
import type { FeedHealth, FeedSource } from '../feed/source.js'

/** What a store is made from. */
export type BootstrapPlan =
  | { readonly kind: 'snapshot'; readonly locations: readonly string[] }
  | { readonly kind: 'incremental'; readonly location: string }
  | { readonly kind: 'rpc' }
  /** Another machine of the cluster, and where its peer API is. */
  | { readonly kind: 'peer'; readonly machine: string; readonly url: string }

/** A loaded store. */
export type LoadedBase = {
  /** Slot of its tip. */
  readonly slot: number
  /** Newest slot of its rows, where that may be later. */
  readonly rowsSlot?: number | undefined
}

/** The spool as a load sees it. */
export type SpoolView = Pick<Spool, 'stats'> & {
  /** Throws if the spool cannot be continued any more, so that the load is useless. */
  check(): void
}

/** Loads the store of a plan. */
export type LoadStore = {
  /** The slot that the feed should begin at, where that is known before the load. */
  startSlot(signal: AbortSignal): Promise<number | undefined>
  /** Loads into `dir`, which does not exist. */
  load(
    dir: string,
    spool: SpoolView,
    show: (progress: StepProgress) => void,
    signal: AbortSignal,
  ): Promise<LoadedBase>
}

/** Dependencies of one bootstrap. */
export type BootstrapParts = {
  readonly spool: Spool
  readonly loading: LoadStore
  /** Folder of the new store. */
  readonly dir: string
  /** Starts the feed into the spool, at the live head without `startSlot`. */
  readonly startFeed: (startSlot: number | undefined) => FeedSource
  readonly options: Options
  /** Where a killed process had finished the load. */
  readonly loaded: LoadedBase | undefined
  /** A step begins. `loaded` is durable from the step `replay` on. */
  readonly onStep: (step: BootstrapStep, loaded: LoadedBase | undefined) => void
  readonly onProgress: (progress: StepProgress) => void
  readonly signal: AbortSignal
}

/** The spooled blocks have a gap that no server can close. Only a new spool helps. */
export class SpoolLost extends Error {}

/** An operator cancelled it for the reason in the message. It must not be retried automatically. */
export class BootstrapCancelled extends Error {}

const isLost = (health: FeedHealth): boolean =>
  !health.isHealthy && /^gap after slot|cannot begin at start_slot/.test(health.reason)

const reasonOf = (health: FeedHealth): string =>
  health.isHealthy ? 'it is healthy, but sends no blocks' : health.reason

/**
 * Waits for the first spooled block. Falls back to the live head where the feed cannot begin at
 * `startSlot`.
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

/** Replays the spool until the hand-over; cancels the replay where it makes no progress. */
const replay = async (parts: BootstrapParts, feed: FeedSource, base: LoadedBase): Promise<void> => {
  // The listener below does not see an earlier abort.
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

/** Aborts a load as soon as its spool cannot be continued. */
const watchSpool = (
  { options, spool }: BootstrapParts,
  feed: FeedSource,
): { check(): void; readonly failed: AbortSignal; end(): Promise<void> } => {
  const check = (): void => {
    const { failure } = spool.stats()
    if (failure?.includes('the spool is full') === true) throw new Error(failure)
    const health = feed.health()
    if (isLost(health)) throw new SpoolLost(reasonOf(health))
  }
  const failed = new AbortController()
  let isEnded = false
  const poll = async (): Promise<void> => {
    while (!isEnded) {
      try {
        check()
      } catch (error) {
        return failed.abort(error)
      }
      await sleep(options.pollMs)
    }
  }
  const polling = poll()
  return {
    check,
    failed: failed.signal,
    end: () => {
      isEnded = true
      return polling
    },
  }
}

const load = async (parts: BootstrapParts, feed: FeedSource): Promise<LoadedBase> => {
  const { dir, loading, onProgress, onStep, signal, spool } = parts
  onStep('load', undefined)
  const watch = watchSpool(parts, feed)
  try {
    const view = { stats: spool.stats, check: watch.check }
    const all = AbortSignal.any([signal, watch.failed])
    return await loading.load(dir, view, onProgress, all)
  } catch (error) {
    // The loader itself only reports that it was cancelled.
    watch.failed.throwIfAborted()
    throw error
  } finally {
    await watch.end()
  }
}

/** Where the feed should begin: after a killed process, where the spool or the store ends. */
const findStartSlot = async ({
  loaded,
  loading,
  signal,
  spool,
}: BootstrapParts): Promise<number | undefined> => {
  const isResumed = spool.stats().first !== undefined || loaded !== undefined
  return isResumed ? loaded?.slot : loading.startSlot(signal)
}

/**
 * Makes a store and brings it to the chain's head: spools the feed, loads, replays the spool.
 * Answers the store's writer, which the feed's subscription now feeds. After a kill another process
 * resumes with the spool that is there, and with the store where its load was complete.
 */
export const bootstrap = async (parts: BootstrapParts): Promise<Indexer> => {
  const { onStep, signal, spool } = parts
  onStep(parts.loaded === undefined ? 'spool' : 'replay', parts.loaded)
  const feed = await spoolFirst(parts, await findStartSlot(parts))
  try {
    let { loaded } = parts
    if (loaded === undefined) {
      loaded = await load(parts, feed)
      onStep('replay', loaded)
    }
    await replay(parts, feed, loaded)
    // A store that was aborted during the load must not become the live one.
    signal.throwIfAborted()
    return spool.handOver()
  } catch (error) {
    feed.stop()
    signal.throwIfAborted()
    throw error
  }
}
