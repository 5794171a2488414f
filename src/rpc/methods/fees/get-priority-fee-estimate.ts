import type { FeeLevel, FeeQuery, FeeSpan } from '../../../native/reads.js'
import { RpcError } from '../../../shared/errors.js'
import {
  FLAG,
  list,
  options,
  orNull,
  PUBKEY,
  record,
  TEXT,
} from '../../../shared/describe/schemas.js'
import { isAbsent, toMap, toText, type Members } from '../../../shared/values.js'
import { toAddresses, toFlag, toWhole, toWindowMs, WINDOW_SECONDS } from './fee-params.js'
import { method, required } from '../../method.js'

/** Those of Helius. */
const ADDRESSES_MAX = 500
const BLOCKS_MAX = 150
const ENCODINGS = ['Base58', 'base58', 'Base64', 'base64']
const LEVELS = ['Min', 'Low', 'Medium', 'High', 'VeryHigh', 'UnsafeMax', 'Default'] as const

const PRICE = { type: 'number', minimum: 0 }
const PRICES = record(
  Object.fromEntries(
    ['min', 'low', 'medium', 'high', 'veryHigh', 'unsafeMax'].map(name => [name, PRICE]),
  ),
)
const FLAG_OR_NULL = orNull(FLAG)
const REQUEST = record(
  {
    transaction: orNull(TEXT),
    accountKeys: orNull({ ...list(PUBKEY), maxItems: ADDRESSES_MAX }),
    options: options({
      transactionEncoding: orNull({ enum: ENCODINGS, default: 'Base58' }),
      priorityLevel: orNull({ enum: LEVELS, default: 'Medium' }),
      includeAllPriorityFeeLevels: FLAG_OR_NULL,
      lookbackSlots: orNull({ type: 'integer', minimum: 1, maximum: BLOCKS_MAX }),
      windowSeconds: orNull(WINDOW_SECONDS),
      includeVote: FLAG_OR_NULL,
      recommended: FLAG_OR_NULL,
      evaluateEmptySlotAsZero: FLAG_OR_NULL,
      includeDetails: FLAG_OR_NULL,
    }),
  },
  ['transaction', 'accountKeys', 'options'],
)

/** What `recommended` decides itself. */
const OWN = ['priorityLevel', 'includeAllPriorityFeeLevels', 'lookbackSlots', 'includeVote']

const isLevel = (value: unknown): value is (typeof LEVELS)[number] =>
  LEVELS.some(level => level === value)

const toLevel = (members: Members): FeeLevel => {
  const isRecommended = toFlag('recommended', members['recommended'])
  const others = OWN.filter(name => !isAbsent(members[name])).join(', ')
  if (isRecommended && others !== '')
    throw new RpcError('feeTogether', { name: 'recommended', others })
  const name = 'includeAllPriorityFeeLevels'
  const isAll = toFlag(name, members[name])
  const level = isAbsent(members['priorityLevel']) ? 'Default' : members['priorityLevel']
  if (!isLevel(level))
    throw new RpcError('feeOption', {
      name: 'priorityLevel',
      expected: `one of ${LEVELS.join(', ')}`,
    })
  if (isRecommended) return 'recommended'
  if (isAll) return 'all'
  return level === 'Default' ? 'Medium' : level
}

const toSpan = ({ lookbackSlots, windowSeconds }: Members): FeeSpan => {
  const ms = toWindowMs(windowSeconds)
  if (isAbsent(lookbackSlots)) return ms === undefined ? { blocks: BLOCKS_MAX } : { ms }
  const blocks = toWhole('lookbackSlots', lookbackSlots, 1, BLOCKS_MAX)
  if (ms === undefined) return { blocks }
  throw new RpcError('feeTogether', { name: 'lookbackSlots', others: 'windowSeconds' })
}

const toTransaction = (value: unknown, encoding: unknown, index: number) => {
  const name = isAbsent(encoding) ? 'Base58' : encoding
  if (!ENCODINGS.some(one => one === name))
    throw new RpcError('feeOption', { name: 'transactionEncoding', expected: 'Base58 or Base64' })
  if (isAbsent(value)) return undefined
  return { text: toText(value, index), isBase64: name === 'Base64' || name === 'base64' }
}

const request = required(
  'request',
  (value, index): FeeQuery => {
    const { transaction, accountKeys, options: given } = toMap(value, index)
    const members = isAbsent(given) ? {} : toMap(given, index)
    if (!isAbsent(transaction) && !isAbsent(accountKeys))
      throw new RpcError('feeTogether', { name: 'transaction', others: 'accountKeys' })
    const empty = 'evaluateEmptySlotAsZero'
    return {
      accounts: toAddresses(accountKeys, index, ADDRESSES_MAX),
      transaction: toTransaction(transaction, members['transactionEncoding'], index),
      level: toLevel(members),
      span: toSpan(members),
      includesVotes: toFlag('includeVote', members['includeVote']),
      emptyIsZero: toFlag(empty, members[empty], true),
      hasDetails: toFlag('includeDetails', members['includeDetails']),
      hasContext: false,
    }
  },
  REQUEST,
  ['pubkeyDecode', 'pubkeySize', 'tooManyInputs', 'feeOption', 'feeTogether', 'feeTransaction'],
)

/** What a transaction that writes these accounts should pay for a compute unit. */
export const getPriorityFeeEstimate = method({
  name: 'getPriorityFeeEstimate',
  summary:
    'A price of compute units by level, by the rule of the open estimator of Helius: failed transactions do not count.',
  bound: 'timeout',
  params: [request],
  result: record(
    {
      priorityFeeEstimate: PRICE,
      priorityFeeLevels: PRICES,
      priorityFeeEstimateDetails: { type: 'array' },
    },
    ['priorityFeeEstimate', 'priorityFeeLevels', 'priorityFeeEstimateDetails'],
  ),
  forwardedOn: 'feesNotFollowed',
  example: {
    params: [{ accountKeys: ['9BfqjzPM2VBpEgKSTJTET8gtQhM4TuYy3ki2dxafdsmh'] }],
    result: { priorityFeeEstimate: 5_000 },
  },
  run: (reads, query) => reads.feeEstimate(query, reads.owner),
})
