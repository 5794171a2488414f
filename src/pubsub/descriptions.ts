import { TRANSACTION_DETAILS, TRANSACTION_ENCODINGS } from '../native/fanout.js'
import type { MethodDescription } from '../shared/describe/method-description.js'
import {
  ACCOUNT,
  FILTER,
  FLAG,
  INTEGER,
  KEYED_ACCOUNT,
  list,
  options,
  orNull,
  PUBKEY,
  record,
  SIGNATURE,
  SLOT,
  SUBMISSION_CHANGE,
  SUBSCRIPTION_MEMBERS,
  TEXT,
  COMMITMENT,
  type JsonSchema,
} from '../shared/describe/schemas.js'
import type { ErrorName } from '../shared/errors.js'
import { defaults } from './options.js'

const CURSOR: JsonSchema = {
  ...TEXT,
  description: 'Where `from` continues; only with `cursor` or `from`.',
}
/** Members of the options that ask for cursors. */
const CURSOR_MEMBERS = {
  cursor: orNull({ ...FLAG, default: false, description: 'Each notification has a cursor.' }),
  from: orNull({
    ...TEXT,
    description:
      'Begins after this cursor, or with `gapNotification`: `{gap: {from, to, reason}, cursor}`.',
  }),
}
const atSlot = (value: JsonSchema): JsonSchema =>
  record({ context: record({ slot: SLOT, cursor: CURSOR }, ['cursor']), value })

const ANY_ERROR: JsonSchema = { description: 'The error of the transaction; null is success.' }
const SUBSCRIBE_ERRORS: readonly ErrorName[] = [
  'paramsNotArray',
  'paramCount',
  'nodeSubscriptions',
  'socketSubscriptions',
]
const PARAM_ERRORS: readonly ErrorName[] = [
  ...SUBSCRIBE_ERRORS,
  'missingParam',
  'wrongType',
  'subscribeParam',
]
const CHAIN_ERRORS: readonly ErrorName[] = [...SUBSCRIBE_ERRORS, 'wrongType', 'cursor']
const ACCOUNT_ERRORS: readonly ErrorName[] = [
  ...PARAM_ERRORS,
  'unsupportedEncoding',
  'dataSlice',
  'noIndex',
  'outsideScope',
  'cursor',
]

const NUMBER: JsonSchema = { type: 'number' }
const ANYTHING: JsonSchema = { type: 'object' }
const FEE_ERRORS: readonly ErrorName[] = [
  ...SUBSCRIBE_ERRORS,
  'missingParam',
  'wrongType',
  'methodNotFound',
  'noIndex',
  'blockReads',
  'pubkeyDecode',
  'pubkeySize',
  'tooManyInputs',
  'feeOption',
]

const subscription = (
  kind: string,
  given: Pick<MethodDescription, 'summary' | 'params' | 'errors' | 'example'> & {
    readonly notified: JsonSchema
  },
): MethodDescription => {
  const { notified: result, ...rest } = given
  const notification = { method: `${kind}Notification`, result }
  return { ...rest, name: `${kind}Subscribe`, result: INTEGER, isSocketOnly: true, notification }
}

const required = (name: string, schema: JsonSchema) => ({ name, isRequired: true, schema })
const optional = (schema: JsonSchema) => ({ name: 'options', isRequired: false, schema })

const KEYS: JsonSchema = { type: 'array', items: PUBKEY, maxItems: defaults.filterKeysMax }
const KEY = 'SysvarC1ock11111111111111111111111111111111'
const PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'

const SUBSCRIBES: readonly MethodDescription[] = [
  subscription('account', {
    summary: 'Notifies each change of an account.',
    params: [
      required('pubkey', PUBKEY),
      optional(options({ ...SUBSCRIPTION_MEMBERS, ...CURSOR_MEMBERS })),
    ],
    errors: ACCOUNT_ERRORS,
    example: { params: [KEY, { encoding: 'base64' }], result: 1 },
    notified: atSlot(ACCOUNT),
  }),
  subscription('program', {
    summary: 'Notifies each change of an account of a program.',
    params: [
      required('pubkey', PUBKEY),
      optional(
        options({
          ...SUBSCRIPTION_MEMBERS,
          ...CURSOR_MEMBERS,
          filters: orNull({ type: 'array', items: FILTER, maxItems: defaults.filtersMax }),
        }),
      ),
    ],
    errors: [...ACCOUNT_ERRORS, 'filterShape', 'filterCount', 'memcmpBytes', 'memcmpTooLarge'],
    example: { params: [PROGRAM, { filters: [{ dataSize: 165 }] }], result: 1 },
    notified: atSlot(KEYED_ACCOUNT),
  }),
  subscription('logs', {
    summary: 'Notifies the logs of transactions.',
    params: [
      required('filter', {
        anyOf: [
          { enum: ['all', 'allWithVotes'] },
          record({ mentions: { type: 'array', items: PUBKEY, minItems: 1, maxItems: 1 } }),
        ],
      }),
      optional(options({ commitment: SUBSCRIPTION_MEMBERS.commitment, ...CURSOR_MEMBERS })),
    ],
    errors: [...PARAM_ERRORS, 'logsFilter', 'mentionsCount', 'votesNotFollowed', 'cursor'],
    example: { params: [{ mentions: [PROGRAM] }], result: 1 },
    notified: atSlot(record({ signature: SIGNATURE, err: ANY_ERROR, logs: list(TEXT) })),
  }),
  subscription('transaction', {
    summary:
      'Notifies transactions of blocks. The parameters may be an object `{filter, config}` in place of the array, as richat takes them.',
    params: [
      {
        name: 'filter',
        isRequired: false,
        schema: options({
          vote: orNull(FLAG),
          failed: orNull(FLAG),
          signature: orNull(SIGNATURE),
          accountInclude: orNull({ ...KEYS, description: 'Names at least one of them.' }),
          accountExclude: orNull({ ...KEYS, description: 'Names none of them.' }),
          accountRequired: orNull({ ...KEYS, description: 'Names all of them.' }),
        }),
      },
      optional(
        options({
          commitment: SUBSCRIPTION_MEMBERS.commitment,
          encoding: orNull({ enum: Object.keys(TRANSACTION_ENCODINGS), default: 'base64' }),
          transactionDetails: orNull({ enum: Object.keys(TRANSACTION_DETAILS), default: 'full' }),
          showRewards: orNull({ ...FLAG, default: false }),
          maxSupportedTransactionVersion: orNull({
            ...INTEGER,
            maximum: 255,
            description: 'Without it, legacy transactions only. Of others, `error` says so.',
          }),
          ...CURSOR_MEMBERS,
        }),
      ),
    ],
    errors: [
      ...CHAIN_ERRORS,
      'transactionsNotFollowed',
      'transactionOption',
      'base58Version',
      'subscribeParam',
      'unsupportedEncoding',
      'votesNotFollowed',
      'subscriptionKeys',
    ],
    example: { params: [{ accountInclude: [PROGRAM], failed: false }], result: 1 },
    notified: record(
      {
        transaction: {
          type: 'object',
          description: 'transaction, meta and version, as in getTransaction.',
        },
        error: { type: 'object', description: 'Why there is no transaction.' },
        signature: SIGNATURE,
        slot: SLOT,
        transactionIndex: INTEGER,
        cursor: CURSOR,
      },
      ['transaction', 'error', 'signature', 'transactionIndex', 'cursor'],
    ),
  }),
  subscription('signature', {
    summary: 'Notifies once that a transaction is in a block.',
    params: [
      required('signature', SIGNATURE),
      optional(
        options({
          commitment: COMMITMENT,
          enableReceivedNotification: orNull({ ...FLAG, default: false }),
        }),
      ),
    ],
    errors: PARAM_ERRORS,
    example: { params: ['1'.repeat(64), { commitment: 'confirmed' }], result: 1 },
    notified: atSlot({ anyOf: [record({ err: ANY_ERROR }), { enum: ['receivedSignature'] }] }),
  }),
  subscription('slot', {
    summary: 'Notifies each block.',
    params: [optional(options(CURSOR_MEMBERS))],
    errors: CHAIN_ERRORS,
    example: { params: [], result: 1 },
    notified: record({ slot: SLOT, parent: SLOT, root: SLOT, cursor: CURSOR }, ['cursor']),
  }),
  subscription('root', {
    summary: 'Notifies each finalized slot. The cursor is beside the result.',
    params: [optional(options(CURSOR_MEMBERS))],
    errors: CHAIN_ERRORS,
    example: { params: [], result: 1 },
    notified: SLOT,
  }),
  subscription('priorityFee', {
    summary:
      'Notifies what getPriorityFeeEstimate answers after each block: the newest one, if blocks come faster than answers.',
    params: [
      required(
        'request',
        options({
          accountKeys: orNull(list(PUBKEY)),
          options: { type: 'object', description: 'As in the method, without includeDetails.' },
        }),
      ),
    ],
    errors: [...FEE_ERRORS, 'feeTogether'],
    example: { params: [{ accountKeys: [PROGRAM] }], result: 1 },
    notified: atSlot(
      record({ priorityFeeEstimate: NUMBER, priorityFeeLevels: ANYTHING }, [
        'priorityFeeEstimate',
        'priorityFeeLevels',
      ]),
    ),
  }),
  subscription('tip', {
    summary: 'Notifies what getTipPercentiles answers after each block, as priorityFeeSubscribe.',
    params: [
      optional(
        options({
          groups: orNull(list(TEXT)),
          accounts: orNull(list(PUBKEY)),
          windowSeconds: orNull(INTEGER),
        }),
      ),
    ],
    errors: FEE_ERRORS,
    example: { params: [], result: 1 },
    notified: record({ context: record({ slot: SLOT }), value: { type: 'array' } }),
  }),
  subscription('submission', {
    summary: 'Notifies each state of the submissions of this access.',
    params: [optional(options({ from: orNull(TEXT) }))],
    errors: [...SUBSCRIBE_ERRORS, 'wrongType', 'submissionFilter', 'methodNotFound'],
    example: { params: [], result: 1 },
    notified: SUBMISSION_CHANGE,
  }),
]

const unsubscribe = ({ name }: MethodDescription): MethodDescription => ({
  name: name.replace('Subscribe', 'Unsubscribe'),
  summary: 'Ends a subscription of any kind.',
  params: [required('subscription', INTEGER)],
  result: { enum: [true] },
  errors: ['paramsNotArray', 'paramCount', 'missingParam', 'wrongType', 'subscriptionId'],
  example: { params: [1], result: true },
  isSocketOnly: true,
})

/** The subscription methods that are served. */
export const SUBSCRIPTION_DESCRIPTIONS: readonly MethodDescription[] = [
  ...SUBSCRIBES,
  ...SUBSCRIBES.map(unsubscribe),
]
