import bs58 from 'bs58'
import type { Block, TransactionRecord } from '../chain/block.js'
import { ADDRESSES, fromMapKey } from '../solana/addresses.js'
import {
  type AccountEntry,
  type FeedEntry,
  toAccountEntry,
  toBlockEntries,
  toTransactionEntries,
} from './feed-entry.js'

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

/** The block after `parent` in another fork. */
const createBlock = (parent: Block, distance: number, blockhash: string): Block => ({
  ...parent,
  slot: parent.slot + distance,
  parentSlot: parent.slot,
  parentBlockhash: parent.blockhash,
  blockhash,
})

/** Bytes of a token account. */
const ORPHAN_BYTES = 165

/** Transactions of `parent` under a signature that only the orphan has: its blockhash, twice. */
const toForkedTransactions = (
  { transactions }: Block,
  { slot, blockhash }: Block,
): readonly TransactionRecord[] => {
  const hash = bs58.decode(blockhash)
  const signature = Uint8Array.from([...hash, ...hash])
  const [record] = transactions
  return record === undefined ? [] : [{ ...record, slot, signature }]
}

/**
 * A block in the slot after `parent`, with false states of its accounts, and with an account and a
 * transaction that only this block has. Address and signature are made of the block's hash.
 */
export const createOrphan = (
  parent: Block,
  accounts: readonly AccountEntry[],
  blockhash: string,
  nowMs: number,
): Fork => {
  const empty = createBlock(parent, 1, blockhash)
  const transactions = toForkedTransactions(parent, empty)
  const block = { ...empty, transactions }
  const { slot } = block
  const own = toAccountEntry(
    {
      pubkey: bs58.decode(blockhash),
      lamports: 1_000_000n,
      owner: ADDRESSES.token,
      executable: false,
      rentEpoch: 0n,
      data: new Uint8Array(ORPHAN_BYTES),
      slot,
      writeVersion: Number.MAX_SAFE_INTEGER,
      signature: undefined,
    },
    nowMs,
  )
  const forked = [...accounts.map(account => toForked(account, slot, nowMs)), own]
  const sent = transactions.flatMap(record => toTransactionEntries(record, nowMs))
  const entries = [...forked, ...sent, ...toBlockEntries(block, forked, nowMs)]
  return { slot, parentSlot: parent.slot, isDead: false, entries }
}

/** Two blocks in future slots, with `parent` as parent and false states of its accounts. */
export const createForks = (
  parent: Block,
  accounts: readonly AccountEntry[],
  blockhashOf: (slot: number) => string,
  nowMs: number,
): Fork[] =>
  FORKS.map(({ distance, isDead }) => {
    const block = createBlock(parent, distance, blockhashOf(parent.slot + 1_000 * distance))
    const { slot } = block
    const forked = accounts.map(account => toForked(account, slot, nowMs))
    const entries = [...forked, ...toBlockEntries(block, forked, nowMs)]
    return { slot, parentSlot: parent.slot, isDead, entries }
  })
