import type { Block, Commitment } from '../chain/block.js'
import type { AccountEntry, TransactionEntry } from './feed-entry.js'

/** The data of a slot, which every level sends. */
export type SlotData = {
  readonly slot: number
  /** The bank that becomes a block. */
  readonly bank: number
  readonly accounts: Map<string, AccountEntry>
  readonly transactions: TransactionEntry[]
  byteCount: number
  /** The block as it is sent; the parent hash may be a false one. */
  block: Block | undefined
}

export const createSlotData = (slot: number, bank: number): SlotData => ({
  slot,
  bank,
  accounts: new Map(),
  transactions: [],
  byteCount: 0,
  block: undefined,
})

/** Frees the entries of a slot that every level has sent. */
export const release = (data: SlotData | undefined): void => {
  data?.accounts.clear()
  if (data !== undefined) data.transactions.length = 0
}

type Decision = Exclude<Commitment, 'processed'>

/**
 * A validator of Alpenglow reports one event by two threads: either status may come first, and the
 * confirmation of a block that its child has finalized may be missing. The order depends on the
 * slot only, so that a client that fails once fails again.
 */
const ORDERS: readonly (readonly Decision[])[] = [
  ['confirmed', 'finalized'],
  ['finalized', 'confirmed'],
  ['confirmed', 'finalized'],
  ['finalized'],
]

/** Statuses of a block that is confirmed and final at once, in the order in which they are sent. */
export const decisionsOf = (slot: number): readonly Decision[] => ORDERS[slot % ORDERS.length] ?? []
