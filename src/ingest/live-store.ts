import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openIndexer, type Indexer } from '../native/indexer.js'
import { NativeError } from '../native/errors.js'
import { lockFile } from '../native/os.js'
import type { StoreOptions } from '../native/store.js'
import type { IndexerStatus } from '../shared/indexer-status.js'
import type { Log } from '../shared/log.js'
import { removeAbandonedDrafts } from '../storage/backup-draft.js'
import { forgetBootstrap } from './bootstrap/state.js'
import {
  clearCurrentGeneration,
  currentGeneration,
  formerGeneration,
  nextGeneration,
  setFormerGeneration,
  demandWritable,
  FIRST_GENERATION,
  removeOtherGenerations,
  RESTORE_DRAFT,
  setCurrentGeneration,
} from '../storage/generations.js'

export type LiveStoreOptions = {
  /** Folder of the network's stores. */
  readonly stores: string
  readonly storeOptions: StoreOptions
  /** Name of the store where a chain provider serves the chain. */
  readonly chainId: string | undefined
  /**
   * Whether a store of an older layout or of other options is rebuilt beside it; otherwise it is
   * refused.
   */
  readonly mayRebuild: boolean
  readonly log: Log
  /** Folders of a bootstrap, which are not to be removed. */
  readonly bootstrapFolders: () => readonly string[]
  /** Readers must open the live store again. */
  readonly onReplaced: () => void
}

/** Locks the folder of a network's stores and removes what killed commands left in it. */
const prepareStores = (stores: string): void => {
  mkdirSync(stores, { recursive: true })
  demandWritable(stores)
  if (!lockFile(join(stores, 'indexer.lock')))
    throw new Error(`another indexer runs on the stores ${stores}`)
  // No restore runs beside an indexer, and a backup that does holds its lock.
  rmSync(join(stores, RESTORE_DRAFT), { recursive: true, force: true })
  removeAbandonedDrafts(stores)
}

/** A store that is open for writing. */
type OpenStore = { readonly name: string; readonly indexer: Indexer }

const isOutdated = (error: unknown): error is NativeError =>
  error instanceof NativeError && error.code === 'storeOutdated'

/**
 * Makes a store in place of the live one, whose layout or options are others. It begins with its
 * feed, so it lacks accounts until a bootstrap has loaded it; until then the live one is kept.
 */
const openRebuilt = ({ log, stores, storeOptions }: LiveStoreOptions, live: string): OpenStore => {
  // What a bootstrap has loaded is as outdated.
  forgetBootstrap(stores)
  const former = formerGeneration(stores)
  if (former !== undefined)
    try {
      const indexer = openIndexer(join(stores, former), storeOptions)
      log.warn({ generation: former }, 'the store of before is used again')
      setCurrentGeneration(stores, former)
      return { name: former, indexer }
    } catch (error) {
      if (!isOutdated(error)) throw error
    }
  const name = nextGeneration(stores)
  const indexer = openIndexer(join(stores, name), storeOptions)
  indexer.setComplete(false)
  // In this order: a process that is killed in between begins again.
  setFormerGeneration(stores, former ?? live)
  setCurrentGeneration(stores, name)
  return { name, indexer }
}

/** The store that a network's indexer writes. Readers see it from its first block on. */
export class LiveStore {
  private readonly options: LiveStoreOptions
  private current: Indexer
  private name: string
  private isShown: boolean
  private committedAtMs: number | null = null

  constructor(options: LiveStoreOptions) {
    const { chainId, stores } = options
    prepareStores(stores)
    this.options = options
    const shown = currentGeneration(stores)
    this.name = chainId ?? shown ?? FIRST_GENERATION
    // The store of another chain provider is useless.
    if (this.name !== shown) clearCurrentGeneration(stores)
    const { name, indexer } = this.open(this.name)
    this.name = name
    this.current = indexer
    // A store that begins with its feed lacks older accounts. A chain provider sends all of them,
    // and the first block of a chain marks the store complete.
    if (chainId === undefined && this.name === FIRST_GENERATION && this.isUnmarked)
      this.current.setComplete(false)
    this.isShown = this.name === currentGeneration(stores)
    if (this.current.tip() !== undefined) this.show()
  }

  get indexer(): Indexer {
    return this.current
  }

  get generation(): string {
    return this.name
  }

  /** Whether an account that is not in the store does not exist. */
  get isComplete(): boolean {
    return this.current.isComplete() !== false
  }

  /** It lacks accounts, and replaces a store that is kept until it is complete. */
  get isBeingRebuilt(): boolean {
    return !this.isComplete && formerGeneration(this.options.stores) !== undefined
  }

  /** A block was committed. */
  onCommitted(): void {
    this.committedAtMs = Date.now()
    this.show()
  }

  /** Switches to another store and shows it; answers the one before, which is still open. */
  replace(indexer: Indexer, generation: string): Indexer {
    const before = this.current
    this.current = indexer
    this.name = generation
    this.isShown = false
    this.show()
    return before
  }

  /** Removes what a killed process left of earlier stores. */
  removeOthers(): void {
    const { bootstrapFolders, stores } = this.options
    const former = this.isBeingRebuilt ? [formerGeneration(stores) ?? ''] : []
    removeOtherGenerations(stores, [this.name, ...former, ...bootstrapFolders()])
  }

  describeTip(): IndexerStatus['tip'] {
    const tip = this.current.tip()
    if (tip === undefined) return null
    const { blockHeight, blockTime = null, slot } = tip
    return { slot, blockHeight, blockTime, committedAtMs: this.committedAtMs }
  }

  close(): void {
    this.current.close()
  }

  private open(name: string): OpenStore {
    const { log, mayRebuild, stores, storeOptions } = this.options
    try {
      return { name, indexer: openIndexer(join(stores, name), storeOptions) }
    } catch (error) {
      if (!mayRebuild || !isOutdated(error)) throw error
      log.warn({ reason: error.message }, 'the store is rebuilt')
      return openRebuilt(this.options, name)
    }
  }

  private get isUnmarked(): boolean {
    return this.current.isComplete() === undefined
  }

  private show(): void {
    if (this.isShown) return
    this.isShown = true
    setCurrentGeneration(this.options.stores, this.name)
    this.removeOthers()
    this.options.onReplaced()
  }
}
