import type { TipGroup } from '../../../native/reads.js'
import { RpcError } from '../../../shared/errors.js'
import {
  atSlot,
  INTEGER,
  LAMPORTS,
  list,
  options,
  orNull,
  PUBKEY,
  record,
  SLOT,
  TEXT,
} from '../../../shared/describe/schemas.js'
import { isAbsent } from '../../../shared/values.js'
import { toAddresses, toWindowMs, WINDOW_SECONDS } from './fee-params.js'
import { method, optional } from '../../method.js'

/** Addresses of one group, and groups of one call. */
const ADDRESSES_MAX = 128
const GROUPS_MAX = 64
/** The name of the group that a call states itself. */
const OWN_GROUP = 'accounts'

const isText = (value: unknown): value is string => typeof value === 'string'

const toNames = (value: unknown): readonly string[] | undefined => {
  if (isAbsent(value)) return undefined
  if (Array.isArray(value) && value.length <= GROUPS_MAX && value.every(isText)) return value
  throw new RpcError('feeOption', { name: 'groups', expected: `at most ${GROUPS_MAX} texts` })
}

const tipOptions = optional(
  'options',
  ({ accounts, groups, windowSeconds }, index) => ({
    accounts: isAbsent(accounts) ? undefined : toAddresses(accounts, index, ADDRESSES_MAX),
    names: toNames(groups),
    windowMs: toWindowMs(windowSeconds),
  }),
  options({
    groups: orNull({ ...list(TEXT), maxItems: GROUPS_MAX }),
    accounts: orNull({ ...list(PUBKEY), maxItems: ADDRESSES_MAX }),
    windowSeconds: orNull(WINDOW_SECONDS),
  }),
  ['pubkeyDecode', 'pubkeySize', 'tooManyInputs', 'feeOption'],
)

/** The groups of these names, each once; all without names. */
const chosen = (known: readonly TipGroup[], names: readonly string[] | undefined): TipGroup[] => {
  if (names === undefined) return [...known]
  return [...new Set(names)].map(name => {
    const group = known.find(one => one.name === name)
    if (group !== undefined) return group
    const expected = `among ${known.map(one => one.name).join(', ') || 'none'}`
    throw new RpcError('feeOption', { name: 'groups', expected })
  })
}

const PERCENTILES = record({
  p25: LAMPORTS,
  p50: LAMPORTS,
  p75: LAMPORTS,
  p95: LAMPORTS,
  p99: LAMPORTS,
})

/** Tips of landed transactions by group of tip accounts. */
export const getTipPercentiles = method({
  name: 'getTipPercentiles',
  summary: 'Tips of landed transactions in the last 150 blocks, by group of tip accounts.',
  bound: 'timeout',
  params: [tipOptions],
  result: atSlot(
    list(
      record({
        group: TEXT,
        accounts: INTEGER,
        count: INTEGER,
        blocks: INTEGER,
        firstSlot: SLOT,
        lastSlot: SLOT,
        tipLamports: orNull(PERCENTILES),
      }),
    ),
  ),
  errors: ['feesNotFollowed'],
  example: {
    params: [{ accounts: ['HDQyTpmXofMPGWT9HscU1HBKoeus2n9EJYVfwKWPizDs'] }],
    result: {
      context: { slot: 9 },
      value: [
        {
          group: 'accounts',
          accounts: 1,
          count: 1,
          blocks: 1,
          firstSlot: 9,
          lastSlot: 9,
          tipLamports: {
            p25: 1_000_000,
            p50: 1_000_000,
            p75: 1_000_000,
            p95: 1_000_000,
            p99: 1_000_000,
          },
        },
      ],
    },
  },
  run: (reads, { accounts, names, windowMs }) => {
    const isOwnAlone = accounts !== undefined && names === undefined
    const groups = isOwnAlone ? [] : chosen(reads.tipGroups ?? [], names)
    if (accounts !== undefined) groups.push({ name: OWN_GROUP, accounts })
    return reads.tipPercentiles(groups, windowMs, reads.owner)
  },
})
