import * as addon from '#native'
import { toIndexer, type FeedEvent, type FeedOptions, type Indexer } from './indexer.js'
import { callNative, toFailure } from './errors.js'

export type SpoolOptions = addon.SpoolOptions

/** Contents of a spool; `first` is the block that must follow the loaded store. */
export type SpoolStats = {
  readonly first:
    | {
        readonly slot: number
        readonly parentSlot: number
        readonly blockHeight: number
        readonly parentBlockhash: Uint8Array
      }
    | undefined
  readonly lastSlot: number | undefined
  /** Newest slot that the replay, or the feed after it, has written to the store. */
  readonly appliedSlot: number | undefined
  readonly blocks: number
  readonly bytes: number
  /** Why the replay stopped. */
  readonly failure: string | undefined
}

/** A feed that is stored on disk until a loaded store can continue it. */
export type Spool = {
  startFeed(options: FeedOptions, onEvent: (event: FeedEvent) => void): void
  stopFeed(): void
  stats(): SpoolStats
  /**
   * Applies blocks after the store's tip and follows the feed; resolves when at least one block has
   * been applied. Rejects if the first block does not continue the store, or if cancelled.
   */
  replay(to: {
    readonly dir: string
    /** Slot of the loaded store. */
    readonly baseSlot: number
    /** Newest slot of any row of the store, if that may be after the base. */
    readonly rowsSlot?: number | undefined
  }): Promise<{ readonly slot: number; readonly blocks: number }>
  /** Ends the running replay. */
  cancel(): void
  /**
   * Returns the store's writer after a replay. The subscription continues into it; the writer's
   * first `startFeed` to the same endpoint only adds a listener. Closes the spool; its files
   * remain.
   */
  handOver(): Indexer
  close(): void
}

const SILENT: FeedEvent = {
  kind: 'healthy',
  text: '',
  cause: '',
  blockHeight: 0,
  accounts: 0,
  applyMicros: 0,
  bufferedBytes: 0,
  hasFooters: false,
  isByBank: false,
  dropped: 0,
  retryInMs: 0,
}

/** Opens a spool with the remains of a killed process, or creates one. One process at a time. */
export const openSpool = (dir: string, options: SpoolOptions, store: addon.StoreOptions): Spool => {
  const native = callNative(() => new addon.Spool(dir, options, store))
  let listener: (event: FeedEvent) => void = () => {}
  let endpoint: string | undefined
  const adopting = (indexer: Indexer): Indexer => {
    let adopted = endpoint
    return {
      ...indexer,
      startFeed: (feed, onEvent) => {
        const isSame = adopted === feed.endpoint
        const hasFeed = adopted !== undefined
        adopted = undefined
        if (!isSame) {
          if (hasFeed) indexer.stopFeed()
          return indexer.startFeed(feed, onEvent)
        }
        listener = onEvent
        // An earlier listener has received this event. Deferred, because the new listener is still
        // starting.
        queueMicrotask(() => onEvent(SILENT))
      },
    }
  }
  return {
    startFeed: (feed, onEvent) => {
      listener = onEvent
      endpoint = feed.endpoint
      callNative(() => native.startFeed(feed, event => listener(event)))
    },
    stopFeed: () => {
      endpoint = undefined
      callNative(() => native.stopFeed())
    },
    stats: () => {
      const stats = callNative(() => native.stats())
      const { firstBlockHeight, firstParentBlockhashBytes, firstParentSlot, firstSlot } = stats
      return {
        first:
          firstSlot === undefined || firstParentBlockhashBytes === undefined
            ? undefined
            : {
                slot: firstSlot,
                parentSlot: firstParentSlot ?? 0,
                blockHeight: firstBlockHeight ?? 0,
                parentBlockhash: firstParentBlockhashBytes,
              },
        lastSlot: stats.lastSlot,
        appliedSlot: stats.appliedSlot,
        blocks: stats.blocks,
        bytes: stats.bytes,
        failure: stats.failure,
      }
    },
    replay: async ({ baseSlot, dir: storeDir, rowsSlot }) => {
      const { blocks, failure, slot } = await callNative(() =>
        native.replay(storeDir, baseSlot, rowsSlot),
      )
      if (failure !== undefined) throw toFailure(failure)
      return { slot, blocks }
    },
    cancel: () => callNative(() => native.cancel()),
    handOver: () => adopting(toIndexer(callNative(() => native.handOver()))),
    close: () => callNative(() => native.close()),
  }
}
