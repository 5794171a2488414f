import { ADDRESSES } from '../../solana/addresses.js'
import { deriveKeypair } from '../../solana/keypair.js'
import type { SystemWrite } from '../block.js'
import { epochOf } from './sysvars.js'

const STATE_BYTES = 3_762
const STATE_VERSION_4 = 3
const COMMISSION_BPS = 525
const BLS_KEY_BYTES = 48
/** A block rewards the votes for the block of this many slots before. */
const REWARDED_SLOTS = 8
/** Credits of a vote, which are lamports. */
const VOTE_CREDITS = 1_000n
/** An entry of this between the credits marks the epoch in which they became lamports. */
const MIGRATION_MARK = 2n ** 64n - 1n

/** Appends the fields of a serialized state. */
class StateWriter {
  readonly bytes = Buffer.alloc(STATE_BYTES)
  private at = 0

  raw(...parts: readonly Uint8Array[]): this {
    for (const part of parts) {
      this.bytes.set(part, this.at)
      this.at += part.length
    }
    return this
  }

  u8(value: number): this {
    this.at = this.bytes.writeUInt8(value, this.at)
    return this
  }

  u16(value: number): this {
    this.at = this.bytes.writeUInt16LE(value, this.at)
    return this
  }

  u32(value: number): this {
    this.at = this.bytes.writeUInt32LE(value, this.at)
    return this
  }

  u64(...values: readonly (bigint | number)[]): this {
    for (const value of values) this.at = this.bytes.writeBigUInt64LE(BigInt(value), this.at)
    return this
  }
}

type Validator = {
  readonly vote: Uint8Array
  readonly node: Uint8Array
  readonly blsKey: Uint8Array
}

/** What a block records of the votes for an earlier one. */
type Voted = { readonly slot: number; readonly unixTime: number; readonly rootSlot: number }

/**
 * The vote accounts of the validators. With Alpenglow votes are no transactions: each block writes
 * the accounts of those whose certificates it contains.
 */
export class VoteAccounts {
  private readonly validators: readonly Validator[]
  private credits = 0n

  constructor(seed: string, count: number) {
    this.validators = Array.from({ length: count }, (_none, index) => {
      const node = deriveKeypair(seed, `validator ${index}`).publicKey
      const blsKey = Buffer.alloc(BLS_KEY_BYTES, node)
      return { vote: deriveKeypair(seed, `vote account ${index}`).publicKey, node, blsKey }
    })
  }

  endBlock({ slot, ...rest }: Voted): SystemWrite[] {
    this.credits += VOTE_CREDITS
    const voted = { slot: Math.max(0, slot - REWARDED_SLOTS), ...rest }
    const owner = ADDRESSES.vote
    return this.validators.map(validator => ({
      pubkey: validator.vote,
      owner,
      data: this.stateOf(validator, voted),
    }))
  }

  private stateOf({ node, blsKey }: Validator, { slot, unixTime, rootSlot }: Voted): Buffer {
    const epoch = epochOf(slot)
    return (
      new StateWriter()
        .u32(STATE_VERSION_4)
        // The node itself is withdrawer and collector.
        .raw(node, node, node, node)
        .u16(COMMISSION_BPS)
        .u16(10_000)
        .u64(0)
        .u8(1)
        .raw(blsKey)
        // One vote, with its latency and confirmations.
        .u64(1)
        .u8(REWARDED_SLOTS)
        .u64(slot)
        .u32(1)
        .u8(1)
        .u64(rootSlot)
        .u64(1, epoch)
        .raw(node)
        .u64(2, MIGRATION_MARK, MIGRATION_MARK, MIGRATION_MARK)
        .u64(epoch, this.credits, 0)
        .u64(slot, unixTime).bytes
    )
  }
}
