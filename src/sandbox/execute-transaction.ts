import { FailedTransactionMetadata, type LiteSvm } from 'litesvm/dist/internal.js'
import { ADDRESSES, isSameBytes } from './addresses.js'
import type { AccountState, TransactionOutcome } from './block.js'
import { isWritableStatic, type ParsedTransaction } from './parse-transaction.js'
import type { SvmAccounts } from './svm-accounts.js'
import type { TokenLedger } from './token-ledger.js'
import { toTransactionError, type TransactionError } from './transaction-error.js'

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
const SIGNATURE_FEE_LAMPORTS = 5_000n
const COMPUTE_UNITS_PER_INSTRUCTION = 200_000n
const COMPUTE_UNITS_MAX = 1_400_000n
const MICRO = 1_000_000n

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

/**
 * What the transaction pays: 5,000 lamports a signature, and the priority fee that its compute
 * budget instructions ask for.
 */
export const feeOf = ({ instructions, keys, signatures }: ParsedTransaction): bigint => {
  let unitLimit: bigint | undefined
  let unitPriceMicroLamports = 0n
  let ordinaryCount = 0n
  for (const { programIdIndex, data } of instructions) {
    const program = keys[programIdIndex]
    if (program === undefined || !isSameBytes(program, ADDRESSES.computeBudget)) {
      ordinaryCount++
      continue
    }
    const view = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    if (view[0] === 2 && view.length >= 5) unitLimit = BigInt(view.readUInt32LE(1))
    if (view[0] === 3 && view.length >= 9) unitPriceMicroLamports = view.readBigUInt64LE(1)
  }
  const limit = unitLimit ?? ordinaryCount * COMPUTE_UNITS_PER_INSTRUCTION
  const units = limit < COMPUTE_UNITS_MAX ? limit : COMPUTE_UNITS_MAX
  const priority = (units * unitPriceMicroLamports + MICRO - 1n) / MICRO
  return BigInt(signatures.length) * SIGNATURE_FEE_LAMPORTS + priority
}

const isNonceAccount = (state: AccountState | undefined): boolean =>
  state !== undefined &&
  state.data.length === NONCE_BYTES &&
  isSameBytes(state.owner, ADDRESSES.system)

/** The virtual machine, and what is known of the accounts in it. */
export type Machine = {
  readonly svm: LiteSvm
  readonly accounts: SvmAccounts
  readonly tokens: TokenLedger
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
  const result = svm.sendVersionedTransaction(transaction.bytes)
  const postBalances = keys.map(key => accounts.lamports(key))
  const failed = result instanceof FailedTransactionMetadata
  const error = failed ? toTransactionError(result.err()) : undefined
  const meta = failed ? result.meta() : result
  // Whatever paid is in the block; the rest failed before it could.
  if (error !== undefined && preBalances[0] === postBalances[0]) return refuse(error, meta.logs())
  const nonce = keys[transaction.instructions[0]?.accounts[0] ?? -1]
  const isRolledBack = (key: Uint8Array): boolean =>
    failed && key !== keys[0] && !(key === nonce && isNonceAccount(accounts.get(key)))
  // Neither there before nor after: nothing was written.
  const isWritten = (key: Uint8Array): boolean =>
    preBalances[keys.indexOf(key)] !== 0n || accounts.lamports(key) !== 0n
  const writes = written
    .filter(key => !isRolledBack(key) && isWritten(key))
    .map(key => [key, accounts.readWritten(key)] as const)
  for (const [key, state] of writes) tokens.note(key, state)
  const returned = meta.returnData()
  const outcome: TransactionOutcome = {
    error,
    feeLamports: feeOf(transaction),
    preBalances,
    postBalances,
    preTokenBalances,
    postTokenBalances: tokens.balances(keys),
    logs: meta.logs(),
    innerInstructions: meta.innerInstructions().map(list =>
      list.map(inner => ({
        programIdIndex: inner.instruction().programIdIndex(),
        accounts: inner.instruction().accounts(),
        data: inner.instruction().data(),
        stackHeight: inner.stackHeight(),
      })),
    ),
    computeUnits: meta.computeUnitsConsumed(),
    returnData:
      returned.data().length === 0
        ? undefined
        : { programId: returned.programId(), data: returned.data() },
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
