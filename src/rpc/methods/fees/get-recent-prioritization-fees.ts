import { RpcError } from '../../../shared/errors.js'
import {
  INTEGER,
  LAMPORTS,
  list,
  options,
  orNull,
  PUBKEY,
  record,
  SLOT,
} from '../../../shared/describe/schemas.js'
import { isAbsent, isCount, wrongType } from '../../../shared/values.js'
import { toAddresses, toWindowMs, WINDOW_SECONDS } from './fee-params.js'
import { method, optional, type Param } from '../../method.js'

/** Agave's, the locks of one transaction. */
const ADDRESSES_MAX = 128
const PERCENTILE_MAX = 10_000

const addresses: Param<Uint8Array> = {
  name: 'addresses',
  isRequired: false,
  schema: orNull({ ...list(PUBKEY), maxItems: ADDRESSES_MAX }),
  errors: ['wrongType', 'pubkeyDecode', 'pubkeySize', 'tooManyInputs'],
  check: (value, index) => toAddresses(value, index, ADDRESSES_MAX),
}

const toPercentile = (value: unknown, index: number): number => {
  if (isAbsent(value)) return 0
  if (!isCount(value)) throw wrongType(value, index, 'u16')
  if (value > PERCENTILE_MAX) throw new RpcError('feePercentile')
  return Number(value)
}

const feeOptions = optional(
  'options',
  ({ percentile, windowSeconds }, index) => ({
    percentile: toPercentile(percentile, index),
    windowMs: toWindowMs(windowSeconds),
  }),
  options({
    percentile: orNull({
      ...INTEGER,
      maximum: PERCENTILE_MAX,
      description: 'In ten thousandths; absent is the lowest price.',
    }),
    windowSeconds: orNull(WINDOW_SECONDS),
  }),
  ['feePercentile', 'feeOption'],
)

/** Prices of compute units in recent blocks, by Agave's rule or by a percentile. */
export const getRecentPrioritizationFees = method({
  name: 'getRecentPrioritizationFees',
  summary:
    'What transactions paid for a compute unit in each of the last 150 blocks, failed ones included, as in Agave.',
  bound: 'timeout',
  params: [addresses, feeOptions],
  result: list(record({ slot: SLOT, prioritizationFee: LAMPORTS })),
  forwardedOn: 'feesNotFollowed',
  example: {
    params: [['9BfqjzPM2VBpEgKSTJTET8gtQhM4TuYy3ki2dxafdsmh']],
    result: [{ slot: 9, prioritizationFee: 5_000 }],
  },
  run: (reads, accounts, { percentile, windowMs }) =>
    reads.recentFees(accounts, percentile, windowMs, reads.owner),
})
