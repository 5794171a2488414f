import type { LiteSvm } from 'litesvm/dist/internal.js'
import { ADDRESSES, isSameBytes } from '../solana/addresses.js'
import type { AccountState, TransactionOutcome } from './block.js'
import { isWritableStatic, type ParsedTransaction } from '../solana/transaction.js'
import { runOnSvm } from './run-on-svm.js'
import type { SvmAccounts } from './svm-accounts.js'
import type { TokenBalances } from './token-balances.js'
import type { TransactionError } from './transaction-error.js'

/** A refused transaction: it is in no block and paid no fee. */
export type Refusal = {
  readonly landed: false
  readonly error: TransactionError
  readonly reason: string
  readonly logs: readonly string[]
}

/** An executed transaction: its outcome, and the written accounts in key order. */
export type Execution = {
  readonly landed: true
  readonly outcome: TransactionOutcome
  readonly writes: readonly (readonly [pubkey: Uint8Array, state: AccountState])[]
}

/** Offset of the addresses in a lookup table. */
const TABLE_HEADER_BYTES = 56
const KEY_BYTES = 32
const NONCE_BYTES = 80

type Loaded = { readonly writable: Uint8Array[]; readonly readonly: Uint8Array[] }

/** Checks every index: LiteSVM aborts the process where an address lies beyond the table. */
const loadTables = ({ lookups }: ParsedTransaction, svm: LiteSvm): Loaded | TransactionError => {
  const loaded: Loaded = { writable: [], readonly: [] }
  for (const { table, writableIndexes, readonlyIndexes } of lookups) {
    const account = svm.getAccount(table)
    if (account === null) return 'AddressLookupTableNotFound'
    if (!isSameBytes(account.owner(), ADDRESSES.lookupTable))
      return 'InvalidAddressLookupTableOwner'
    const data = account.data()
    if (data.length < TABLE_HEADER_BYTES) return 'InvalidAddressLookupTableData'
    const keyCount = Math.floor((data.length - TABLE_HEADER_BYTES) / KEY_BYTES)
    const isKnown = (index: number): boolean => index < keyCount
    if (!writableIndexes.every(isKnown) || !readonlyIndexes.every(isKnown))
      return 'InvalidAddressLookupTableIndex'
    const addressAt = (index: number): Uint8Array => {
      const at = TABLE_HEADER_BYTES + index * KEY_BYTES
      return data.subarray(at, at + KEY_BYTES)
    }
    for (const index of writableIndexes) loaded.writable.push(addressAt(index))
    for (const index of readonlyIndexes) loaded.readonly.push(addressAt(index))
  }
  return loaded
}

/**
 * Keys that a transaction can write: those marked writable, without the programs that it invokes
 * and the reserved accounts.
 */
const writtenKeys = (
  transaction: ParsedTransaction,
  loaded: Loaded,
  accounts: SvmAccounts,
): Uint8Array[] => {
  const invoked = new Set(transaction.instructions.map(({ programIdIndex }) => programIdIndex))
  const fixed = transaction.keys.filter(
    (_key, index) => isWritableStatic(transaction, index) && !invoked.has(index),
  )
  return [...fixed, ...loaded.writable].filter(key => !accounts.isReserved(key))
}

const isNonceAccount = (state: AccountState | undefined): boolean =>
  state !== undefined &&
  state.data.length === NONCE_BYTES &&
  isSameBytes(state.owner, ADDRESSES.system)

/** The virtual machine, with its accounts and token balances. */
export type Machine = {
  readonly svm: LiteSvm
  readonly accounts: SvmAccounts
  readonly tokens: TokenBalances
}

/** All keys of a transaction, including lookup tables, and those that it can write. */
export type ResolvedKeys = {
  readonly keys: readonly Uint8Array[]
  readonly written: readonly Uint8Array[]
}

/** `undefined` where a lookup table cannot be read. */
export const resolveKeys = (
  transaction: ParsedTransaction,
  { svm, accounts }: Machine,
): ResolvedKeys | undefined => {
  const loaded = loadTables(transaction, svm)
  if (!isLoaded(loaded)) return undefined
  const keys = [...transaction.keys, ...loaded.writable, ...loaded.readonly]
  return { keys, written: writtenKeys(transaction, loaded, accounts) }
}

/**
 * Runs a transaction on the virtual machine and reads the written accounts. A failed transaction
 * writes only its fee payer and the nonce account of its first instruction. `beforeWrite` is called
 * before the execution with every account that it can write.
 */
export const executeTransaction = (
  transaction: ParsedTransaction,
  { svm, accounts, tokens }: Machine,
  beforeWrite: (pubkey: Uint8Array) => void = () => {},
): Execution | Refusal => {
  const loaded = loadTables(transaction, svm)
  if (!isLoaded(loaded)) return refuse(loaded, [])
  const keys = [...transaction.keys, ...loaded.writable, ...loaded.readonly]
  const written = writtenKeys(transaction, loaded, accounts)
  written.forEach(beforeWrite)
  const preBalances = keys.map(key => accounts.lamports(key))
  const preTokenBalances = tokens.balances(keys)
  const ran = runOnSvm(svm, transaction)
  if (ran === undefined) return refuse('SignatureFailure', [])
  const { error } = ran
  const postBalances = keys.map(key => accounts.lamports(key))
  // A failed transaction that paid no fee is not in the block.
  if (error !== undefined && preBalances[0] === postBalances[0]) return refuse(error, ran.logs)
  const nonce = keys[transaction.instructions[0]?.accounts[0] ?? -1]
  const isRolledBack = (key: Uint8Array): boolean =>
    error !== undefined && key !== keys[0] && !(key === nonce && isNonceAccount(accounts.get(key)))
  // An account that did not exist before or after was not written.
  const isWritten = (key: Uint8Array): boolean =>
    preBalances[keys.indexOf(key)] !== 0n || accounts.lamports(key) !== 0n
  const writes = written
    .filter(key => !isRolledBack(key) && isWritten(key))
    .map(key => [key, accounts.readWritten(key)] as const)
  for (const [key, state] of writes) tokens.record(key, state)
  const outcome: TransactionOutcome = {
    ...ran,
    preBalances,
    postBalances,
    preTokenBalances,
    postTokenBalances: tokens.balances(keys),
    loadedWritable: loaded.writable,
    loadedReadonly: loaded.readonly,
  }
  return { landed: true, outcome, writes }
}

const isLoaded = (loaded: Loaded | TransactionError): loaded is Loaded =>
  typeof loaded === 'object' && 'writable' in loaded

/** A refusal; its reason is the name of the error where none is given. */
export const refuse = (
  error: TransactionError,
  logs: readonly string[],
  reason = typeof error === 'string' ? error : JSON.stringify(error),
): Refusal => ({ landed: false, error, reason, logs })
