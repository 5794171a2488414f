import type * as addon from '#native'

/** The newest block of a store. */
export type Tip = {
  readonly slot: number
  readonly parentSlot: number
  readonly blockHeight: number
  readonly blockhash: string
  readonly blockTime?: number | undefined
}

/** How every process opens one store. */
export type StoreOptions = addon.StoreOptions
export type StoreStats = addon.StoreStats
/** A read that is open now. */
export type OpenRead = addon.OpenReadData
