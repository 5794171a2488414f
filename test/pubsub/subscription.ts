import bs58 from 'bs58'
import t from 'tap'
import { SUBSCRIBES, SUBSCRIPTION_METHODS, UNSUBSCRIBES } from '../../src/pubsub/methods.js'
import { toSubscriptionId } from '../../src/pubsub/params.js'
import type { SubscriptionRules, Transactions } from '../../src/pubsub/subscription.js'
import { attempt } from '../fixtures/attempt.js'
import { createFakeFanout } from '../fixtures/pubsub/fake-fanout.js'

const KEY = '11111111111111111111111111111112'
const KEY_HEX = `${'00'.repeat(31)}01`
const SIGNATURE = bs58.encode(new Uint8Array(64).fill(7))
const SIGNATURE_HEX = '07'.repeat(64)
const BASE64 = { encoding: 'base64', slice: undefined }

const wrong = (index: number, type: string, expected: string) =>
  `-32602 Invalid param at index ${index}: invalid type: ${type}, expected ${expected}`
const missing = (index: number) => `-32602 Missing param at index ${index}`
const count = (min: number, max: number) =>
  `-32602 Invalid parameters: Expected from ${min} to ${max} parameters.`
const invalid = (what: string) => `-32602 Invalid Request: Invalid ${what} provided`
const NO_PARAMS = '-32602 Invalid parameters: No parameters were expected'
const ONE = '-32602 Invalid Request: Only 1 address supported'
const LOGS =
  '-32602 Invalid param at index 0: expected `all`, `allWithVotes` or a map with `mentions`'
const VOTES =
  '-32602 Invalid param at index 0: votes are not followed here, so `allWithVotes` is not served'
const SLICE = '-32602 Invalid param: dataSlice must be {offset, length}'
const SHAPE = '-32602 Invalid param: filter must be dataSize or memcmp'
const MANY = '-32602 Invalid params: Too many filters provided; max 4'
const NOT_FOUND = '-32601 Method not found'

const SUBSCRIBER = { accessId: 'acc_1', socketNumber: 3, checkKeys: () => {}, checkReads: () => {} }

/** Cursors of slot 1 in a block whose hash begins with zeros. */
const cursorOf = (kind: number): string =>
  Buffer.from([kind, 0, 0, 0, 0, 0, 0, 0, 1, ...Array<number>(8).fill(0)]).toString('base64url')
const CURSOR = cursorOf(0x10)
const ROOT_CURSOR = cursorOf(0x14)
const CURSORS = { access: 'acc_1', socket: 3 }
const RESUMED = { ...CURSORS, from: CURSOR }
const FROM = '-32602 Invalid param: from must be the `cursor` of a notification of this method'

const rulesOf = (transactions: Transactions = 'logs'): SubscriptionRules => ({
  filtersMax: 4,
  filterKeysMax: 10_000,
  transactions,
  scope: undefined,
})

/** Arguments of the fan-out for these parameters, or the text of the refusal. */
const register = (
  method: string,
  params: readonly unknown[],
  rules: SubscriptionRules,
): unknown => {
  const toSubscription = SUBSCRIBES.get(method)
  if (toSubscription === undefined) throw new Error(method)
  return attempt(() => {
    const { fanout, added } = createFakeFanout()
    toSubscription(params, rules, SUBSCRIBER).add(fanout, 1)
    return added.get(1)
  })
}

/** `json` is `params` as written in a request. */
const cases: [method: string, json: string, answer: unknown, transactions?: Transactions][] = [
  ['accountSubscribe', `["${KEY}"]`, ['account', KEY_HEX, BASE64]],
  ['accountSubscribe', `["${KEY}",null]`, ['account', KEY_HEX, BASE64]],
  ['accountSubscribe', `["${KEY}",{}]`, ['account', KEY_HEX, BASE64]],
  [
    'accountSubscribe',
    `["${KEY}",{"encoding":"base64","dataSlice":null,"commitment":"confirmed","minContextSlot":null}]`,
    ['account', KEY_HEX, BASE64],
  ],
  [
    'accountSubscribe',
    `["${KEY}",{"commitment":5,"minContextSlot":"x","foo":1}]`,
    ['account', KEY_HEX, BASE64],
  ],
  [
    'accountSubscribe',
    `["${KEY}",{"encoding":"base58","dataSlice":{"offset":4,"length":32}}]`,
    ['account', KEY_HEX, { encoding: 'base58', slice: { offset: 4, length: 32 } }],
  ],
  [
    'accountSubscribe',
    `["${KEY}",{"encoding":"base64+zstd"}]`,
    ['account', KEY_HEX, { encoding: 'base64+zstd', slice: undefined }],
  ],
  [
    'accountSubscribe',
    `["${KEY}",{"encoding":"jsonParsed","dataSlice":{"offset":4,"length":32}}]`,
    ['account', KEY_HEX, { encoding: 'jsonParsed', slice: undefined }],
  ],
  ['accountSubscribe', '[]', missing(0)],
  ['accountSubscribe', `["${KEY}",{},1]`, count(1, 2)],
  ['accountSubscribe', '[null]', wrong(0, 'null', 'a string')],
  ['accountSubscribe', '[5]', wrong(0, 'integer `5`', 'a string')],
  ['accountSubscribe', '[["x"]]', wrong(0, 'sequence', 'a string')],
  ['accountSubscribe', '["0"]', invalid('pubkey')],
  ['accountSubscribe', '["abc"]', invalid('pubkey')],
  ['accountSubscribe', `["1${KEY}"]`, invalid('pubkey')],
  ['accountSubscribe', `["${'1'.repeat(1_000)}"]`, invalid('pubkey')],
  ['accountSubscribe', `["${KEY}",5]`, wrong(1, 'integer `5`', 'a map')],
  ['accountSubscribe', `["${KEY}",["base64"]]`, wrong(1, 'sequence', 'a map')],
  ['accountSubscribe', `["${KEY}",{"encoding":"binary"}]`, '-32602 unsupported encoding: binary'],
  ['accountSubscribe', `["${KEY}",{"encoding":5}]`, '-32602 unsupported encoding: 5'],
  ['accountSubscribe', `["${KEY}",{"dataSlice":{"offset":4}}]`, SLICE],
  [
    'accountSubscribe',
    `["${KEY}",{"encoding":"jsonParsed","dataSlice":{"offset":-4,"length":1}}]`,
    SLICE,
  ],

  ['programSubscribe', `["${KEY}"]`, ['program', KEY_HEX, [], BASE64]],
  [
    'programSubscribe',
    `["${KEY}",{"filters":[{"dataSize":165}],"encoding":"base64","withContext":null,"sortResults":null}]`,
    ['program', KEY_HEX, [165], BASE64],
  ],
  [
    'programSubscribe',
    `["${KEY}",{"filters":[{"memcmp":{"offset":8,"bytes":"2"}},{"memcmp":{"offset":0,"bytes":"AAE=","encoding":"base64"}}],"encoding":"jsonParsed"}]`,
    [
      'program',
      KEY_HEX,
      [
        [8, '01'],
        [0, '0001'],
      ],
      { encoding: 'jsonParsed', slice: undefined },
    ],
  ],
  ['programSubscribe', `["${KEY}",{"filters":null}]`, ['program', KEY_HEX, [], BASE64]],
  ['programSubscribe', '[]', missing(0)],
  ['programSubscribe', '["x"]', invalid('pubkey')],
  ['programSubscribe', `["${KEY}",{},null]`, count(1, 2)],
  ['programSubscribe', `["${KEY}",{"filters":{}}]`, SHAPE],
  ['programSubscribe', `["${KEY}",{"filters":[{"foo":1}]}]`, SHAPE],
  [
    'programSubscribe',
    `["${KEY}",{"filters":[{"memcmp":{"offset":0,"bytes":"0O"}}]}]`,
    '-32602 Invalid param: memcmp bytes (base58)',
  ],
  [
    'programSubscribe',
    `["${KEY}",{"filters":[${Array(4).fill('{"dataSize":1}')}]}]`,
    ['program', KEY_HEX, [1, 1, 1, 1], BASE64],
  ],
  ['programSubscribe', `["${KEY}",{"filters":[${Array(5).fill('{"dataSize":1}')}]}]`, MANY],
  ['programSubscribe', `["${KEY}",{"filters":[${Array(5).fill('{"foo":1}')}]}]`, MANY],

  ['logsSubscribe', '["all"]', ['logs', 'all']],
  ['logsSubscribe', '["all",{"commitment":"processed"}]', ['logs', 'all']],
  ['logsSubscribe', `[{"mentions":["${KEY}"]}]`, ['logs', KEY_HEX]],
  ['logsSubscribe', '["allWithVotes"]', VOTES],
  ['logsSubscribe', '["allWithVotes"]', ['logs', 'allWithVotes'], 'logsAndVotes'],
  ['logsSubscribe', '["all"]', NOT_FOUND, 'status'],
  ['logsSubscribe', '["all"]', NOT_FOUND, 'none'],
  ['logsSubscribe', '[]', missing(0)],
  ['logsSubscribe', '["all",{},1]', count(1, 2)],
  ['logsSubscribe', '["all",1]', wrong(1, 'integer `1`', 'a map')],
  ['logsSubscribe', '["none"]', LOGS],
  ['logsSubscribe', '[5]', LOGS],
  ['logsSubscribe', '[null]', LOGS],
  ['logsSubscribe', '[{}]', LOGS],
  ['logsSubscribe', `[{"mentions":["${KEY}"],"x":1}]`, LOGS],
  ['logsSubscribe', `[{"mentions":"${KEY}"}]`, LOGS],
  ['logsSubscribe', '[{"mentions":[5]}]', LOGS],
  ['logsSubscribe', '[{"mentions":[]}]', ONE],
  ['logsSubscribe', `[{"mentions":["${KEY}","${KEY}"]}]`, ONE],
  ['logsSubscribe', '[{"mentions":["x"]}]', invalid('mentions')],

  ['signatureSubscribe', `["${SIGNATURE}"]`, ['signature', SIGNATURE_HEX, 'finalized', false]],
  ...['confirmed', 'processed', 'recent', 'single', 'singleGossip'].map(
    (commitment): [string, string, unknown] => [
      'signatureSubscribe',
      `["${SIGNATURE}",{"commitment":"${commitment}"}]`,
      ['signature', SIGNATURE_HEX, 'confirmed', false],
    ],
  ),
  ...['"finalized"', '"max"', '"root"', '"never"', 'null', '5'].map(
    (commitment): [string, string, unknown] => [
      'signatureSubscribe',
      `["${SIGNATURE}",{"commitment":${commitment}}]`,
      ['signature', SIGNATURE_HEX, 'finalized', false],
    ],
  ),
  [
    'signatureSubscribe',
    `["${SIGNATURE}",{"commitment":"confirmed","enableReceivedNotification":true}]`,
    ['signature', SIGNATURE_HEX, 'confirmed', true],
  ],
  [
    'signatureSubscribe',
    `["${SIGNATURE}",{"enableReceivedNotification":null}]`,
    ['signature', SIGNATURE_HEX, 'finalized', false],
  ],
  [
    'signatureSubscribe',
    `["${SIGNATURE}"]`,
    ['signature', SIGNATURE_HEX, 'finalized', false],
    'status',
  ],
  ['signatureSubscribe', `["${SIGNATURE}"]`, NOT_FOUND, 'none'],
  [
    'signatureSubscribe',
    `["${SIGNATURE}",{"enableReceivedNotification":1}]`,
    wrong(1, 'integer `1`', 'a boolean'),
  ],
  ['signatureSubscribe', '[]', missing(0)],
  ['signatureSubscribe', `["${SIGNATURE}",{},1]`, count(1, 2)],
  ['signatureSubscribe', '[7]', wrong(0, 'integer `7`', 'a string')],
  ['signatureSubscribe', `["${KEY}"]`, invalid('signature')],
  ['signatureSubscribe', `["${SIGNATURE}1"]`, invalid('signature')],
  ['signatureSubscribe', `["${SIGNATURE.slice(1)}"]`, invalid('signature')],
  ['signatureSubscribe', `["${'0'.repeat(88)}"]`, invalid('signature')],
  ['signatureSubscribe', `["${'1'.repeat(89)}"]`, invalid('signature')],
  ['signatureSubscribe', '[""]', invalid('signature')],

  ['slotSubscribe', '[]', ['slot']],
  ['slotSubscribe', '[{}]', NO_PARAMS],
  ['rootSubscribe', '[]', ['root']],
  ['rootSubscribe', '[null]', NO_PARAMS],

  ['accountSubscribe', `["${KEY}",{"cursor":false,"from":null}]`, ['account', KEY_HEX, BASE64]],
  ['accountSubscribe', `["${KEY}",{"cursor":true}]`, ['account', KEY_HEX, BASE64, CURSORS]],
  ['accountSubscribe', `["${KEY}",{"from":"${CURSOR}"}]`, ['account', KEY_HEX, BASE64, RESUMED]],
  ['accountSubscribe', `["${KEY}",{"cursor":1}]`, wrong(1, 'integer `1`', 'a boolean')],
  ...[
    '1',
    '""',
    '"x"',
    `"${CURSOR}A"`,
    `"${CURSOR.slice(1)}"`,
    `"${CURSOR.slice(0, -1)}="`,
    `"${ROOT_CURSOR}"`,
    `"${'A'.repeat(44)}"`,
    `"${'A'.repeat(2 ** 23)}"`,
  ].map((from): [string, string, unknown] => [
    'accountSubscribe',
    `["${KEY}",{"from":${from}}]`,
    FROM,
  ]),
  [
    'programSubscribe',
    `["${KEY}",{"from":"${CURSOR}"}]`,
    ['program', KEY_HEX, [], BASE64, RESUMED],
  ],
  ['logsSubscribe', `["all",{"cursor":true,"from":"${CURSOR}"}]`, ['logs', 'all', RESUMED]],
  ['logsSubscribe', '["all",{"from":"x"}]', FROM],
  [
    'signatureSubscribe',
    `["${SIGNATURE}",{"cursor":true,"from":5}]`,
    ['signature', SIGNATURE_HEX, 'finalized', false],
  ],
  ['slotSubscribe', '[{"cursor":true}]', ['slot', CURSORS]],
  ['slotSubscribe', `[{"from":"${CURSOR}"}]`, ['slot', RESUMED]],
  ['slotSubscribe', '[{"cursor":true},1]', count(0, 1)],
  ['slotSubscribe', `[{"from":"${ROOT_CURSOR}"}]`, FROM],
  ['rootSubscribe', '[{"cursor":true}]', ['root', CURSORS]],
  ['rootSubscribe', `[{"from":"${ROOT_CURSOR}"}]`, ['root', { ...RESUMED, from: ROOT_CURSOR }]],
  ['rootSubscribe', `[{"from":"${CURSOR}"}]`, FROM],
]
for (const [method, json, answer, transactions] of cases)
  t.test(`${method} ${json.slice(0, 100)} ${transactions ?? ''}`, async t =>
    t.strictSame(register(method, JSON.parse(json), rulesOf(transactions)), answer),
  )

const ids: [json: string, answer: unknown][] = [
  ['[1]', 1],
  ['[0]', 0],
  ['[4294967295]', 4_294_967_295],
  ['[]', missing(0)],
  ['[1,2]', count(1, 1)],
  ['["1"]', wrong(0, 'string "1"', 'u64')],
  ['[-1]', wrong(0, 'integer `-1`', 'u64')],
  ['[1.5]', wrong(0, 'floating point `1.5`', 'u64')],
  ['[null]', wrong(0, 'null', 'u64')],
]
for (const [json, answer] of ids)
  t.test(`the id of ${json}`, async t =>
    t.equal(
      attempt(() => toSubscriptionId(JSON.parse(json))),
      answer,
    ),
  )

t.test('keys are equal only for identical subscriptions', async t => {
  const keyOf = (method: string, json: string): string | undefined =>
    SUBSCRIBES.get(method)?.(JSON.parse(json), rulesOf('fullAndVotes'), SUBSCRIBER).key
  const same: [method: string, one: string, other: string][] = [
    ['accountSubscribe', `["${KEY}"]`, `["${KEY}",{"encoding":"base64","minContextSlot":7}]`],
    ['accountSubscribe', `["${KEY}"]`, `["${KEY}",{"commitment":"finalized"}]`],
    ['programSubscribe', `["${KEY}"]`, `["${KEY}",{"filters":[]}]`],
    ['logsSubscribe', '["all"]', '["all",{}]'],
    ['slotSubscribe', '[]', '[]'],
    ['transactionSubscribe', '[]', '[{"accountInclude":[]},{"encoding":"base64"}]'],
    ['slotSubscribe', '[{"cursor":true}]', '[{"cursor":true,"from":null}]'],
  ]
  for (const [method, one, other] of same) t.equal(keyOf(method, one), keyOf(method, other), other)
  const options = [
    ...['', '"commitment":"confirmed"', '"commitment":"processed"', '"encoding":"jsonParsed"'],
    '"dataSlice":{"offset":0,"length":1}',
    '"encoding":"jsonParsed","dataSlice":{"offset":0,"length":1}',
    '"filters":[{"dataSize":1}]',
    '"filters":[{"memcmp":{"offset":0,"bytes":"2"}}]',
    '"filters":[{"memcmp":{"offset":0,"bytes":"AQ==","encoding":"base64"}}]',
    '"filters":[{"dataSize":1},{"memcmp":{"offset":0,"bytes":"2"}}]',
    '"filters":[{"memcmp":{"offset":0,"bytes":"2"}},{"dataSize":1}]',
  ]
  const keys = [
    ...options.map(members => keyOf('programSubscribe', `["${KEY}",{${members}}]`)),
    ...options.slice(0, 6).map(members => keyOf('accountSubscribe', `["${KEY}",{${members}}]`)),
    keyOf('logsSubscribe', '["all"]'),
    keyOf('logsSubscribe', '["allWithVotes"]'),
    keyOf('logsSubscribe', '["all",{"commitment":"confirmed"}]'),
    keyOf('logsSubscribe', `[{"mentions":["${KEY}"]}]`),
    keyOf('slotSubscribe', '[]'),
    ...[
      '',
      `{"accountInclude":["${KEY}"]}`,
      `{"accountExclude":["${KEY}"]}`,
      `{"accountRequired":["${KEY}"]}`,
      `{"accountRequired":["${KEY}","${KEY}"]}`,
      '{"failed":false}',
      '{"vote":false}',
      '{},{"encoding":"json"}',
      '{},{"commitment":"confirmed"}',
      '{},{"cursor":true}',
    ].map(filter => keyOf('transactionSubscribe', `[${filter}]`)),
    keyOf('rootSubscribe', '[]'),
    keyOf('rootSubscribe', '[{"cursor":true}]'),
    keyOf('programSubscribe', `["${KEY}",{"cursor":true}]`),
  ]
  t.equal(new Set(keys).size, keys.length)
  t.equal(keyOf('signatureSubscribe', `["${SIGNATURE}"]`), undefined)
  t.equal(keyOf('slotSubscribe', `[{"from":"${CURSOR}"}]`), undefined)
})

t.test('the length of a key is bounded', async t => {
  const junk = 'x'.repeat(100_000)
  const filters = `[{"memcmp":{"offset":0,"bytes":"2","x":"${junk}"}}]`
  const json = `["${KEY}",{"filters":${filters},"commitment":"${junk}"}]`
  const key =
    SUBSCRIBES.get('programSubscribe')?.(JSON.parse(json), rulesOf(), SUBSCRIBER).key ?? ''
  t.ok(key.length < 500, `${key.length}`)
})

t.test('a subscription outside the scope is refused', async t => {
  const queried: unknown[] = []
  const scope = {
    coversAccount: () => queried.push('account') > 2,
    coversProgram: (_program: Uint8Array, filters: readonly unknown[]) => filters.length > 0,
  }
  const rules = { ...rulesOf(), scope }
  const outside = '-32603 account outside indexed scope'
  t.equal(register('accountSubscribe', [KEY], rules), outside)
  t.equal(register('accountSubscribe', ['x'], rules), invalid('pubkey'))
  t.equal(register('accountSubscribe', [KEY], rules), outside)
  t.strictSame(register('accountSubscribe', [KEY], rules), ['account', KEY_HEX, BASE64])
  t.equal(register('programSubscribe', [KEY], rules), outside)
  const filters = [{ dataSize: 1 }]
  t.strictSame(register('programSubscribe', [KEY, { filters }], rules), [
    'program',
    KEY_HEX,
    [1],
    BASE64,
  ])
  t.strictSame(register('logsSubscribe', ['all'], rules), ['logs', 'all'])
})

t.test('every subscription method is served, ends a subscription, or is not served', async t => {
  for (const name of [...SUBSCRIBES.keys(), ...UNSUBSCRIBES])
    t.ok(SUBSCRIPTION_METHODS.has(name), name)
  const absent = [...SUBSCRIPTION_METHODS].filter(
    name => !SUBSCRIBES.has(name) && !UNSUBSCRIBES.has(name),
  )
  t.strictSame(
    absent.sort(),
    ['block', 'slotsUpdates', 'vote'].flatMap(kind => [`${kind}Subscribe`, `${kind}Unsubscribe`]),
  )
})
