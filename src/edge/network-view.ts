import { join } from 'node:path'
import type { Config } from '../config/config.js'
import { createDispatch, type Dispatch, type Modules } from '../rpc/dispatch.js'
import { RpcError } from '../shared/errors.js'
import type { Log } from '../shared/log.js'
import { openReader, type Reader } from '../native/reader.js'
import type { Reads } from '../native/reads.js'
import type { Tip } from '../native/store.js'
import { currentGeneration, isIncomplete, storesPath } from '../storage/generations.js'
import { toStoreOptions } from '../storage/native-options.js'

/** One network as an edge serves it, whichever store is the live one. */
export type NetworkView = {
  readonly network: string
  /** Answers from the live store; with `noIndex` before the first block. */
  readonly dispatch: Dispatch
  readonly reader: Reader | undefined
  /** Newest slot, or undefined before the first block. */
  readonly tipSlot: number | undefined
  /** Its first whole store is being made: what did not change since it began is not there yet. */
  readonly isIncomplete: boolean
  /** Monotonic milliseconds since the tip last moved. */
  tipAgeMs(nowMs: number): number
  /** Looks at the tip, and at which store is the live one. */
  refresh(nowMs: number): void
  close(): void
}

/** What wants to know of a network's store as soon as it is served. */
export type StoreFollower = {
  /** Another store is the live one; the one before it closes after this. */
  onStore(reader: Reader): void
  /** Its tip has moved. */
  onTip(): void
}

const noIndex = (): never => {
  throw new RpcError('noIndex')
}

/** Before the first block there is nothing to answer from, and no slot to answer for. */
const NO_READS: Reads = {
  fast: () => undefined,
  fastMethod: () => 'unknown',
  tip: () => undefined,
  latestBlockhash: noIndex,
  balance: noIndex,
  blockhashValidity: noIndex,
  account: noIndex,
  accounts: noIndex,
  tokenBalance: noIndex,
  tokenSupply: noIndex,
  largestHolders: noIndex,
  programPage: async () => noIndex(),
  ownerPage: async () => noIndex(),
}

/** Opens a network's live store as soon as there is one, and follows it to the next. */
export const createNetworkView = (
  config: Config,
  network: string,
  modules: Omit<Modules, 'reads' | 'isHealthy'>,
  log: Log,
  follower?: StoreFollower,
): NetworkView => {
  const stores = storesPath(config.dataDir, network)
  const tipAgeMs = (nowMs: number): number => nowMs - tipMovedMs
  const isHealthy = (): boolean =>
    !lacksAccounts &&
    tipSlot !== undefined &&
    tipAgeMs(modules.now()) <= config.processes.tipAgeMaxMs
  const create = (reads: Reads): Dispatch =>
    createDispatch(config.rpc, { ...modules, isHealthy, reads })
  let dispatch = create(NO_READS)
  let generation: string | undefined
  let failed: string | undefined
  let reader: Reader | undefined
  let tipSlot: number | undefined
  let tipMovedMs = 0
  let lacksAccounts = false

  const follow = (): void => {
    const current = currentGeneration(stores)
    if (current === undefined || current === generation) return
    try {
      const next = openReader(join(stores, current), toStoreOptions(config, network), config.pools)
      const last = reader
      // What can fail comes first: a view is of one store as a whole.
      dispatch = create(next.reads(config.rpc))
      reader = next
      generation = current
      follower?.onStore(next)
      // Reads that still run keep the old store until they end.
      last?.close()
      log.info({ network, generation }, 'serving a store')
    } catch (error) {
      // It may have been replaced between the look and the opening; the next look tells. Once is
      // enough to say.
      if (failed !== current)
        log.error({ err: error, network, generation: current }, 'store cannot be opened')
      failed = current
    }
  }

  const look = (): Tip | undefined => {
    try {
      return reader?.tip()
    } catch (error) {
      // Reads will fail the same way, each with its own line; the age of the tip tells of it by
      // /health.
      log.error({ err: error, network }, 'tip cannot be read')
      return undefined
    }
  }

  return {
    network,
    get dispatch() {
      return dispatch
    },
    get reader() {
      return reader
    },
    get tipSlot() {
      return tipSlot
    },
    tipAgeMs,
    get isIncomplete() {
      return lacksAccounts
    },
    refresh: nowMs => {
      // Before the store: a whole one is live a moment before it is called so.
      lacksAccounts = isIncomplete(stores)
      follow()
      const tip = look()
      if (tip === undefined || tip.slot === tipSlot) return
      // The first tip may have come in long before this process: its block tells.
      const isFirst = tipSlot === undefined && typeof tip.blockTime === 'number'
      const ageMs = isFirst ? Math.max(0, Date.now() - (tip.blockTime ?? 0) * 1000) : 0
      tipSlot = tip.slot
      tipMovedMs = nowMs - ageMs
      follower?.onTip()
    },
    close: () => reader?.close(),
  }
}
