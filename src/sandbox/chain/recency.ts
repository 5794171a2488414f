import { ADDRESSES, isSameBytes, toMapKey } from '../solana/addresses.js'
import { type BlockhashAge, BlockhashQueue } from './blockhash-queue.js'
import type { ParsedTransaction } from '../solana/transaction.js'
import type { SvmAccounts } from './svm-accounts.js'

const NONCE_BYTES = 80
/** The hash in a nonce account, after its version, state and authority. */
const NONCE_HASH_AT = 40
const ADVANCE_NONCE = Uint8Array.of(4, 0, 0, 0)

/** Checks the blockhash age of transactions, and detects duplicates. */
export class Recency {
  private readonly accounts: SvmAccounts
  private readonly blockhashes: BlockhashQueue
  private readonly signatures = new Map<string, number>()
  private readonly ageMax: number

  constructor(accounts: SvmAccounts, ageMax: number) {
    this.accounts = accounts
    this.ageMax = ageMax
    this.blockhashes = new BlockhashQueue(ageMax)
  }

  /** Removes signatures of transactions whose blockhash has expired by now. */
  addBlock(blockhash: Uint8Array, blockHeight: number): void {
    this.blockhashes.add(blockhash, blockHeight)
    for (const [signature, height] of this.signatures) {
      if (height >= blockHeight - this.ageMax) return
      this.signatures.delete(signature)
    }
  }

  addSignature(signature: Uint8Array, blockHeight: number): void {
    this.signatures.set(toMapKey(signature), blockHeight)
  }

  isProcessed(signature: Uint8Array): boolean {
    return this.signatures.has(toMapKey(signature))
  }

  ageOfBlockhash(blockhash: Uint8Array, newestHeight: number): BlockhashAge {
    return this.blockhashes.ageOf(blockhash, newestHeight)
  }

  /** Age of a transaction's blockhash; a valid durable nonce is recent. */
  ageOf(transaction: ParsedTransaction, newestHeight: number): BlockhashAge {
    const age = this.blockhashes.ageOf(transaction.recentBlockhash, newestHeight)
    return age !== 'recent' && this.isNonce(transaction) ? 'recent' : age
  }

  /** True if the first instruction advances a nonce account with this blockhash. */
  private isNonce({ instructions, keys, recentBlockhash }: ParsedTransaction): boolean {
    const first = instructions[0]
    const program = keys[first?.programIdIndex ?? -1]
    const nonce = keys[first?.accounts[0] ?? -1]
    if (first === undefined || program === undefined || nonce === undefined) return false
    if (!isSameBytes(program, ADDRESSES.system)) return false
    if (!isSameBytes(first.data, ADVANCE_NONCE)) return false
    const state = this.accounts.get(nonce)
    return (
      state !== undefined &&
      isSameBytes(state.owner, ADDRESSES.system) &&
      state.data.length === NONCE_BYTES &&
      isSameBytes(state.data.subarray(NONCE_HASH_AT, NONCE_HASH_AT + 32), recentBlockhash)
    )
  }
}
