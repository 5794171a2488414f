import bs58 from 'bs58'
import { toMapKey } from '../solana/addresses.js'
import type { Chain } from '../chain/chain.js'
import type { ResolvedKeys } from '../chain/execute-transaction.js'
import type { Failure } from '../http/json-call.js'
import { parseTransaction, TransactionFormatError } from '../solana/parse-transaction.js'
import type { ParsedTransaction } from '../solana/transaction.js'

/** Input of the checks beside the bundle. */
export type BundleRules = {
  readonly chain: Chain
  /** One of these must be locked for writing. */
  readonly tipAddresses: ReadonlySet<string>
  readonly countMax: number
}

/** A bundle that passed the checks. */
export type CheckedBundle = {
  readonly transactions: readonly ParsedTransaction[]
  readonly signatures: readonly Uint8Array[]
}

/** Accounts of one transaction that may be locked at once. */
const LOCKS_MAX = 64
/** An account whose base58 address begins like this demands the first place in the bundle. */
const FRONT = 'jitodontfront'
// Every 32-byte address that begins with this letter has this length in base58.
const FRONT_CHARS = 43
const FRONT_FROM = bs58.decode(FRONT.padEnd(FRONT_CHARS, '1'))
const FRONT_TO = bs58.decode(FRONT.padEnd(FRONT_CHARS, 'z'))

const invalid = (message: string): Failure => ({ status: 400, code: -32602, message })

/** Also the answer where the chain finds a wrong signature. */
export const UNSIGNED = invalid(
  'bundles must not contain any duplicate transactions and every transaction must be signed',
)

const parse = (bytes: Uint8Array | undefined): ParsedTransaction | undefined => {
  if (bytes === undefined) return undefined
  try {
    return parseTransaction(bytes)
  } catch (error) {
    if (error instanceof TransactionFormatError) return undefined
    throw error
  }
}

/** One transaction with all its keys. */
type Member = ResolvedKeys & { readonly transaction: ParsedTransaction }

const hasFront = ({ keys }: Member): boolean =>
  keys.some(key => Buffer.compare(key, FRONT_FROM) >= 0 && Buffer.compare(key, FRONT_TO) <= 0)

const keyCountOf = ({ keys, lookups }: ParsedTransaction): number =>
  lookups.reduce(
    (count, { writableIndexes, readonlyIndexes }) =>
      count + writableIndexes.length + readonlyIndexes.length,
    keys.length,
  )

const isDistinct = (transactions: readonly ParsedTransaction[]): boolean =>
  new Set(transactions.map(({ message }) => toMapKey(message))).size === transactions.length

/**
 * Transactions that name a front account must lead the bundle, and each of them must share a signer
 * with the first.
 */
const isFrontInOrder = (members: readonly Member[]): boolean => {
  const signersOf = ({ transaction }: Member): string[] =>
    transaction.keys.slice(0, transaction.requiredSignatureCount).map(toMapKey)
  const first = new Set(members.slice(0, 1).flatMap(signersOf))
  return members.every(
    (member, index) =>
      !hasFront(member) ||
      index === 0 ||
      (members.slice(0, index).every(hasFront) &&
        signersOf(member).some(signer => first.has(signer))),
  )
}

/**
 * The checks before an engine accepts a bundle, with the texts of the real engine. `undefined`
 * members could not be decoded.
 */
export const checkBundle = (
  members: readonly (Uint8Array | undefined)[],
  { chain, tipAddresses, countMax }: BundleRules,
): CheckedBundle | Failure => {
  if (members.length === 0) return invalid('bundle has no transactions')
  if (members.length > countMax) return invalid('bundle exceeds max transaction length')
  const transactions: ParsedTransaction[] = []
  for (const [index, bytes] of members.entries()) {
    const transaction = parse(bytes)
    if (transaction === undefined) return invalid(`transaction #${index} could not be decoded`)
    transactions.push(transaction)
  }
  if (!isDistinct(transactions)) return UNSIGNED
  if (transactions.some(transaction => keyCountOf(transaction) > LOCKS_MAX))
    return { status: 400, code: -32603, message: 'transaction has too many account locks' }
  const ages = new Set(transactions.map(transaction => chain.blockhashAge(transaction)))
  if (ages.has('unknown')) return invalid('bundle contains an invalid blockhash')
  if (ages.has('expired')) return invalid('bundle contains an expired blockhash')
  const signatures = transactions.flatMap(({ signatures: [first] }) => first ?? [])
  if (signatures.some(signature => chain.isProcessed(signature)))
    return invalid('bundle contains an already processed transaction')
  const resolved = transactions.map(transaction => ({
    // Without its lookup tables a transaction cannot run: the chain refuses it later.
    ...(chain.resolveKeys(transaction) ?? { keys: transaction.keys, written: [] }),
    transaction,
  }))
  if (!resolved.some(({ written }) => written.some(key => tipAddresses.has(toMapKey(key)))))
    return invalid(
      'Bundles must write lock at least one tip account to be eligible for the auction.',
    )
  if (!isFrontInOrder(resolved))
    return invalid('only the first transactions of a bundle may name a jitodontfront account')
  return { transactions, signatures }
}
