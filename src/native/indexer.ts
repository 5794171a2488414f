import * as addon from '#native'
import { toCorrections, type Corrections } from './corrections.js'
import { callNative } from './errors.js'
import { toReader, type PoolOptions, type Reader } from './reader.js'
import type { OpenRead, StoreOptions, StoreStats, Tip } from './store.js'
import { toStoreCopy, type StoreCopy } from './store-copy.js'

export type FeedOptions = addon.FeedOptions
export type FeedEvent = addon.FeedEvent
export type BlockData = addon.BlockData

export type Applied = {
  /** False where no block was newer than the tip. */
  readonly isNew: boolean
  /** From the call to the commit, without the way over the native boundary. */
  readonly micros: number
}

/** The one writer of a store. */
export type Indexer = Corrections &
  StoreCopy & {
    tip(): Tip | undefined
    /**
     * Applies one block, durably. Throws NativeError `notNextBlock` where it does not continue the
     * chain.
     */
    applyBlock(block: BlockData): Applied
    /**
     * Applies consecutive blocks in one durable commit, all or none, as a feed does that is behind.
     * Throws the same.
     */
    applyBlocks(blocks: BlockData[]): Applied
    /** Differences between the indexes and a recomputation of them, as sentences; none is well. */
    check(): readonly string[]
    /** Reads of the same store in this process, which must not open it twice. */
    openReader(pools: PoolOptions): Reader
    startFeed(options: FeedOptions, onEvent: (event: FeedEvent) => void): void
    stopFeed(): void
    clearStaleReaders(): number
    /** Number of the last commit. */
    lastCommit(): number
    /** Reads of the store that are open now, in whatever process. */
    openReads(): readonly OpenRead[]
    stats(): StoreStats
    close(): void
  }

/** A writer that the addon made. */
export const toIndexer = (native: addon.Indexer): Indexer => {
  return {
    ...toCorrections(native),
    ...toStoreCopy(native),
    tip: () => callNative(() => native.tip()) ?? undefined,
    applyBlock: block => callNative(() => native.applyBlock(block)),
    applyBlocks: blocks => callNative(() => native.applyBlocks(blocks)),
    check: () => callNative(() => native.check()),
    openReader: pools => toReader(callNative(() => native.openReader(pools))),
    startFeed: (options, onEvent) => callNative(() => native.startFeed(options, onEvent)),
    stopFeed: () => callNative(() => native.stopFeed()),
    clearStaleReaders: () => callNative(() => native.clearStaleReaders()),
    lastCommit: () => callNative(() => native.lastCommit()),
    openReads: () => callNative(() => native.openReads()),
    stats: () => callNative(() => native.stats()),
    close: () => callNative(() => native.close()),
  }
}

/** Opens a store for writing and makes it where there is none. The caller holds its lock file. */
export const openIndexer = (dir: string, store: StoreOptions): Indexer =>
  toIndexer(callNative(() => new addon.Indexer(dir, store)))
