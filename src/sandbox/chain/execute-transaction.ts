import type { LiteSvm } from 'litesvm/dist/internal.js'
import { ADDRESSES, isSameBytes } from '../solana/addresses.js'
import type { AccountState, TransactionOutcome } from './block.js'
import { isWritableStatic, type ParsedTransaction } from '../solana/parse-transaction.js'
import { runOnSvm } from './run-on-svm.js'
import type { SvmAccounts } from './svm-accounts.js'
import type { TokenBalances } from './token-balances.js'
import type { TransactionError } from './transaction-error.js'

/** A transaction that is in no block and paid nothing. */
export type Refusal = {
  readonly landed: false
  readonly error: TransactionError
  readonly reason: string
  readonly logs: readonly string[]
}

/** What a transaction did: its outcome, and every account it wrote in key order. */
export type Execution = {
  readonly landed: true
  readonly outcome: TransactionOutcome
  readonly writes: readonly (readonly [pubkey: Uint8Array, state: AccountState])[]
}

/** Addresses of a lookup table begin here. */
const TABLE_HEADER_BYTES = 56
const KEY_BYTES = 32
const NONCE_BYTES = 80

type Loaded = { readonly writable: Uint8Array[]; readonly readonly: Uint8Array[] }

/** Every address must be there: LiteSVM aborts the process when it is asked for half a key. */
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
 * Writable keys that a transaction may really write: programs it calls and sysvars stay locked only
 * in name.
 */
const writtenKeys = (
  transaction: ParsedTransaction,
  loaded: Loaded,
  accounts: SvmAccounts,
): Uint8Array[] => {
  const called = new Set(transaction.instructions.map(({ programIdIndex }) => programIdIndex))
  const fixed = transaction.keys.filter(
    (_key, index) => isWritableStatic(transaction, index) && !called.has(index),
  )
  return [...fixed, ...loaded.writable].filter(key => !accounts.isReserved(key))
}

const isNonceAccount = (state: AccountState | undefined): boolean =>
  state !== undefined &&
  state.data.length === NONCE_BYTES &&
  isSameBytes(state.owner, ADDRESSES.system)

/** The virtual machine, and what is known of the accounts in it. */
export type Machine = {
  readonly svm: LiteSvm
  readonly accounts: SvmAccounts
  readonly tokens: TokenBalances
}

/** All keys of a transaction, those of lookup tables included, and which of them it may write. */
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
 * Runs a transaction on the virtual machine and reads back what it wrote. A failed one wrote its
 * fee payer only, and the nonce account that its first instruction names. `beforeWrite` hears of
 * every account that it may write, before it does.
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
  // Whatever paid is in the block; the rest failed before it could.
  if (error !== undefined && preBalances[0] === postBalances[0]) return refuse(error, ran.logs)
  const nonce = keys[transaction.instructions[0]?.accounts[0] ?? -1]
  const isRolledBack = (key: Uint8Array): boolean =>
    error !== undefined && key !== keys[0] && !(key === nonce && isNonceAccount(accounts.get(key)))
  // Neither there before nor after: nothing was written.
  const isWritten = (key: Uint8Array): boolean =>
    preBalances[keys.indexOf(key)] !== 0n || accounts.lamports(key) !== 0n
  const writes = written
    .filter(key => !isRolledBack(key) && isWritten(key))
    .map(key => [key, accounts.readWritten(key)] as const)
  for (const [key, state] of writes) tokens.note(key, state)
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

/** A refusal in the words of its error, or in better ones. */
export const refuse = (
  error: TransactionError,
  logs: readonly string[],
  reason = typeof error === 'string' ? error : JSON.stringify(error),
): Refusal => ({ landed: false, error, reason, logs })
