import type { TransactionRecord } from './block.js'
import type { Refusal } from './execute-transaction.js'
import type { BundleRefusal } from './transaction-runner.js'

/** Result of a transaction: in the block, where it may have failed, or refused and in no block. */
export type Sent = { readonly landed: true; readonly record: TransactionRecord } | Refusal

/** Result of a bundle: in the block whole, or not at all. */
export type BundleSent =
  { readonly landed: true; readonly records: readonly TransactionRecord[] } | BundleRefusal

/** True if a signature is invalid. Signatures are verified at execution only. */
export const isForged = (sent: Sent | BundleSent): boolean =>
  !sent.landed && sent.error === 'SignatureFailure'
