import { createHash } from 'node:crypto'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { RELAY_ROUTES, type RelayRoute } from '../../../src/submission/store/submission.js'
import { answer, openRawUpstream, type Received } from '../../fixtures/submission/raw-upstream.js'
import {
  base64,
  openMachine,
  OPTIONS,
  post,
  QUALIFYING,
  sendBundle,
  toBundle,
  toTransaction,
  type Member,
} from '../../fixtures/submission/relay.js'

const signatureOf = (text: string): string =>
  bs58.encode(Buffer.from(text, 'base64').subarray(1, 65))
const signaturesOf = (texts: readonly string[]): string[] => texts.map(signatureOf)
/** facts: the base58 first signatures, joined by commas. */
const idOf = (texts: readonly string[]): string =>
  createHash('sha256').update(signaturesOf(texts).join(',')).digest('hex')

/** The answer of an engine that takes everything, in the form of the route. */
const accept =
  (route: RelayRoute) =>
  ({ body }: Received): string => {
    const { params, id } = JSON.parse(body.toString())
    return JSON.stringify({
      jsonrpc: '2.0',
      result: route === '/relay' ? signaturesOf(params[0]) : idOf(params[0]),
      id,
    })
  }

const openRoute = async (t: Test, route: RelayRoute) => {
  const say = accept(route)
  const engine = await openRawUpstream(t, (socket, received) => socket.write(answer(say(received))))
  const { edges } = await openMachine(t, { urls: [engine.url] })
  const send = (body: string) => post(edges[0].port, route, body)
  return { engine, edge: edges[0], send }
}

const RAW_ORDER = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n

/**
 * The same signature with the group's order added to its second half: a lax check takes it, a
 * validator does not.
 */
const toNonCanonical = (transaction: Buffer): Buffer => {
  const spoiled = Buffer.from(transaction)
  const s = BigInt(`0x${Buffer.from(spoiled.subarray(33, 65)).reverse().toString('hex')}`)
  const hex = (s + RAW_ORDER).toString(16).padStart(64, '0')
  spoiled.set(Buffer.from(hex, 'hex').reverse(), 33)
  return spoiled
}

const flip = (bytes: Buffer, at: number): Buffer => {
  const flipped = Buffer.from(bytes)
  flipped[at] = (flipped[at] ?? 0) ^ 1
  return flipped
}

/** A good transaction of exactly so many bytes. */
const ofBytes = (route: RelayRoute, byteLength: number): Buffer => {
  const make = (dataBytes: number) =>
    toTransaction(route, { ...QUALIFYING, name: `${byteLength} bytes`, dataBytes })
  const transaction = make(200 + byteLength - make(200).length)
  if (transaction.length !== byteLength) throw new Error(`${transaction.length} bytes`)
  return transaction
}

const floors =
  'one bundle member must pay at least the service tip floor (1000000 lamports) and the bundle-engine tip floor ' +
  '(1000 lamports) and include an application instruction with a writable static account'

type Case = readonly [name: string, params: unknown, error: string | undefined]

/**
 * Params and what is said of them; `undefined` is forwarded. Rules in the order of the contract.
 */
const casesOf = (route: RelayRoute): Case[] => {
  const max = route === '/relay' ? 4 : 5
  const good = toBundle(route)
  const options = OPTIONS[route]
  const member = (given: Partial<Member>) =>
    base64(toTransaction(route, { ...QUALIFYING, name: 'member', ...given }))
  const one = toTransaction(route, { ...QUALIFYING, name: 'one' })
  const exactly = `params[1] must be exactly ${JSON.stringify(options)}`
  const bad: unknown = { encoding: 'base58' }
  const of = (count: number): string[] => toBundle(route, 'many', count)
  const text = base64(one)
  const unpadded = base64(ofBytes(route, 700)).replace(/=+$/, '')
  /** Of 700 bytes: its last character stands for four bits and two that must be zero. */
  const padded = base64(ofBytes(route, 700))
  const loose = `${padded.slice(0, -2)}${String.fromCharCode(padded.charCodeAt(padded.length - 2) + 1)}=`
  const plus = text.replace('A', '-')
  const malformed = (index: number, why: string) => `transaction ${index} is malformed: ${why}`
  const none = '0 signatures, 1 to 12 are possible'

  return [
    // params, their shape and the exact options
    ['no parameters', undefined, 'Missing param at index 0'],
    ['null', null, 'Missing param at index 0'],
    ['an object', { transactions: good }, '`params` should be an array'],
    ['nothing in them', [], 'Missing param at index 0'],
    ['no transactions', [null, options], 'Missing param at index 0'],
    [
      'a text',
      ['x', options],
      'Invalid param at index 0: invalid type: string "x", expected a sequence',
    ],
    ['transactions alone', [good], 'Missing param at index 1'],
    ['null for options', [good, null], 'Missing param at index 1'],
    [
      'a third parameter',
      [good, options, {}],
      'Invalid parameters: Expected from 2 to 2 parameters.',
    ],
    ['no options in the options', [good, {}], exactly],
    ['another encoding', [good, bad], exactly],
    ['encoding in capitals', [good, { ...options, encoding: 'Base64' }], exactly],
    ['encoding null', [good, { ...options, encoding: null }], exactly],
    ['one option more', [good, { ...options, skipPreflight: true }], exactly],
    ['one option more, null', [good, { ...options, skipPreflight: null }], exactly],
    [
      'options of the other route',
      [good, OPTIONS[route === '/relay' ? '/relay-bundle' : '/relay']],
      exactly,
    ],
    ['options in a list', [good, [options]], exactly],
    ['options as a text', [good, 'base64'], exactly],
    [
      'options in another order',
      [good, Object.fromEntries(Object.entries(options).reverse())],
      undefined,
    ],
    ...Object.keys(options).flatMap((name): Case[] => {
      const { [name]: _left, ...rest } = options as Record<string, unknown>
      return [
        [`without ${name}`, [good, rest], exactly],
        [`${name} false`, [good, { ...options, [name]: false }], exactly],
        [`${name} "true"`, [good, { ...options, [name]: 'true' }], exactly],
        [`${name} 1`, [good, { ...options, [name]: 1 }], exactly],
      ]
    }),
    ['wrong options and too many', [of(6), bad], exactly],
    ['wrong options and none', [[], bad], exactly],
    ['wrong options and no base64', [['?'], bad], exactly],
    ['no options and too many', [of(6)], 'Missing param at index 1'],

    // count
    ['no transaction', [[], options], 'sendBundle holds no transaction'],
    ['one', [of(1), options], undefined],
    [`${max}`, [of(max), options], undefined],
    [`${max + 1}`, [of(max + 1), options], `sendBundle transaction count exceeds ${max}`],
    ['100', [Array(100).fill('x'), options], `sendBundle transaction count exceeds ${max}`],
    [
      'too many that are none',
      [Array(max + 1).fill(1), options],
      `sendBundle transaction count exceeds ${max}`,
    ],
    [
      'a number among them',
      [[text, 1], options],
      'Invalid param at index 0: invalid type: integer `1`, expected a string',
    ],
    [
      'null among them',
      [[null, text], options],
      'Invalid param at index 0: invalid type: null, expected a string',
    ],

    // canonical base64 and size
    ['no padding', [[unpadded], options], 'transaction 0 is not canonical padded base64'],
    ['bits behind the end', [[loose], options], 'transaction 0 is not canonical padded base64'],
    ['the URL alphabet', [[plus], options], 'transaction 0 is not canonical padded base64'],
    ['a space before', [[` ${text}`], options], 'transaction 0 is not canonical padded base64'],
    [
      'a line break within',
      [[`${text.slice(0, 76)}\n${text.slice(76)}`], options],
      'transaction 0 is not canonical padded base64',
    ],
    [
      'too much padding',
      [[`${text}====`], options],
      'transaction 0 is not canonical padded base64',
    ],
    ['base58', [[bs58.encode(one)], options], 'transaction 0 is not canonical padded base64'],
    [
      'a character of no alphabet',
      [[text, `${text.slice(0, -4)}é===`], options],
      'transaction 1 is not canonical padded base64',
    ],
    [
      'an unpaired surrogate',
      [['\ud800'.repeat(4)], options],
      'transaction 0 is not canonical padded base64',
    ],
    ['1231 bytes', [[base64(ofBytes(route, 1_231))], options], undefined],
    ['1232 bytes', [[base64(ofBytes(route, 1_232))], options], undefined],
    ['1233 bytes', [[base64(ofBytes(route, 1_233))], options], 'transaction 0 exceeds 1232 bytes'],
    ['1234 bytes', [[base64(ofBytes(route, 1_234))], options], 'transaction 0 exceeds 1232 bytes'],
    [
      '2000 bytes, the second',
      [[text, base64(ofBytes(route, 2_000))], options],
      'transaction 1 exceeds 1232 bytes',
    ],
    [
      'bad base64 behind what is malformed',
      [['AAAA', '?'], options],
      'transaction 1 is not canonical padded base64',
    ],

    [
      'too large behind what is malformed',
      [['AAAA', base64(ofBytes(route, 1_233))], options],
      'transaction 1 exceeds 1232 bytes',
    ],

    // parse and sanitise
    ['an empty text', [[''], options], malformed(0, 'no bytes')],
    ['three zeros', [['AAAA'], options], malformed(0, none)],
    [
      'a byte behind the end',
      [[base64(Buffer.concat([one, Buffer.of(0)]))], options],
      malformed(0, '1 byte behind its end'),
    ],
    [
      'a byte too few',
      [[base64(one.subarray(0, -1))], options],
      malformed(0, 'ends at byte 335 inside instruction 2'),
    ],
    [
      'a payer that is read-only',
      [[base64(flip(one, 66))], options],
      malformed(0, 'the fee payer is read-only'),
    ],
    ['malformed twice', [['AAAA', 'AAAA'], options], malformed(0, none)],
    ['malformed behind two that are the same', [[text, text, 'AAAA'], options], malformed(2, none)],
    [
      'malformed, beside a wrong signature',
      [[base64(flip(one, 20)), 'AAAA'], options],
      malformed(1, none),
    ],

    // duplicates
    ['the same twice', [[text, text], options], 'transactions 0 and 1 are the same'],
    [
      'the same, not side by side',
      [[text, member({ name: 'x' }), text], options],
      'transactions 0 and 2 are the same',
    ],
    [
      'the same twice behind a wrong signature',
      [[base64(flip(toTransaction(route, { name: 'w' }), 20)), text, text], options],
      'transactions 1 and 2 are the same',
    ],
    [
      'the same twice where none qualifies',
      [[member({ engineLamports: 0n }), member({ engineLamports: 0n })], options],
      'transactions 0 and 1 are the same',
    ],
    [
      'the same message under another signature',
      [[text, base64(flip(one, 20))], options],
      'transactions 0 and 1 are the same',
    ],

    // strict signatures
    [
      'a signature of something else',
      [[text, base64(flip(toTransaction(route, { name: 'y' }), 20))], options],
      'transaction 1 signature verification failure',
    ],
    [
      'a signature of nothing',
      [[base64(Buffer.concat([Buffer.of(1), Buffer.alloc(64), one.subarray(65)]))], options],
      'transaction 0 signature verification failure',
    ],
    [
      'a signature that only lax checks take',
      [[base64(toNonCanonical(one))], options],
      'transaction 0 signature verification failure',
    ],
    [
      'a changed message',
      [[base64(flip(one, one.length - 1))], options],
      'transaction 0 signature verification failure',
    ],
    [
      'a wrong signature where none qualifies',
      [[base64(flip(toTransaction(route, { name: 'z' }), 20))], options],
      'transaction 0 signature verification failure',
    ],

    // the qualifying member
    ['both floors exactly', [[member({})], options], undefined],
    [
      'one lamport less for the service',
      [[member({ serviceLamports: 999_999n })], options],
      floors,
    ],
    ['one lamport less for the engine', [[member({ engineLamports: 999n })], options], floors],
    [
      'one more of each',
      [[member({ serviceLamports: 1_000_001n, engineLamports: 1_001n })], options],
      undefined,
    ],
    [
      'all to the service',
      [[member({ serviceLamports: 2_000_000n, engineLamports: 0n })], options],
      floors,
    ],
    ['tips alone', [[member({ hasApplication: false })], options], floors],
    [
      'tips in one, the application in another',
      [[member({ hasApplication: false }), base64(toTransaction(route, { name: 'app' }))], options],
      floors,
    ],
    [
      'each tip in a member of its own',
      [[member({ engineLamports: 0n }), member({ serviceLamports: 0n })], options],
      floors,
    ],
    [
      'the last one qualifies',
      [[base64(toTransaction(route, { name: 'first' })), member({})], options],
      undefined,
    ],
    [
      'tips of the other route',
      [toBundle(route === '/relay' ? '/relay-bundle' : '/relay'), options],
      floors,
    ],
  ]
}

/** Each case without and with white space between the tokens. */
const spaced = (cases: readonly Case[]): (readonly [...Case, space: number])[] =>
  cases.flatMap(one => [[...one, 0] as const, [...one, 1] as const])

for (const route of RELAY_ROUTES)
  t.test(`${route}: each rule, in order, and what leaves`, async t => {
    const { engine, edge, send } = await openRoute(t, route)
    for (const [name, params, error, space] of spaced(casesOf(route))) {
      const before = engine.received.length
      const call = { jsonrpc: '2.0', id: name, method: 'sendBundle', params }
      const body = JSON.stringify(call, null, space)
      const { status, headers, json } = await send(body)
      t.equal(status, 200, name)
      t.equal(json.id, name)
      t.match(headers['x-relay-submission-id'], /^[0-9a-f-]{36}$/, `${name}: submission id`)
      if (error !== undefined) {
        t.equal(json.error?.code, -32_602, `${name}: code`)
        t.equal(json.error?.message, error, name)
        t.equal(engine.received.length, before, `${name}: nothing is forwarded`)
        continue
      }
      const [texts] = params as [string[]]
      const result = route === '/relay' ? signaturesOf(texts) : idOf(texts)
      t.strictSame(json, { jsonrpc: '2.0', result, id: name }, name)
      t.equal(headers['x-bundle-id'], idOf(texts), `${name}: bundle id`)
      t.strictSame(
        engine.received.slice(before).map(({ body }) => body.toString()),
        [
          `{"jsonrpc":"2.0","id":1,"method":"sendBundle","params":[${JSON.stringify(texts)},${JSON.stringify(OPTIONS[route])}]}`,
        ],
        `${name}: what leaves is what was checked`,
      )
    }
    t.notOk(edge.meterEvents.includes('mismatch'))
    t.strictSame(edge.lines, [])
  })

t.test('an id of a bundle is there as soon as every member has a signature', async t => {
  const { send } = await openRoute(t, '/relay-bundle')
  const poor = base64(toTransaction('/relay-bundle', { name: 'poor' }))
  const { headers } = await send(sendBundle('/relay-bundle', [poor]))
  t.equal(headers['x-bundle-id'], idOf([poor]))
  const malformed = await send(sendBundle('/relay-bundle', [poor, 'AAAA']))
  t.equal(malformed.headers['x-bundle-id'], undefined)
})

t.test('the reference of these tests has the documented ids', async t => {
  const ids = (texts: readonly string[]) =>
    createHash('sha256').update(texts.join(',')).digest('hex')
  t.equal(
    ids([
      '3bC2M9fiACSjkTXZDgeNAuQ4ScTsdKGwR42ytFdhUvikqTmBheUxfsR1fDVsM5ADCMMspuwGkdm1uKbU246x5aE3',
      '8t9hKYEYNbLvNqiSzP96S13XF1C2f1ro271Kdf7bkZ6EpjPLuDff1ywRy4gfaGSTubsM2FeYGDoT64ZwPm1cQUt',
    ]),
    '892b79ed49138bfb3aa5441f0df6e06ef34f9ee8f3976c15b323605bae0cf51d',
  )
  t.equal(
    ids([
      '2EKVNQoeihFQfepJukLFtE4BpkNyYsZ1cdocSZzsz6En8nQ3D72M24zLFTJmbpd31hvbF9SpbQG2XPqawGoDxq2s',
      'w4fJGQcZGhHzeYELeiVW2PM5iypNEsWExSuUnmfVA4hHC21CRtBSqovRYj884jRVkPqdBY4Lt1owK8LPnyE4Ahs',
    ]),
    'eb06826b16e608a7568f6ab091c26b47d4a43d847dc1e6d34172e0e778e01cc1',
  )
})

t.test(
  'a member named twice does not make what is forwarded differ from what is checked',
  async t => {
    const { engine, send } = await openRoute(t, '/relay-bundle')
    const [good, other] = [toBundle('/relay-bundle', 'good'), toBundle('/relay-bundle', 'other')]
    const call = (inside: string) => `{"jsonrpc":"2.0","id":1,"method":"sendBundle",${inside}}`
    const list = (texts: readonly string[]) => JSON.stringify(texts)
    const bodies = [
      call(
        `"params":[${list(other)},{"encoding":"base58"}],"params":[${list(good)},{"encoding":"base64"}]`,
      ),
      call(`"params":[${list(good)},{"encoding":"base58","encoding":"base64"}]`),
      call(`"params":[${list(good)},{"encoding":"base64","encoding":"base58"}]`),
      call(`"params":[${list(good)},{"encoding":"base64","__proto__":{"encoding":"base64"}}]`),
      call(`"params":[${list(good)},{"\\u0065ncoding":"base64"}]`),
    ]
    for (const body of bodies) {
      engine.received.length = 0
      const { json } = await send(body)
      if (json.error !== undefined) t.equal(engine.received.length, 0, body.slice(-60))
      else
        t.strictSame(
          JSON.parse(engine.received[0]?.body.toString() ?? ''),
          { jsonrpc: '2.0', id: 1, method: 'sendBundle', params: [good, { encoding: 'base64' }] },
          body.slice(-60),
        )
    }
  },
)

t.test('the client’s own id comes back as it was written', async t => {
  const { send } = await openRoute(t, '/relay')
  const bundle = toBundle('/relay')
  for (const id of ['0', '-1', '1.0', '18446744073709551615', '"a\\u0062"', '""', 'null']) {
    const body = `{"id":${id},"jsonrpc":"2.0","method":"sendBundle","params":[${JSON.stringify(bundle)},${JSON.stringify(OPTIONS['/relay'])}]}`
    const { text } = await send(body)
    t.ok(text.endsWith(`,"id":${id}}`), text)
  }
})
