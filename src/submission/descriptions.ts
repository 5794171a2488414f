import type { MethodDescription } from '../shared/describe/method-description.js'
import {
  INTEGER,
  list,
  options,
  orNull,
  PUBKEY,
  record,
  SIGNATURE,
  TEXT,
  transactionOf,
  type JsonSchema,
} from '../shared/describe/schemas.js'
import type { ErrorName } from '../shared/errors.js'
import { BUNDLE_COUNT_MAX, LANDER_TRANSACTION_BYTES_MAX } from './lander/params.js'
import { BUNDLE_FORMS, BUNDLE_IDS_MAX, RELAY_TRANSACTION_BYTES_MAX } from './relay/bundle.js'
import { RELAY_ROUTES, SUBMISSION_OUTCOMES, type RelayRoute } from './store/submission.js'

const CALL_ERRORS: readonly ErrorName[] = ['parseError', 'invalidRequest', 'methodNotFound']
const PARAM_ERRORS: readonly ErrorName[] = [
  'paramsNotArray',
  'paramCount',
  'missingParam',
  'wrongType',
]
const SEND_ERRORS: readonly ErrorName[] = [
  ...CALL_ERRORS,
  ...PARAM_ERRORS,
  'bundleEmpty',
  'bundleTooLong',
  'transactionBase64',
  'transactionSize',
  'transactionMalformed',
  'transactionSignature',
  'checksOverloaded',
  'upstreamUnreachable',
  'outcomeUnknown',
]
const LANDER_ERRORS: readonly ErrorName[] = [
  ...SEND_ERRORS,
  'unsupportedEncoding',
  'tipMissing',
  'tipInsufficient',
  'upstreamFull',
]

const BASE64_OPTIONS: JsonSchema = options({
  encoding: orNull({ enum: ['base64'], default: 'base64' }),
})
const LANDER_TRANSACTION = transactionOf(LANDER_TRANSACTION_BYTES_MAX)
const RELAY_TRANSACTION = transactionOf(RELAY_TRANSACTION_BYTES_MAX)
const BUNDLE_ID: JsonSchema = { type: 'string', pattern: '^[0-9a-fA-F]{64}$' }
const SUBMISSION_ID: JsonSchema = { type: 'string', format: 'uuid' }
const INSTANT = orNull(INTEGER)

const required = (name: string, schema: JsonSchema) => ({ name, isRequired: true, schema })

/** Signed by keys of the tests: it qualifies for each route, and lands nowhere. */
const EXAMPLES: Readonly<Record<RelayRoute, { transaction: string; result: unknown }>> = {
  '/relay': {
    transaction:
      'AZyORKIqBD/FXThn27AcjmbFcg0K8YlS6le0C1X3NPDQozMsBLi3DW1Z1uo+IR5MIw9sO4cDAE+QAPldo4fnJgIBAAIGu44gphtk2983fNaZ7EAmCmObWoKUF8ltZ3fRh/m17Qcjjr7rkYkWFu50+tY1aEzuuznQaBfpRv626x+sbLlWKa4gyo9Nh/y1ZC+QXkkYvbwvJhi7EMjjtzCaGtjCd9fxcp8Vv+VR56Yp0NzpJ53MPQSRRsCzvZ340j/XdYa5ldoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAbd9uHXZaGT2cvhRs7reawctIXtX1s3kTqM9YV+/wCpAMhCX+dArys6T6l0PgTGZqqXc8hlPFTCTcFwi9UPkTYDBAIAAQwCAAAAQEIPAAAAAAAEAgACDAIAAADoAwAAAAAAAAUBAwQHBwcH',
    result: [
      '48YVRrsme5wYAuBGrhm1D9wcZEjJbUaqwyTFACnq4gXMTX86ay1u8pdBssXwYUNaLJ3JruwbpDQ7nW3eMApWhHqs',
    ],
  },
  '/relay-bundle': {
    transaction:
      'AcBswlMpxpTmA2KJ2MULLbh1U28DU0bY5PIbZZrN22c4P+2G88lXo0E+YFXuL0t4nlykkG1P8rWvtj8nKuKrYQEBAAIGu44gphtk2983fNaZ7EAmCmObWoKUF8ltZ3fRh/m17QcUgbhAuILd4Wygnq7e9ZJ3LhTZIwie1Xgs3/AEpOF3SrbPQezX7kImkMTJNiMJBgY68Rsg6vCMTXje+20Q4SbVcp8Vv+VR56Yp0NzpJ53MPQSRRsCzvZ340j/XdYa5ldoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAbd9uHXZaGT2cvhRs7reawctIXtX1s3kTqM9YV+/wCpAMhCX+dArys6T6l0PgTGZqqXc8hlPFTCTcFwi9UPkTYDBAIAAQwCAAAAQEIPAAAAAAAEAgACDAIAAADoAwAAAAAAAAUBAwQHBwcH',
    result: '800a46c597c7137139a7e21e83ffe739e95e53a3b5ed70d8c312a7c2ddd4a974',
  },
}
const TIPS = ['DJcW2zuqoB3tuFn4ZfC9vZReEqmAywsUhhWQpMZt1N6G']

const LANDER_EXAMPLE = EXAMPLES['/relay-bundle'].transaction

/** The methods of the lander routes with a JSON body. The result is the lander's. */
export const LANDER_METHODS = {
  '/lander': {
    name: 'sendTransaction',
    summary:
      'Sends a signed transaction to the lander. Without a lander it is forwarded to the upstream RPC.',
    params: [
      required('transaction', LANDER_TRANSACTION),
      { name: 'options', isRequired: false, schema: BASE64_OPTIONS },
    ],
    result: SIGNATURE,
    errors: LANDER_ERRORS,
    example: {
      params: [LANDER_EXAMPLE, { encoding: 'base64' }],
      result:
        '4r8wicPFoC3NFPDgRLw1yxEwaMkmenf5Goc4GNfUHw8Fs71jhvz9HvvEAKMVEm37pkhCcGe77GyMAJNA2N7YDE4p',
    },
  },
  '/lander-submit-bundle': {
    name: 'sendBundle',
    summary: 'Sends transactions to the lander that land together or not at all.',
    params: [
      required('transactions', {
        type: 'array',
        items: LANDER_TRANSACTION,
        minItems: 1,
        maxItems: BUNDLE_COUNT_MAX,
      }),
      { name: 'options', isRequired: false, schema: BASE64_OPTIONS },
    ],
    result: TEXT,
    errors: LANDER_ERRORS,
    example: {
      params: [[LANDER_EXAMPLE], { encoding: 'base64' }],
      result: EXAMPLES['/relay-bundle'].result,
    },
  },
} as const satisfies Readonly<Record<string, MethodDescription>>

const sendBundleOf = (route: RelayRoute): MethodDescription => {
  const { transactionsMax, options: form } = BUNDLE_FORMS[route]
  const { transaction, result } = EXAMPLES[route]
  return {
    name: 'sendBundle',
    summary: 'Sends transactions to the bundle engine that land together or not at all.',
    params: [
      required('transactions', {
        type: 'array',
        items: RELAY_TRANSACTION,
        minItems: 1,
        maxItems: transactionsMax,
        uniqueItems: true,
      }),
      required('options', { const: form }),
    ],
    result: route === '/relay' ? list(SIGNATURE) : BUNDLE_ID,
    errors: [
      ...SEND_ERRORS,
      'bundleOptions',
      'transactionTwice',
      'noQualifyingMember',
      'engineFull',
      'engineRefused',
    ],
    example: { params: [[transaction], form], result },
  }
}

const TIP_METHODS: readonly MethodDescription[] = [
  {
    name: 'getTipAccounts',
    summary: 'The tip accounts of the bundle engine, which the checks count.',
    params: [],
    result: list(PUBKEY),
    errors: [...CALL_ERRORS, 'paramsNotArray', 'paramCount'],
    example: { params: [], result: TIPS },
  },
  {
    name: 'getServiceTipConfig',
    summary: 'The tip accounts and floors of the service and of the bundle engine.',
    params: [],
    result: record({
      serviceTipAccounts: list(PUBKEY),
      serviceTipFloorLamports: INTEGER,
      bundleEngineTipAccounts: list(PUBKEY),
      bundleEngineTipFloorLamports: INTEGER,
    }),
    errors: [...CALL_ERRORS, 'paramsNotArray', 'paramCount'],
    example: {
      params: [],
      result: {
        serviceTipAccounts: TIPS,
        serviceTipFloorLamports: 1_000_000,
        bundleEngineTipAccounts: TIPS,
        bundleEngineTipFloorLamports: 1_000,
      },
    },
  },
  {
    name: 'getSubmission',
    summary: 'What became of a `sendBundle` of the same access; `null` for an id that is unknown.',
    params: [required('submissionId', SUBMISSION_ID)],
    result: orNull(
      record({
        submissionId: SUBMISSION_ID,
        network: TEXT,
        location: TEXT,
        route: TEXT,
        bundleId: orNull(BUNDLE_ID),
        signatures: list(SIGNATURE),
        receivedAtMs: INTEGER,
        checks: TEXT,
        joined: { type: 'boolean' },
        forwardedAtMs: INSTANT,
        answeredAtMs: INSTANT,
        outcome: { enum: [...SUBMISSION_OUTCOMES] },
        result: {},
        error: {},
        engine: orNull(record({ status: INTEGER, words: TEXT })),
      }),
    ),
    errors: [...CALL_ERRORS, ...PARAM_ERRORS, 'submissionIdShape'],
    example: { params: ['01932f4c-8a00-7000-8000-000000000000'], result: null },
  },
]

const statusesOf = (name: string, summary: string): MethodDescription => ({
  name,
  summary,
  params: [
    required('bundleIds', {
      type: 'array',
      items: BUNDLE_ID,
      minItems: 1,
      maxItems: BUNDLE_IDS_MAX,
      uniqueItems: true,
    }),
  ],
  result: { description: 'The answer of the bundle engine, unchanged.' },
  errors: [
    ...CALL_ERRORS,
    ...PARAM_ERRORS,
    'bundleIdCount',
    'bundleIdShape',
    'bundleIdTwice',
    'engineNoResponse',
    'upstreamUnreachable',
    'overLimit',
  ],
  example: {
    params: [[EXAMPLES['/relay-bundle'].result]],
    result: { context: { slot: 1 }, value: [] },
  },
})

/** The methods of a relay route. */
export const RELAY_METHODS: Readonly<Record<RelayRoute, readonly MethodDescription[]>> = {
  '/relay': [sendBundleOf('/relay'), ...TIP_METHODS],
  '/relay-bundle': [
    sendBundleOf('/relay-bundle'),
    statusesOf('getBundleStatuses', 'Whether bundles have landed.'),
    statusesOf('getInflightBundleStatuses', 'What the bundle engine makes of recent bundles.'),
    ...TIP_METHODS,
  ],
}

/** The submissions of a WebSocket (contract: submissions-by-websocket). */
export const SOCKET_SUBMISSIONS: readonly MethodDescription[] = [
  LANDER_METHODS['/lander'],
  ...RELAY_ROUTES.flatMap(route =>
    RELAY_METHODS[route].map(method => ({
      ...method,
      name: `${route.slice(1)}.${method.name}`,
      isSocketOnly: true,
    })),
  ),
].map(method => ({
  ...method,
  errors: [...method.errors, 'submissionAnswer', 'submissionTooLong'],
}))
