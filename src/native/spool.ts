import * as addon from '#native'
import { toIndexer, type FeedEvent, type FeedOptions, type Indexer } from './indexer.js'
import { callNative, toFailure } from './errors.js'

export type SpoolOptions = addon.SpoolOptions

/** What a spool holds, of which the block that must follow the loaded store comes first. */
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
  /** Newest slot that the replay, or the feed after it, has written into the store. */
  readonly appliedSlot: number | undefined
  readonly blocks: number
  readonly bytes: number
  /** Why it took no further block. */
  readonly failure: string | undefined
}

/** A feed on disk, until a loaded store can continue it. */
export type Spool = {
  startFeed(options: FeedOptions, onEvent: (event: FeedEvent) => void): void
  stopFeed(): void
  stats(): SpoolStats
  /**
   * Applies what came after the store's tip and follows the feed; resolves when at least one block
   * has continued the store. Rejects with the reason where the first does not, and where it is
   * cancelled.
   */
  replay(to: {
    readonly dir: string
    /** Slot that the store was loaded as of. */
    readonly baseSlot: number
    /** Newest slot that a row of the store is of, where that may be after the base. */
    readonly rowsSlot?: number | undefined
  }): Promise<{ readonly slot: number; readonly blocks: number }>
  /** Ends the replay that runs. */
  cancel(): void
  /**
   * After a replay: the store's writer. The subscription goes on into it, and the writer's first
   * `startFeed` to the same endpoint only listens to it. The spool is closed by this; its files
   * stay.
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
  retryInMs: 0,
}

/** Opens a spool with what a killed process left of it, or makes one. One process at a time. */
export const openSpool = (dir: string, options: SpoolOptions, store: addon.StoreOptions): Spool => {
  const native = callNative(() => new addon.Spool(dir, options, store))
  let hear: (event: FeedEvent) => void = () => {}
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
        hear = onEvent
        // It was said to whoever listened before. Whoever listens now is not done with starting.
        queueMicrotask(() => onEvent(SILENT))
      },
    }
  }
  return {
    startFeed: (feed, onEvent) => {
      hear = onEvent
      endpoint = feed.endpoint
      callNative(() => native.startFeed(feed, event => hear(event)))
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
      const { blocks, detail, error, slot } = await callNative(() =>
        native.replay(storeDir, baseSlot, rowsSlot),
      )
      if (error !== undefined) throw toFailure(error, detail ?? '')
      return { slot, blocks }
    },
    cancel: () => callNative(() => native.cancel()),
    handOver: () => adopting(toIndexer(callNative(() => native.handOver()))),
    close: () => callNative(() => native.close()),
  }
}
