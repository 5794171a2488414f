import type { Block } from '../chain/block.js'
import { fromMapKey } from '../solana/addresses.js'
import { type AccountEntry, type FeedEntry, toAccountEntry, toBlockEntries } from './feed-entry.js'

/** A block that does not become part of the chain. */
export type Fork = {
  readonly slot: number
  readonly parentSlot: number
  readonly isDead: boolean
  readonly entries: readonly FeedEntry[]
}

/** Of two forks the first is reported dead; in the slot of the second a real block follows. */
const FORKS = [
  { distance: 2, isDead: true },
  { distance: 3, isDead: false },
] as const

/** The account with other lamports and zeroed data. */
const toForked = (account: AccountEntry, slot: number, nowMs: number): AccountEntry =>
  toAccountEntry(
    {
      pubkey: fromMapKey(account.pubkey),
      lamports: account.lamports + 1n,
      owner: fromMapKey(account.owner),
      executable: false,
      rentEpoch: 0n,
      data: new Uint8Array(account.dataByteCount),
      slot,
      writeVersion: Number.MAX_SAFE_INTEGER,
      signature: undefined,
    },
    nowMs,
  )

/** Two blocks in future slots, with `parent` as parent and false states of its accounts. */
export const createForks = (
  parent: Block,
  accounts: readonly AccountEntry[],
  blockhashOf: (slot: number) => string,
  nowMs: number,
): Fork[] =>
  FORKS.map(({ distance, isDead }) => {
    const slot = parent.slot + distance
    const block: Block = {
      ...parent,
      slot,
      parentSlot: parent.slot,
      parentBlockhash: parent.blockhash,
      blockhash: blockhashOf(parent.slot + 1_000 * distance),
    }
    const forked = accounts.map(account => toForked(account, slot, nowMs))
    const entries = [...forked, ...toBlockEntries(block, forked, nowMs)]
    return { slot, parentSlot: parent.slot, isDead, entries }
  })
