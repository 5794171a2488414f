import { join } from 'node:path'
import type { EdgeConfig } from '../../config/child-config.js'
import type { PointReadLane } from '../../native/server/direct-reads.js'
import { openReader, type PoolOptions, type Reader } from '../../native/reader.js'
import type { Reads } from '../../native/reads.js'
import type { Tip } from '../../native/store.js'
import { SUBSCRIPTION_DESCRIPTIONS } from '../../pubsub/descriptions.js'
import { SUBSCRIPTION_METHODS } from '../../pubsub/methods.js'
import { createDispatch, type Dispatch, type DispatchModules } from '../../rpc/dispatch.js'
import { RpcError } from '../../shared/errors.js'
import type { Log } from '../../shared/log.js'
import { SOCKET_SUBMISSIONS } from '../../submission/descriptions.js'
import { currentGeneration, storesPath } from '../../storage/generations.js'
import { toLiveStoreOptions, type StoresConfig } from '../../storage/store-options.js'

/** Follows the live store of a network. */
export type StoreFollower = {
  /** Another store is live. The one before it closes after this call. */
  onStore(reader: Reader): void
  onTip(): void
}

/** The part of an edge's configuration that concerns its views. */
export type ViewConfig = StoresConfig &
  Pick<EdgeConfig, 'dataDir' | 'rpc'> & {
    readonly pools: PoolOptions
    readonly processes: Pick<EdgeConfig['processes'], 'tipAgeMaxMs'>
  }

export type NetworkViewModules = {
  /** Modules of the dispatcher that do not depend on the store. */
  readonly calls: Pick<
    DispatchModules,
    'forward' | 'onCall' | 'onFault' | 'now' | 'submissions' | 'version'
  >
  readonly log: Log
  readonly follower?: StoreFollower
  /** Whether the other machines of the location are ahead; there are none without a cluster. */
  readonly isLagging: () => boolean
}

/** Blocks for which a blockhash is valid, each of which takes a slot or more. */
const BLOCKHASH_AGE_MAX = 150
/**
 * Bounds of the life of a blockhash, which the slot time is not exact enough to leave. No chain
 * takes longer than 400 ms for a slot, unless it stood still.
 */
const BLOCKHASH_LIFE_MIN_MS = 10_000
const BLOCKHASH_LIFE_MAX_MS = 60_000

const noIndex = (): never => {
  throw new RpcError('noIndex')
}

/** What `rpc.discover` describes beside the methods of the table. */
const OTHER_METHODS = [...SUBSCRIPTION_DESCRIPTIONS, ...SOCKET_SUBMISSIONS]

/** Reads before the first block. */
const NO_READS: Reads = {
  fast: () => undefined,
  pack: async () => noIndex(),
  block: () => undefined,
  latestBlockhash: noIndex,
  balance: noIndex,
  blockhashValidity: noIndex,
  account: noIndex,
  accounts: noIndex,
  tokenBalance: noIndex,
  tokenSupply: noIndex,
  largestHolders: noIndex,
  recentFees: async () => noIndex(),
  feeEstimate: async () => noIndex(),
  tipPercentiles: async () => noIndex(),
  programPage: async () => noIndex(),
  ownerPage: async () => noIndex(),
}

/** Serves one network at an edge from its live store, from the first one on. */
export class NetworkView {
  readonly network: string
  /** Replies from the live store; with `noIndex` before the first block. */
  dispatch: Dispatch
  /** The point reads of the live store that need no dispatcher. */
  lane?: PointReadLane | undefined
  reader: Reader | undefined
  /** Newest slot, or undefined before the first block. */
  tipSlot: number | undefined
  /** The time of a slot of the chain; undefined before the first block. */
  slotMs: number | undefined
  /** The store lacks accounts that have not changed since its feed began. */
  isIncomplete = false
  private readonly config: ViewConfig
  private readonly modules: NetworkViewModules
  private readonly stores: string
  private generation: string | undefined
  /** The generation whose failure to open is logged already. */
  private failedGeneration: string | undefined
  private tipMovedMs = 0
  private blockhashLifeMs = BLOCKHASH_LIFE_MIN_MS

  constructor(config: ViewConfig, network: string, modules: NetworkViewModules) {
    this.config = config
    this.network = network
    this.modules = modules
    this.stores = storesPath(config.dataDir, network)
    this.dispatch = this.createDispatch(NO_READS)
  }

  /** The tip has not moved for too long, or the other machines of the location are ahead. */
  isBehind(nowMs: number): boolean {
    const { tipAgeMaxMs } = this.config.processes
    return this.tipAgeMs(nowMs) > tipAgeMaxMs || this.modules.isLagging()
  }

  /** Monotonic milliseconds since the tip last moved. */
  tipAgeMs(nowMs: number): number {
    return nowMs - this.tipMovedMs
  }

  /** Reads the tip, and opens another store where it has become the live one. */
  refresh(nowMs: number): void {
    this.openLiveStore()
    const tip = this.readTip()
    if (tip !== undefined && tip.slot !== this.tipSlot) this.moveTip(tip, nowMs)
    this.lane?.answerBlockhashes(!this.areBlockhashesExpired(nowMs))
  }

  close(): void {
    this.reader?.close()
  }

  private areBlockhashesExpired(nowMs: number): boolean {
    return this.tipSlot !== undefined && this.tipAgeMs(nowMs) > this.blockhashLifeMs
  }

  private moveTip(tip: Tip, nowMs: number): void {
    // The first tip may have been committed long before this process started: its age is that of
    // its block.
    const isFirst = this.tipSlot === undefined && typeof tip.blockTime === 'number'
    const ageMs = isFirst ? Math.max(0, Date.now() - (tip.blockTime ?? 0) * 1000) : 0
    this.tipSlot = tip.slot
    this.tipMovedMs = nowMs - ageMs
    this.modules.follower?.onTip()
  }

  private createDispatch(reads: Reads): Dispatch {
    const { calls } = this.modules
    const isHealthy = (): boolean =>
      !this.isIncomplete && this.tipSlot !== undefined && !this.isBehind(calls.now())
    const connectionMethods = SUBSCRIPTION_METHODS
    const isIncomplete = (): boolean => this.isIncomplete
    const areBlockhashesExpired = (): boolean => this.areBlockhashesExpired(calls.now())
    const health = { areBlockhashesExpired, isHealthy, isIncomplete }
    return createDispatch(this.config.rpc, {
      ...calls,
      ...health,
      connectionMethods,
      otherMethods: OTHER_METHODS,
      reads,
    })
  }

  private openLiveStore(): void {
    const { config, network, stores } = this
    const { follower, log } = this.modules
    const generation = currentGeneration(stores)
    if (generation === undefined || generation === this.generation) return
    try {
      const options = toLiveStoreOptions(config, network)
      const next = openReader(join(stores, generation), options, config.pools)
      const isComplete = next.isComplete()
      const last = this.reader
      // The calls that can fail are made first, so that all fields are of one store.
      const reads = next.reads(config.rpc)
      this.dispatch = this.createDispatch(reads)
      this.lane = config.rpc.fastLane ? reads.lane : undefined
      this.reader = next
      this.isIncomplete = !isComplete
      this.generation = generation
      follower?.onStore(next)
      // Running reads keep the old store open until they end.
      last?.close()
      log.info({ network, generation }, 'serving a store')
    } catch (error) {
      // It may have been replaced before it was opened; then the next refresh opens the new one.
      if (this.failedGeneration !== generation)
        log.error({ err: error, network, generation }, 'store cannot be opened')
      this.failedGeneration = generation
    }
  }

  private readTip(): Tip | undefined {
    try {
      const { reader } = this
      const tip = reader?.tip()
      if (reader !== undefined && tip !== undefined && tip.slot !== this.tipSlot) {
        this.slotMs = reader.slotMs()
        this.blockhashLifeMs = Math.min(
          Math.max(this.slotMs * BLOCKHASH_AGE_MAX, BLOCKHASH_LIFE_MIN_MS),
          BLOCKHASH_LIFE_MAX_MS,
        )
      }
      return tip
    } catch (error) {
      // Reads fail too, and /health reports the growing age of the tip.
      this.modules.log.error({ err: error, network: this.network }, 'tip cannot be read')
      return undefined
    }
  }
}

/** What requests and messages need of a network. */
export type ServedNetwork = Pick<NetworkView, 'dispatch' | 'lane'> &
  Partial<Pick<NetworkView, 'tipSlot'>>
