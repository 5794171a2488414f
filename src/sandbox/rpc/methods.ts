import bs58 from 'bs58'
import { isAbsent } from '../../shared/values.js'
import { AGAVE_VERSION } from '../solana/agave-version.js'
import { toMapKey } from '../solana/addresses.js'
import type { TransactionRecord } from '../chain/block.js'
import type { Chain } from '../chain/chain.js'
import type { History } from '../chain/history.js'
import { parseTransaction, TransactionFormatError } from '../solana/parse-transaction.js'
import { V1_PREFIX } from '../solana/parse-version-1.js'
import {
  multipleAccounts,
  programAccounts,
  programAccountsPage,
  tokenAccountsByOwner,
} from './accounts.js'
import { requireContextSlot } from './context-slot.js'
import { invalidParam, quote, RpcFailure } from './failure.js'
import { genesisCertificate } from './genesis-certificate.js'
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
import { feeOf, unitPriceOf } from '../chain/run-on-svm.js'

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
  const encoding = toEncoding(options)
  requireContextSlot(newest, options)
  if (record === undefined || record.slot > newest) return null
  const blockTime = history.block(record.slot)?.blockTime ?? null
  return { slot: record.slot, blockTime, ...toTransaction(record, encoding, options) }
}

const toBlockTransaction = (
  record: TransactionRecord,
  details: string,
  options: ReturnType<typeof toOptions>,
) => {
  const full = toTransaction(record, toEncoding(options), options)
  if (details === 'full') return full
  const signatures = record.transaction.signatures.map(signature => bs58.encode(signature))
  return { ...full, transaction: { signatures, accountKeys: toParsedKeys(record) } }
}

const getBlock: RpcMethod = ({ history }, [wanted, given]) => {
  const options = toBlockOptions(given)
  const slot = toCount(wanted)
  toEncoding(options)
  if (slot > history.slotAt(toBlockCommitment(options)))
    throw new RpcFailure(-32004, `Block not available for slot ${slot}`)
  const block = history.block(slot)
  if (block === undefined)
    throw new RpcFailure(-32009, `Slot ${slot} was skipped, or missing in long-term storage`)
  const details = options['transactionDetails'] ?? 'full'
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
  requireContextSlot(newest, options)
  const idOf = (value: unknown): string | undefined => {
    if (isAbsent(value)) return undefined
    const found = history.find(toSignature(value))
    if (found === undefined) throw new RpcFailure(-32020, `Transaction ${quote(value)} not found`)
    return toMapKey(found.signature)
  }
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

const getSignatureStatuses: RpcMethod = (context, [signatures, given]) => {
  const { chain, history } = context
  const options = toOptions(given)
  const commitment = isAbsent(options['commitment']) ? 'processed' : toCommitment(options)
  const { slot } = chain.blockAt(commitment)
  requireContextSlot(slot, options)
  const value = toList(signatures, STATUSES_MAX).map(signature => {
    const record = history.find(toSignature(signature))
    // At commitment `processed` the open block counts, too.
    const isKnown = record !== undefined && (commitment === 'processed' || record.slot <= slot)
    return isKnown ? toStatus(context, record) : null
  })
  return { context: { slot }, value }
}

/** A message with empty signatures: before it with their count, or in version 1 after it. */
const toUnsigned = (message: Buffer): Buffer => {
  const [first = 0, second = 0] = message
  if (first === V1_PREFIX) return Buffer.concat([message, Buffer.alloc(second * SIGNATURE_BYTES)])
  // A versioned message has a version byte before the count of signatures.
  const signatureCount = first < 128 ? first : second
  const signatures = Buffer.alloc(1 + signatureCount * SIGNATURE_BYTES)
  signatures.writeUInt8(signatureCount & 127)
  return Buffer.concat([signatures, message])
}

const getFeeForMessage: RpcMethod = (context, [text, given]) => {
  const options = toOptions(given)
  const commitment = toCommitment(options)
  requireContextSlot(context.chain.blockAt(commitment).slot, options)
  if (typeof text !== 'string' || text.length > MESSAGE_CHARS_MAX)
    throw invalidParam('Invalid params: expected a string')
  try {
    const transaction = parseTransaction(toUnsigned(Buffer.from(text, 'base64')))
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
      const prices = transactions.map(({ transaction }) => unitPriceOf(transaction))
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
  getSignatureStatuses,
  getTransaction,
  getSignaturesForAddress,
  getBlock,
  getAgGenesisCert: ({ chain }) => genesisCertificate(chain),
  getEpochInfo: ({ chain, history }, [given]) => {
    const options = toOptions(given)
    const { slot: absoluteSlot, blockHeight } = chain.blockAt(toCommitment(options))
    requireContextSlot(absoluteSlot, options)
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
  getSlot: ({ history }, [given]) => {
    const options = toOptions(given)
    const slot = history.slotAt(toCommitment(options))
    requireContextSlot(slot, options)
    return slot
  },
  getMultipleAccounts: (context, [keys, given]) => {
    const options = toOptions(given)
    requireContextSlot(context.chain.tip.slot, options)
    return withContext(context, multipleAccounts(context.chain, keys, options))
  },
  getProgramAccountsV2: (context, [program, given]) => {
    const options = toOptions(given)
    requireContextSlot(context.chain.tip.slot, options)
    return programAccountsPage(context.chain, program, options)
  },
  getProgramAccounts: (context, [program, given]) => {
    const options = toOptions(given)
    requireContextSlot(context.chain.tip.slot, options)
    const rows = programAccounts(context.chain, program, options)
    return options['withContext'] === true ? withContext(context, rows) : rows
  },
  getTokenAccountsByOwner: (context, params) =>
    withContext(context, tokenAccountsByOwner(context.chain, params, toOptions(params[2]))),
}
