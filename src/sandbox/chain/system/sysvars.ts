import { Account, Clock, type LiteSvm } from 'litesvm/dist/internal.js'
import { ADDRESSES, isSameBytes } from '../../solana/addresses.js'
import { deriveAddress } from '../../solana/derive-address.js'
import type { SystemWrite } from '../block.js'
import { NewestFirst } from './newest-first.js'
import { SlotHistory } from './slot-history.js'

/** Epochs have as many slots as on mainnet. */
const SLOTS_PER_EPOCH = 432_000
/** Entries of the SlotHashes and RecentBlockhashes sysvars. */
const SLOT_HASHES_MAX = 512
const RECENT_BLOCKHASHES_MAX = 150
/** Lamports of a signature, which RecentBlockhashes repeats with each hash. */
const SIGNATURE_FEE_LAMPORTS = 5_000n
const NANOSECONDS = 1_000_000_000n

export const epochOf = (slot: number): number => Math.floor(slot / SLOTS_PER_EPOCH)

/** Where Alpenglow keeps the time of the newest block in nanoseconds. */
const NANOSECOND_CLOCK = deriveAddress([Buffer.from('alpenclock')], ADDRESSES.alpenglowFeature)

const BLOCK_ACCOUNTS = [
  ADDRESSES.clock,
  ADDRESSES.slotHashes,
  ADDRESSES.recentBlockhashes,
  ADDRESSES.slotHistory,
  NANOSECOND_CLOCK,
]

/** Whether every block writes this account. */
export const isWrittenByBlocks = (pubkey: Uint8Array): boolean =>
  BLOCK_ACCOUNTS.some(account => isSameBytes(account, pubkey))

const u64 = (value: bigint | number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

const sysvar = (pubkey: Uint8Array, data: Uint8Array): SystemWrite => ({
  pubkey,
  owner: ADDRESSES.sysvar,
  data,
})

/** The sysvars that every block writes, in the order in which a validator writes them. */
export class Sysvars {
  private readonly svm: LiteSvm
  private readonly slotHashes = new NewestFirst(SLOT_HASHES_MAX, 40)
  private readonly blockhashes = new NewestFirst(RECENT_BLOCKHASHES_MAX, 40)
  private readonly history = new SlotHistory()
  private epochStart: bigint | undefined

  constructor(svm: LiteSvm) {
    this.svm = svm
  }

  /** Before the first transaction: the time in seconds, and the hash of the parent. */
  startBlock(
    slot: number,
    unixTime: number,
    parent: { readonly slot: number; readonly blockhash: Uint8Array },
  ): SystemWrite[] {
    if (this.epochStart === undefined || slot % SLOTS_PER_EPOCH === 0)
      this.epochStart = BigInt(unixTime)
    const hashes = this.slotHashes.add(u64(parent.slot), parent.blockhash)
    const { slotHashes, sysvar: owner } = ADDRESSES
    this.svm.setAccount(slotHashes, new Account(1n, hashes, owner, false, 0n))
    return [this.setClock(slot, unixTime), sysvar(slotHashes, hashes)]
  }

  /** The time of the block itself, which its own transactions did not see. */
  endBlock(slot: number, unixNanoseconds: bigint): SystemWrite[] {
    return [
      this.setClock(slot, Number(unixNanoseconds / NANOSECONDS)),
      { pubkey: NANOSECOND_CLOCK, owner: ADDRESSES.system, data: u64(unixNanoseconds) },
    ]
  }

  /** After everything else. */
  freeze(slot: number, blockhash: Uint8Array): SystemWrite[] {
    return [
      sysvar(
        ADDRESSES.recentBlockhashes,
        this.blockhashes.add(blockhash, u64(SIGNATURE_FEE_LAMPORTS)),
      ),
      sysvar(ADDRESSES.slotHistory, this.history.add(slot)),
    ]
  }

  private setClock(slot: number, unixTime: number): SystemWrite {
    const epoch = epochOf(slot)
    const start = this.epochStart ?? 0n
    this.svm.setClock(
      new Clock(BigInt(slot), start, BigInt(epoch), BigInt(epoch + 1), BigInt(unixTime)),
    )
    const fields = [slot, start, epoch, epoch + 1, unixTime]
    return sysvar(ADDRESSES.clock, Buffer.concat(fields.map(u64)))
  }
}
