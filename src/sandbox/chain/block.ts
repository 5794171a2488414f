import type { ParsedTransaction } from '../solana/parse-transaction.js'
import type { TransactionError } from './transaction-error.js'

/** Everything an account is, exactly. */
export type AccountState = {
  readonly lamports: bigint
  readonly owner: Uint8Array
  readonly executable: boolean
  readonly rentEpoch: bigint
  readonly data: Uint8Array
}

/** One write of an account. Lamports 0 is its deletion. */
export type AccountUpdate = AccountState & {
  readonly pubkey: Uint8Array
  readonly slot: number
  /**
   * Grows with every write of the chain, so that the last write of a slot is the one with the
   * highest.
   */
  readonly writeVersion: number
  /** Signature of the transaction that wrote it; `undefined` for genesis, dumps and sysvars. */
  readonly signature: Uint8Array | undefined
}

/** What one token account held before or after a transaction. */
export type TokenBalance = {
  readonly accountIndex: number
  readonly mint: string
  readonly owner: string
  readonly programId: string
  readonly amount: bigint
  readonly decimals: number
}

/** An instruction that a program called. */
export type InnerInstruction = {
  readonly programIdIndex: number
  readonly accounts: Uint8Array
  readonly data: Uint8Array
  readonly stackHeight: number
}

/** What executing a transaction gave. */
export type TransactionOutcome = {
  /** `undefined` is success. */
  readonly error: TransactionError | undefined
  readonly feeLamports: bigint
  /** One per account key: static ones, then loaded writable, then loaded read-only. */
  readonly preBalances: readonly bigint[]
  readonly postBalances: readonly bigint[]
  readonly preTokenBalances: readonly TokenBalance[]
  readonly postTokenBalances: readonly TokenBalance[]
  readonly logs: readonly string[]
  /** One list per instruction of the message. */
  readonly innerInstructions: readonly (readonly InnerInstruction[])[]
  readonly computeUnits: bigint
  readonly returnData: { readonly programId: Uint8Array; readonly data: Uint8Array } | undefined
  readonly loadedWritable: readonly Uint8Array[]
  readonly loadedReadonly: readonly Uint8Array[]
}

/** A transaction that is in a block, failed ones included. */
export type TransactionRecord = TransactionOutcome & {
  readonly slot: number
  readonly index: number
  readonly signature: Uint8Array
  readonly transaction: ParsedTransaction
}

/** A finished block with every write in order. */
export type Block = {
  readonly slot: number
  readonly parentSlot: number
  readonly blockhash: string
  readonly parentBlockhash: string
  readonly blockHeight: number
  /** Seconds since 1970. */
  readonly blockTime: number
  readonly transactions: readonly TransactionRecord[]
  readonly accountUpdateCount: number
}

/** How sure a slot is. */
export type Commitment = 'processed' | 'confirmed' | 'finalized'
