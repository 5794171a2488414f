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
  /** False if no block was newer than the tip. */
  readonly isNew: boolean
  /** From the call to the commit, without the native call overhead. */
  readonly micros: number
}

/** The only writer of a store. */
export type Indexer = Corrections &
  StoreCopy & {
    tip(): Tip | undefined
    /** Whether the store has every account of its scope; undefined if an older build made it. */
    isComplete(): boolean | undefined
    /** Records that durably, for readers and copies of the store. */
    setComplete(isComplete: boolean): void
    /**
     * Applies one block durably. Throws NativeError `notNextBlock` if it does not continue the
     * chain.
     */
    applyBlock(block: BlockData): Applied
    /**
     * Applies consecutive blocks in one durable commit, all or none, as a feed that is behind does.
     * Throws the same error.
     */
    applyBlocks(blocks: BlockData[]): Applied
    /**
     * Differences between the indexes and their recomputation, as sentences; empty if there are
     * none.
     */
    check(): readonly string[]
    /** Reads of the same store in this process, which must not open it twice. */
    openReader(pools: PoolOptions): Reader
    startFeed(options: FeedOptions, onEvent: (event: FeedEvent) => void): void
    stopFeed(): void
    clearStaleReaders(): number
    /** Number of the last commit. */
    lastCommit(): number
    /** Open reads of the store in all processes. */
    openReads(): readonly OpenRead[]
    stats(): StoreStats
    close(): void
  }

/** Wraps a writer of the addon. */
export const toIndexer = (native: addon.Indexer): Indexer => {
  return {
    ...toCorrections(native),
    ...toStoreCopy(native),
    tip: () => callNative(() => native.tip()) ?? undefined,
    isComplete: () => callNative(() => native.isComplete()) ?? undefined,
    setComplete: isComplete => callNative(() => native.setComplete(isComplete)),
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

/** Opens a store for writing; creates it if absent. The caller holds its lock file. */
export const openIndexer = (dir: string, store: StoreOptions): Indexer =>
  toIndexer(callNative(() => new addon.Indexer(dir, store)))
