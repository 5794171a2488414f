import bs58 from 'bs58'
import t from 'tap'
import {
  type SubscriptionRules,
  type ToSubscription,
  type Transactions,
} from '../../src/pubsub/subscription.js'
import { toNamedTransactions, toTransactions } from '../../src/pubsub/transaction.js'
import { attempt } from '../fixtures/attempt.js'
import { createFakeFanout } from '../fixtures/pubsub/fake-fanout.js'

const KEY = '11111111111111111111111111111112'
const KEY_HEX = `${'00'.repeat(31)}01`
const SIGNATURE = bs58.encode(new Uint8Array(64).fill(7))
const SIGNATURE_HEX = '07'.repeat(64)
const CURSORS = { access: 'acc_1', socket: 3 }
const FROM = '-32602 Invalid param: from must be the `cursor` of a notification of this method'
const invalid = (what: string) => `-32602 Invalid Request: Invalid ${what} provided`
const SHOWN = {
  details: 'full',
  encoding: 'base64',
  showsRewards: false,
  versionMax: undefined,
  isNamed: false,
}
const ANY = { isVote: undefined, isFailed: undefined, signature: undefined, lists: ['', '', ''] }
const option = (name: string, expected: string) =>
  `-32602 Invalid param: ${name} must be ${expected}`
const LIST = 'a list of at most 10000 addresses'
const KEYS_10000 = JSON.stringify(Array(10_000).fill(KEY))

const rulesOf = (transactions: Transactions): SubscriptionRules => ({
  filtersMax: 4,
  filterKeysMax: 10_000,
  transactions,
  scope: undefined,
})

/** Accounts that are left to the access in each case. */
const KEYS_LEFT = 10_000

/** Arguments of the fan-out, or the text of the refusal. */
const register = (to: ToSubscription, params: readonly unknown[], rules: SubscriptionRules) =>
  attempt(() => {
    const { fanout, added } = createFakeFanout()
    const checkKeys = (count: number): void => {
      if (count > KEYS_LEFT) throw new Error('over the bound')
    }
    const subscriber = { accessId: 'acc_1', socketNumber: 3, checkKeys, checkReads: () => {} }
    to(params, rules, subscriber).add(fanout, 1)
    return added.get(1)
  })

/** `json` is `params` as written in a request. */
const cases: [json: string, answer: unknown, transactions?: Transactions][] = [
  ['[]', ['transaction', ANY, SHOWN]],
  ['[null,null]', ['transaction', ANY, SHOWN]],
  [
    `[{"vote":false,"failed":true,"signature":"${SIGNATURE}","accountRequired":["${KEY}"]}]`,
    [
      'transaction',
      { isVote: false, isFailed: true, signature: SIGNATURE_HEX, lists: ['', '', KEY_HEX] },
      SHOWN,
    ],
  ],
  [
    `[{"accountInclude":["${KEY}"],"accountExclude":["${KEY}","${KEY}"]},{"encoding":"jsonParsed","maxSupportedTransactionVersion":7,"showRewards":true,"cursor":true}]`,
    [
      'transaction',
      { ...ANY, lists: [KEY_HEX, KEY_HEX + KEY_HEX, ''] },
      { ...SHOWN, encoding: 'jsonParsed', versionMax: 1, showsRewards: true },
      CURSORS,
    ],
  ],
  // What is not shown makes no other view.
  [
    '[{},{"transactionDetails":"signatures","encoding":"json","showRewards":true,"maxSupportedTransactionVersion":0}]',
    ['transaction', ANY, { ...SHOWN, details: 'signatures' }],
  ],
  [
    '[{},{"transactionDetails":"accounts","encoding":"json","maxSupportedTransactionVersion":0}]',
    ['transaction', ANY, { ...SHOWN, details: 'accounts', versionMax: 0 }],
  ],
  [
    `[{"accountInclude":${KEYS_10000}}]`,
    ['transaction', { ...ANY, lists: [KEY_HEX.repeat(10_000), '', ''] }, SHOWN],
  ],
  [`[{"accountInclude":${KEYS_10000.replace('[', '["x",')}}]`, option('accountInclude', LIST)],
  ['[{"accountExclude":"x"}]', option('accountExclude', LIST)],
  ['[{"accountRequired":[5]}]', option('accountRequired', LIST)],
  ['[{"accountRequired":["x"]}]', invalid('accountRequired')],
  ['[{"signature":"x"}]', invalid('signature')],
  ['[{"failed":1}]', option('failed', 'a boolean')],
  [
    '[{"vote":true}]',
    '-32602 Invalid param at index 0: votes are not followed here, so `vote: true` is not served',
  ],
  ['[{"vote":true}]', ['transaction', { ...ANY, isVote: true }, SHOWN], 'fullAndVotes'],
  ['[[]]', '-32602 Invalid param at index 0: invalid type: sequence, expected a map'],
  ['[{},{},1]', '-32602 Invalid parameters: Expected from 0 to 2 parameters.'],
  ['[{},{"encoding":"base64+zstd"}]', '-32602 unsupported encoding: base64+zstd'],
  [
    '[{},{"encoding":"base58","maxSupportedTransactionVersion":1}]',
    '-32602 base58 encoding is not supported with maxSupportedTransactionVersion >= 1',
  ],
  [
    '[{},{"transactionDetails":"all"}]',
    option('transactionDetails', 'one of full, accounts, signatures and none'),
  ],
  ...['256', '-1', '"0"'].map((version): [string, unknown] => [
    `[{},{"maxSupportedTransactionVersion":${version}}]`,
    option('maxSupportedTransactionVersion', 'a number from 0 to 255'),
  ]),
  ['[{},{"from":"x"}]', FROM],
  ['[]', '-32601 Method not found: the index does not keep whole transactions', 'logs'],
]
for (const [json, answer, transactions = 'full'] of cases)
  t.test(`${json.slice(0, 100)} ${transactions}`, async t =>
    t.strictSame(register(toTransactions, JSON.parse(json), rulesOf(transactions)), answer),
  )

const namedCases: [json: string, answer: unknown][] = [
  ['{}', ['transaction', ANY, { ...SHOWN, isNamed: true }]],
  [
    `{"filter":{"failed":false,"accounts":{"include":["${KEY}"],"exclude":[],"required":null}},"config":{"transactionDetails":"none"}}`,
    [
      'transaction',
      { ...ANY, isFailed: false, lists: [KEY_HEX, '', ''] },
      { ...SHOWN, details: 'none', isNamed: true },
    ],
  ],
  ['{"filter":5}', option('filter', 'a map')],
  ['{"filter":{"accounts":5}}', option('accounts', 'a map')],
  ['{"filter":{"accounts":{"required":5}}}', option('required', LIST)],
  ['{"config":{"encoding":5}}', '-32602 unsupported encoding: 5'],
]
for (const [json, answer] of namedCases)
  t.test(json.slice(0, 100), async t =>
    t.strictSame(register(toNamedTransactions, [JSON.parse(json)], rulesOf('full')), answer),
  )
