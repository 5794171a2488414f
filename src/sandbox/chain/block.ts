import type { ParsedTransaction } from '../solana/transaction.js'
import type { TransactionError } from './transaction-error.js'

/** Slot of the first block. Not 0: that is the slot of its parent. */
export const FIRST_SLOT = 1

/** The state of an account. */
export type AccountState = {
  readonly lamports: bigint
  readonly owner: Uint8Array
  readonly executable: boolean
  readonly rentEpoch: bigint
  readonly data: Uint8Array
}

/** One write of an account. Lamports 0 mean that it was deleted. */
export type AccountUpdate = AccountState & {
  readonly pubkey: Uint8Array
  readonly slot: number
  /** Increases with every write of the chain. */
  readonly writeVersion: number
  /** Signature of the writing transaction; `undefined` for genesis, dumps, sysvars and votes. */
  readonly signature: Uint8Array | undefined
}

/** A write of the chain itself; the account has the lamports that its size needs. */
export type SystemWrite = Pick<AccountUpdate, 'pubkey' | 'owner' | 'data'>

/** Balance of one token account before or after a transaction. */
export type TokenBalance = {
  readonly accountIndex: number
  readonly mint: string
  readonly owner: string
  readonly programId: string
  readonly amount: bigint
  readonly decimals: number
}

/** An instruction that a program invoked. */
export type InnerInstruction = {
  readonly programIdIndex: number
  readonly accounts: Uint8Array
  readonly data: Uint8Array
  readonly stackHeight: number
}

/** Outcome of an execution. */
export type TransactionOutcome = {
  /** `undefined` means success. */
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

/** A transaction in a block. It may have failed. */
export type TransactionRecord = TransactionOutcome & {
  readonly slot: number
  readonly index: number
  readonly signature: Uint8Array
  readonly transaction: ParsedTransaction
}

/** A closed block. */
export type Block = {
  readonly slot: number
  readonly parentSlot: number
  readonly blockhash: string
  readonly parentBlockhash: string
  readonly blockHeight: number
  /** Seconds since 1970: the Clock at the end of the block. */
  readonly blockTime: number
  readonly transactions: readonly TransactionRecord[]
  readonly accountUpdateCount: number
}

/** Commitment of a slot. */
export type Commitment = 'processed' | 'confirmed' | 'finalized'
