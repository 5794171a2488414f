import { defaults as rpc } from '../src/rpc/options.js'
import { defaults as pools } from '../src/native/pool-options.js'
import { defaults as store } from '../src/native/store-options.js'
import type { PoolOptions } from '../src/native/reader.js'
import type { ReadLimits } from '../src/native/reads.js'
import type { StoreOptions } from '../src/native/store.js'
import type { DataSet } from './data/data.js'
import type { History } from './data/expected-state.js'

/** Sizes and times of a run. */
export type Plan = {
  readonly set: DataSet
  readonly history: History
  /**
   * Times that servers are measured in turn; the median of their ratios counts, because machines
   * are noisy.
   */
  readonly rounds: number
  /** Before each measured time: the processor's clock, JIT and caches settle. */
  readonly warmMs: number
  readonly closedLoopMs: number
  readonly openLoopMs: number
  readonly downloadMs: number
  /** Native reads of one page or scan; the median counts. */
  readonly nativeRepeats: number
  readonly pointMs: number
  /** WebSockets that are opened to each server. A process may have 20,000 files. */
  readonly socketCount: number
  readonly socketRounds: number
  /** Blocks of which every account is subscribed to. */
  readonly notifiedBlocks: number
  /** Slots of which each is sent to subscribers of every kind, before and beside point reads. */
  readonly subscribedSlots: number
  /** Of all kinds of requests together. */
  readonly mixedMs: number
}

const HISTORY: History = {
  fillBlockAccounts: 50_000,
  clusterBlocks: 100,
  changeBlocks: 320,
  changeBlockAccounts: 5_000,
}

/** What `npm run bench` does: about four minutes. */
export const FULL: Plan = {
  set: {
    seed: 20_260_301,
    tokenAccountCount: 1_000_000,
    mintCount: 1_000,
    walletCount: 300_000,
    poolCount: 100_000,
  },
  history: HISTORY,
  rounds: 5,
  warmMs: 500,
  closedLoopMs: 2_500,
  openLoopMs: 4_000,
  downloadMs: 2_500,
  nativeRepeats: 11,
  pointMs: 500,
  socketCount: 10_000,
  socketRounds: 3,
  notifiedBlocks: 300,
  subscribedSlots: 150,
  mixedMs: 600_000,
}

/** Plan of `--quick`: checks that everything works; its figures are imprecise. */
export const QUICK: Plan = {
  set: { ...FULL.set, tokenAccountCount: 100_000, mintCount: 200, poolCount: 20_000 },
  history: { ...HISTORY, clusterBlocks: 10, changeBlocks: 20 },
  rounds: 1,
  warmMs: 300,
  closedLoopMs: 1_000,
  openLoopMs: 1_500,
  downloadMs: 1_000,
  nativeRepeats: 5,
  pointMs: 100,
  socketCount: 1_000,
  socketRounds: 1,
  notifiedBlocks: 50,
  subscribedSlots: 20,
  mixedMs: 10_000,
}

/** Accounts of a page: the default and the maximum (contract: page-limit). */
export const PAGE_LIMIT_DEFAULT = 1_000
export const PAGE_LIMIT_MAX = 10_000

/**
 * Different accounts that are requested: far more than fit in a processor's cache, and
 * twice as many as an edge keeps results of, so that nearly every one is read.
 */
export const SAMPLE_COUNT = 8_192

/** Connections of a closed loop: enough to saturate one edge. */
export const CLOSED_LOOP_CONNECTIONS = 64

/** A rate far below the capacity of each server: latency is measured, not queues. */
export const OPEN_LOOP_REQUESTS_PER_SECOND = 2_000

/** Connections of the probe; a request that finds none free waits, and its wait counts. */
export const OPEN_LOOP_CONNECTIONS = 32

/** As in production. */
export const STORE_OPTIONS: StoreOptions = store
export const POOL_OPTIONS: PoolOptions = pools
/** No result is cached: reads are timed. */
export const READ_LIMITS: ReadLimits = { ...rpc, recentResultsMax: 0 }
