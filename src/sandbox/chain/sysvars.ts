import { Account, Clock, type LiteSvm } from 'litesvm/dist/internal.js'
import { ADDRESSES } from '../solana/addresses.js'

/** Epochs are as long as on mainnet. */
const SLOTS_PER_EPOCH = 432_000
/** Entries of the SlotHashes sysvar. */
const SLOT_HASHES_MAX = 512
const COUNT_BYTES = 8
const ENTRY_BYTES = 40

/**
 * The Clock and SlotHashes sysvars of the virtual machine. Only the Clock is published in every
 * block: SlotHashes would add 20 KiB to each.
 */
export class Sysvars {
  private readonly svm: LiteSvm
  private readonly slotHashes = Buffer.alloc(COUNT_BYTES + SLOT_HASHES_MAX * ENTRY_BYTES)
  private slotHashCount = 0
  private epochStart: bigint | undefined

  constructor(svm: LiteSvm) {
    this.svm = svm
  }

  /** `unixTime` in seconds. */
  startSlot(slot: number, unixTime: number): void {
    const epoch = Math.floor(slot / SLOTS_PER_EPOCH)
    if (this.epochStart === undefined || slot % SLOTS_PER_EPOCH === 0)
      this.epochStart = BigInt(unixTime)
    this.svm.setClock(
      new Clock(BigInt(slot), this.epochStart, BigInt(epoch), BigInt(epoch + 1), BigInt(unixTime)),
    )
  }

  /** Inserts at the front: the sysvar is ordered newest first. */
  addSlotHash(slot: number, blockhash: Uint8Array): void {
    this.slotHashes.copyWithin(
      COUNT_BYTES + ENTRY_BYTES,
      COUNT_BYTES,
      this.slotHashes.length - ENTRY_BYTES,
    )
    this.slotHashes.writeBigUInt64LE(BigInt(slot), COUNT_BYTES)
    this.slotHashes.set(blockhash, COUNT_BYTES + 8)
    this.slotHashCount = Math.min(this.slotHashCount + 1, SLOT_HASHES_MAX)
    this.slotHashes.writeBigUInt64LE(BigInt(this.slotHashCount))
    this.svm.setAccount(
      ADDRESSES.slotHashes,
      new Account(1n, this.slotHashes, ADDRESSES.sysvar, false, 0n),
    )
  }
}
