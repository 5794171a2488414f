import bs58 from 'bs58'
import { isAbsent, type Members } from '../../shared/values.js'
import { AGAVE_VERSION } from '../solana/agave-version.js'
import { toMapKey } from '../solana/addresses.js'
import type { TransactionRecord } from '../chain/block.js'
import type { Chain } from '../chain/chain.js'
import type { History } from '../chain/history.js'
import { parseTransaction, TransactionFormatError } from '../solana/parse-transaction.js'
import {
  multipleAccounts,
  programAccounts,
  programAccountsPage,
  tokenAccountsByOwner,
} from './accounts.js'
import { invalidParam, RpcFailure } from './failure.js'
import {
  toBlockCommitment,
  toCommitment,
  toCount,
  toList,
  toOptions,
  toPubkey,
  toSignature,
} from './params.js'
import { sendTransaction, simulateTransaction } from './send.js'
import { toEncoding, toParsedKeys, toTransaction } from './transaction.js'
import { feeOf, readBudget } from '../chain/run-on-svm.js'

/** Sources of the methods. */
export type RpcContext = { readonly chain: Chain; readonly history: History }
type Params = readonly unknown[]
/** Answers the result. Throws RpcFailure. */
export type RpcMethod = (context: RpcContext, params: Params) => unknown

/** Of no release: the dev chain has the features of LiteSVM. */
const FEATURE_SET = 0
const SLOTS_IN_EPOCH = 432_000
const STATUSES_MAX = 256
const SIGNATURES_MAX = 1_000
const FEE_SLOTS = 150
const SIGNATURE_BYTES = 64
const MESSAGE_CHARS_MAX = 8_192

const withContext = ({ chain }: RpcContext, value: unknown) => ({
  context: { slot: chain.tip.slot },
  value,
})

/** Throws where the chain has not reached the caller's minimum slot, as a node does. */
const requireContextSlot = ({ tip }: Chain, { minContextSlot }: Members): void => {
  if (isAbsent(minContextSlot) || toCount(minContextSlot) <= tip.slot) return
  const message = 'Minimum context slot has not been reached'
  throw new RpcFailure(-32016, message, { contextSlot: tip.slot })
}

const toStatus = ({ chain, history }: RpcContext, record: TransactionRecord) => {
  const { slot, error } = record
  const confirmationStatus = history.statusOf(record)
  return {
    slot,
    confirmations: confirmationStatus === 'finalized' ? null : Math.max(0, chain.tip.slot - slot),
    err: error ?? null,
    status: error === undefined ? { Ok: null } : { Err: error },
    confirmationStatus,
  }
}

/** Options, or the encoding alone, as old clients send it. */
const toBlockOptions = (value: unknown) =>
  typeof value === 'string' ? { encoding: value } : toOptions(value)

const getTransaction: RpcMethod = ({ history }, [signature, given]) => {
  const options = toBlockOptions(given)
  const record = history.find(toSignature(signature))
  const newest = history.slotAt(toBlockCommitment(options))
  const encoding = toEncoding(options['encoding'])
  if (record === undefined || record.slot > newest) return null
  const blockTime = history.block(record.slot)?.blockTime ?? null
  return { slot: record.slot, blockTime, ...toTransaction(record, encoding, options) }
}

const toBlockTransaction = (
  record: TransactionRecord,
  details: string,
  options: ReturnType<typeof toOptions>,
) => {
  const full = toTransaction(record, toEncoding(options['encoding']), options)
  if (details === 'full') return full
  const signatures = record.transaction.signatures.map(signature => bs58.encode(signature))
  return { ...full, transaction: { signatures, accountKeys: toParsedKeys(record) } }
}

const getBlock: RpcMethod = ({ history }, [wanted, given]) => {
  const options = toBlockOptions(given)
  const slot = toCount(wanted)
  if (slot > history.slotAt(toBlockCommitment(options)))
    throw new RpcFailure(-32004, `Block not available for slot ${slot}`)
  const block = history.block(slot)
  if (block === undefined)
    throw new RpcFailure(-32009, `Slot ${slot} was skipped, or missing in long-term storage`)
  const details = String(options['transactionDetails'] ?? 'full')
  const { transactions } = block
  return {
    previousBlockhash: block.parentBlockhash,
    blockhash: block.blockhash,
    parentSlot: block.parentSlot,
    transactions:
      details === 'full' || details === 'accounts'
        ? transactions.map(record => toBlockTransaction(record, details, options))
        : undefined,
    signatures:
      details === 'signatures'
        ? transactions.map(({ signature }) => bs58.encode(signature))
        : undefined,
    rewards: options['rewards'] === false ? undefined : [],
    blockTime: block.blockTime,
    blockHeight: block.blockHeight,
  }
}

const getSignaturesForAddress: RpcMethod = ({ history }, [address, given]) => {
  const options = toOptions(given)
  const limit = Math.min(toCount(options['limit'], SIGNATURES_MAX), SIGNATURES_MAX)
  const newest = history.slotAt(toBlockCommitment(options))
  const idOf = (value: unknown): string | undefined =>
    isAbsent(value) ? undefined : toMapKey(toSignature(value))
  const [before, until] = [idOf(options['before']), idOf(options['until'])]
  const rows: unknown[] = []
  let isPast = before === undefined
  for (const record of [...history.of(toPubkey(address))].reverse()) {
    const id = toMapKey(record.signature)
    if (id === until || rows.length === limit) break
    if (isPast && record.slot <= newest)
      rows.push({
        signature: bs58.encode(record.signature),
        slot: record.slot,
        err: record.error ?? null,
        memo: null,
        blockTime: history.block(record.slot)?.blockTime ?? null,
        confirmationStatus: history.statusOf(record),
      })
    if (id === before) isPast = true
  }
  return rows
}

const getFeeForMessage: RpcMethod = (context, [text, options]) => {
  const commitment = toCommitment(toOptions(options))
  if (typeof text !== 'string' || text.length > MESSAGE_CHARS_MAX)
    throw invalidParam('Invalid params: expected a string')
  const message = Buffer.from(text, 'base64')
  // A versioned message has a version byte before the count of signatures.
  const signatureCount = (message[0] ?? 0) < 128 ? message[0] : message[1]
  const signatures = Buffer.alloc(1 + (signatureCount ?? 0) * SIGNATURE_BYTES)
  signatures.writeUInt8((signatureCount ?? 0) & 127)
  try {
    const transaction = parseTransaction(Buffer.concat([signatures, message]))
    const isRecent = context.chain.blockhashAge(transaction, commitment) === 'recent'
    return withContext(context, isRecent ? feeOf(transaction) : null)
  } catch (error) {
    if (!(error instanceof TransactionFormatError)) throw error
    throw invalidParam(`failed to deserialize the message: ${error.message}`)
  }
}

/** The lowest price of a compute unit in each block; 0 in an empty one. */
const getRecentPrioritizationFees: RpcMethod = ({ history }) =>
  history
    .newestBlocks()
    .slice(0, FEE_SLOTS)
    .reverse()
    .map(({ slot, transactions }) => {
      const prices = transactions.map(
        ({ transaction }) => readBudget(transaction).unitPriceMicroLamports,
      )
      const [first = 0n, ...rest] = prices
      return { slot, prioritizationFee: rest.reduce((a, b) => (a < b ? a : b), first) }
    })

/** The methods of the chain's RPC: to send, confirm and look up transactions. */
export const RPC_METHODS: Readonly<Record<string, RpcMethod>> = {
  sendTransaction: ({ chain }, [text, options]) => sendTransaction(chain, text, toOptions(options)),
  simulateTransaction: (context, [text, options]) =>
    withContext(context, simulateTransaction(context.chain, text, toOptions(options))),
  requestAirdrop: ({ chain }, [pubkey, lamports]) =>
    bs58.encode(chain.airdrop(toPubkey(pubkey), BigInt(toCount(lamports))).signature),
  getSignatureStatuses: (context, [signatures]) =>
    withContext(
      context,
      toList(signatures, STATUSES_MAX).map(signature => {
        const record = context.history.find(toSignature(signature))
        return record === undefined ? null : toStatus(context, record)
      }),
    ),
  getTransaction,
  getSignaturesForAddress,
  getBlock,
  getEpochInfo: ({ chain, history }, [options]) => {
    const { slot: absoluteSlot, blockHeight } = chain.blockAt(toCommitment(toOptions(options)))
    return {
      absoluteSlot,
      blockHeight,
      epoch: Math.floor(absoluteSlot / SLOTS_IN_EPOCH),
      slotIndex: absoluteSlot % SLOTS_IN_EPOCH,
      slotsInEpoch: SLOTS_IN_EPOCH,
      transactionCount: history.transactionCount,
    }
  },
  getMinimumBalanceForRentExemption: ({ chain }, [dataByteCount]) =>
    chain.rentExemptLamports(toCount(dataByteCount)),
  getFeeForMessage,
  getHealth: () => 'ok',
  getVersion: () => ({ 'solana-core': AGAVE_VERSION, 'feature-set': FEATURE_SET }),
  getGenesisHash: ({ chain }) => chain.blockhashOf(chain.options.firstSlot - 1),
  getRecentPrioritizationFees,
  getSlot: ({ chain, history }, [given]) => {
    const options = toOptions(given)
    requireContextSlot(chain, options)
    return history.slotAt(toCommitment(options))
  },
  getMultipleAccounts: (context, [keys, given]) => {
    const options = toOptions(given)
    requireContextSlot(context.chain, options)
    return withContext(context, multipleAccounts(context.chain, keys, options))
  },
  getProgramAccountsV2: (context, [program, given]) => {
    const options = toOptions(given)
    requireContextSlot(context.chain, options)
    return programAccountsPage(context.chain, program, options)
  },
  getProgramAccounts: (context, [program, given]) => {
    const options = toOptions(given)
    requireContextSlot(context.chain, options)
    const rows = programAccounts(context.chain, program, options)
    return options['withContext'] === true ? withContext(context, rows) : rows
  },
  getTokenAccountsByOwner: (context, params) =>
    withContext(context, tokenAccountsByOwner(context.chain, params, toOptions(params[2]))),
}
