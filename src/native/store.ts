import type * as addon from '#native'

/** The newest block of a store. */
export type Tip = {
  readonly slot: number
  readonly parentSlot: number
  readonly blockHeight: number
  readonly blockhash: string
  readonly blockTime?: number | undefined
}

/** Options with which every process opens a store. */
export type StoreOptions = addon.StoreOptions
export type StoreStats = addon.StoreStats
/** A currently open read. */
export type OpenRead = addon.OpenReadData
