import bs58 from 'bs58'
import { isAbsent, type Members } from '../../shared/values.js'
import type { Commitment, TransactionRecord } from '../chain/block.js'
import type { Chain } from '../chain/chain.js'
import { refuse, type Refusal } from '../chain/execute-transaction.js'
import { parseTransaction, TransactionFormatError } from '../solana/parse-transaction.js'
import type { ParsedTransaction } from '../solana/transaction.js'
import { toAccount } from './accounts.js'
import { requireContextSlot } from './context-slot.js'
import { decodeSent } from './decode-sent.js'
import { invalidParam, RpcFailure } from './failure.js'
import { toCommitment, toList, toOptions, toPubkey } from './params.js'
import { toInner, toReturnData } from './transaction.js'
import type { TransactionError } from '../chain/transaction-error.js'
import { verifySignatures } from '../solana/verify-signatures.js'

/** Accounts that one simulation may return. */
const ACCOUNTS_MAX = 64

const toParsed = (text: unknown, options: Members): ParsedTransaction => {
  const bytes = decodeSent(text, options['encoding'] ?? 'base58')
  try {
    return parseTransaction(bytes)
  } catch (error) {
    if (!(error instanceof TransactionFormatError)) throw error
    throw invalidParam(`failed to deserialize the transaction: ${error.message}`)
  }
}

const signatureOf = ({ signatures }: ParsedTransaction): string =>
  bs58.encode(signatures[0] ?? new Uint8Array())

/** The message of an error, with the texts that clients parse. */
const describe = (error: TransactionError, reason: string): string => {
  if (error === 'BlockhashNotFound') return 'Blockhash not found'
  if (error === 'AccountNotFound')
    return 'Attempt to debit an account but found no record of a prior credit.'
  if (typeof error === 'string' || !('InstructionError' in error)) return reason
  const [index, inner] = error.InstructionError
  const what =
    typeof inner === 'string' ? inner : `custom program error: 0x${inner.Custom.toString(16)}`
  return `Error processing Instruction ${index}: ${what}`
}

type Simulated = {
  readonly failed: Refusal | undefined
  readonly value: Record<string, unknown>
}

const simulate = (
  chain: Chain,
  parsed: ParsedTransaction,
  options: Members,
  commitment: Commitment,
): Simulated => {
  const isAnyBlockhash = options['replaceRecentBlockhash'] === true
  const isVerified = options['sigVerify'] === true
  const wanted = isAbsent(options['accounts']) ? undefined : toOptions(options['accounts'])
  const addresses = toList(wanted?.['addresses'] ?? [], ACCOUNTS_MAX).map(toPubkey)
  const rules = { isVerified, isAnyBlockhash, commitment }
  const { run, inspected } = chain.simulate(parsed.bytes, rules, () =>
    addresses.map(address => {
      const state = chain.account(address)
      return state === undefined
        ? null
        : toAccount(chain, state, { encoding: wanted?.['encoding'] ?? 'base64' })
    }),
  )
  const accounts = wanted === undefined ? null : inspected
  const replacement = isAnyBlockhash ? chain.latestBlockhash(commitment) : undefined
  const replacementBlockhash = replacement && {
    blockhash: replacement.blockhash,
    lastValidBlockHeight: replacement.lastValidBlockHeight,
  }
  if (!run.landed) {
    const { error, logs } = run
    const nothing = { accounts: accounts && addresses.map(() => null), innerInstructions: null }
    const value = { err: error, logs, unitsConsumed: 0, returnData: null, ...nothing }
    return { failed: run, value: { ...value, replacementBlockhash } }
  }
  const { outcome, transaction, signature } = run
  const { error, logs, computeUnits } = outcome
  const record: TransactionRecord = {
    ...outcome,
    slot: chain.slot,
    index: 0,
    signature,
    transaction,
  }
  return {
    failed: error === undefined ? undefined : refuse(error, logs),
    value: {
      err: error ?? null,
      logs,
      accounts: error === undefined ? accounts : accounts && addresses.map(() => null),
      unitsConsumed: computeUnits,
      returnData: toReturnData(outcome.returnData) ?? null,
      innerInstructions: options['innerInstructions'] === true ? toInner(record, true) : null,
      replacementBlockhash,
    },
  }
}

/** `value` of simulateTransaction. */
export const simulateTransaction = (chain: Chain, text: unknown, options: Members): unknown => {
  if (options['sigVerify'] === true && options['replaceRecentBlockhash'] === true)
    throw invalidParam('sigVerify may not be used with replaceRecentBlockhash')
  const parsed = toParsed(text, options)
  const commitment = toCommitment(options)
  requireContextSlot(chain.blockAt(commitment).slot, options)
  return simulate(chain, parsed, options, commitment).value
}

/**
 * Sends a transaction and answers its signature. Unless preflight is skipped, its signatures are
 * verified and it is simulated at `preflightCommitment` first, and not sent where that fails.
 */
export const sendTransaction = (chain: Chain, text: unknown, options: Members): string => {
  const parsed = toParsed(text, options)
  const isSkipped = options['skipPreflight'] === true
  const commitment = isSkipped
    ? 'processed'
    : toCommitment({ commitment: options['preflightCommitment'] })
  requireContextSlot(chain.blockAt(commitment).slot, options)
  if (!isSkipped) {
    if (!verifySignatures(parsed))
      throw new RpcFailure(-32003, 'Transaction signature verification failure')
    const { failed, value } = simulate(chain, parsed, {}, commitment)
    if (failed !== undefined)
      throw new RpcFailure(
        -32002,
        `Transaction simulation failed: ${describe(failed.error, failed.reason)}`,
        value,
      )
  }
  // An accepted transaction may still fail to land: the sender sees that by its status.
  chain.send(parsed.bytes)
  return signatureOf(parsed)
}
