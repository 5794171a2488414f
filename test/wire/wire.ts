import t from 'tap'
import { METHODS } from '../../src/rpc/registry.js'
import { ERRORS, type Row } from '../../src/shared/errors.js'
import { parseExact } from '../fixtures/rpc/exact-json.js'
import { connect, post, replyCount, splitReplies } from '../fixtures/server/server.js'
import { openSocket } from '../fixtures/server/socket.js'
import { applyAccounts, openStore } from '../fixtures/rpc/store.js'
import { readVectors, VECTOR_SLOT } from '../fixtures/rpc/vectors.js'
import { openWire } from '../fixtures/rpc/wire.js'
import { expandZstd } from '../fixtures/ingest/zstd.js'

const wire = await openWire(t, 'debug')
const JSON_TYPE = 'application/json; charset=utf-8'

t.test('golden vectors', async t => {
  const client = await openSocket(wire.port, { path: `/${wire.token}` })
  t.teardown(() => client.destroy())
  for (const method of METHODS.keys())
    for (const { name, accounts, root, transactions, request, reply } of readVectors(method))
      await t.test(`${method} ${name}`, async t => {
        const { indexer, reader } = openStore(t)
        applyAccounts(indexer, accounts, VECTOR_SLOT, root, transactions)
        wire.serve(reader)
        const { status, contentType, body } = await wire.send(request)
        const text = body.toString()
        t.strictSame({ status, contentType }, { status: 200, contentType: JSON_TYPE })
        t.strictSame(expandZstd(parseExact(text)), expandZstd(reply))
        t.equal(await wire.askText(`[${request},${request}]`), `[${text},${text}]`, 'in a batch')
        client.send(request)
        t.equal(await client.next(), text, 'over a WebSocket')
        wire.serve(reader, { fastLane: false })
        t.equal(await wire.askText(request), text, 'without the fast lane')
      })
})

/**
 * The read budget, the time-out and an incomplete index need other options or stores than the
 * vectors' and have tests of their own. The others are not errors of reads.
 */
const NO_VECTOR: ReadonlySet<string> = new Set([
  'indexIncomplete',
  'readBudget',
  'readTimeout',
  'bundleTooLong',
  'noQualifyingMember',
  'engineFull',
  'overloaded',
  'batchOverLimit',
  'limitIsNone',
  'landerUnauthorized',
  'landerForbidden',
  'landerRefused',
  'landerFull',
  'submissionKey',
  'cursor',
  'noLane',
  'lanesRefused',
  'lanesFull',
  'transactionsNotFollowed',
  'blockReads',
  'subscriptionKeys',
])

t.test('every read error of the contract is in a vector', async t => {
  const replies = [...METHODS.keys()].flatMap(readVectors).map(({ reply }) => reply)
  const messages = replies.map(reply => (reply as Failed).error?.message ?? '')
  for (const [name, row] of Object.entries<Row>(ERRORS)) {
    if (!row.origin.startsWith('contract: ') || row.code === undefined || NO_VECTOR.has(name))
      continue
    const [start = ''] = row.message.split('{')
    t.ok(
      messages.some(message => message.startsWith(start)),
      `${name}: ${row.message}`,
    )
  }
})
type Failed = { readonly error?: { readonly message: string } }

t.test('a page over the read budget is refused', async t => {
  const { indexer, reader } = openStore(t)
  const vector = readVectors('getProgramAccountsV2').find(({ name }) => name === 'all')
  applyAccounts(indexer, vector?.accounts ?? [], VECTOR_SLOT)
  wire.serve(reader, { pageReplyBytesMax: 100 })
  const message = 'Query exceeded the read budget; narrow the filters or use pagination'
  t.match(await wire.ask(vector?.request ?? ''), {
    error: { code: -32003, message, data: { limit: 1_000, scanned: 1 } },
  })
})

const KEY = '11111111111111111111111111111112'
const PLAIN = `{"jsonrpc":"2.0","id":ID,"method":"getAccountInfo","params":["${KEY}"]}`
const NULL_RESULT = '{"context":{"slot":9},"value":null}'
const result = (id: string): string => `{"jsonrpc":"2.0","result":${NULL_RESULT},"id":${id}}`
const failure = (code: number, message: string, id = 'null'): string =>
  `{"jsonrpc":"2.0","error":{"code":${code},"message":"${message}"},"id":${id}}`

/** Ids as in the reply: the same token, even if a JSON parser would change it. */
const IDS = [
  '0',
  '-0',
  '1',
  '1.0',
  '1e2',
  '-1.50E-07',
  '1e400',
  '9007199254740993',
  '18446744073709551616',
  '1'.repeat(400),
  'null',
  '""',
  '"a"',
  '"é𝄞"',
  String.raw`"\u0041\n\"\\\/"`,
  String.raw`"\ud800"`,
  `"${'x'.repeat(50_000)}"`,
]

t.test('envelopes are parsed as documented', async t => {
  const { indexer, reader } = openStore(t)
  applyAccounts(indexer, [], VECTOR_SLOT)
  const call = (id: string): string => PLAIN.replace('ID', () => id)
  const NO_CALL = failure(-32600, 'Invalid request')
  const notification = PLAIN.replace('"id":ID,', '')
  const cases: [name: string, message: string, reply: string][] = [
    ...IDS.map((id): [string, string, string] => [`id ${id.slice(0, 30)}`, call(id), result(id)]),
    ['all ids in one batch', `[${IDS.map(call).join()}]`, `[${IDS.map(result).join()}]`],
    ['white space', `\n\t ${call(' 7\r\n')} `, result('7')],
    ['a repeated id', call('1,"id":2'), result('2')],
    ['an escaped name', call('1').replace('"id"', String.raw`"\u0069d"`), result('1')],
    ['a notification', notification, ''],
    ['a notification of no method', '{"jsonrpc":"2.0","method":"nope"}', ''],
    [
      'a notification with wrong params',
      notification.replace('[', '5,"x":['),
      failure(-32600, 'Invalid request'),
    ],
    ['notifications in a batch', `[${notification},${notification}]`, ''],
    [
      'a call among notifications',
      `[${notification},${call('3')},${notification}]`,
      `[${result('3')}]`,
    ],
    ['an empty batch', '[]', failure(-32600, 'Invalid request')],
    ['an empty body', '', failure(-32700, 'Parse error')],
    ['no JSON', '{', failure(-32700, 'Parse error')],
    ['no call', '5', failure(-32700, 'Parse error')],
    [
      'what is no call in a batch',
      `[5,${call('1')},[],null,${call('{}')},${call('"b"')}]`,
      `[${[NO_CALL, result('1'), NO_CALL, NO_CALL, NO_CALL, result('"b"')].join()}]`,
    ],
    ['only a number in a batch', '[5]', `[${NO_CALL}]`],
    ['an object as id', call('{}'), failure(-32700, 'Parse error')],
    [
      'no such method',
      call('4').replace('getAccountInfo', 'nope'),
      failure(-32601, 'Method not found', '4'),
    ],
    ['another version', call('5').replace('2.0', '1.0'), failure(-32600, 'Invalid request', '5')],
    [
      'params that are no list',
      call('6').replace(`["${KEY}"]`, '{}'),
      failure(-32602, '`params` should be an array', '6'),
    ],
    [
      '100 calls',
      `[${Array(100).fill(call('8')).join()}]`,
      `[${Array(100).fill(result('8')).join()}]`,
    ],
    [
      '101 calls',
      `[${Array(101).fill(call('8')).join()}]`,
      failure(-32600, 'Batch holds more than 100 calls'),
    ],
  ]
  for (const fastLane of [true, false]) {
    wire.serve(reader, { fastLane })
    for (const [name, message, reply] of cases)
      t.equal(await wire.askText(message), reply, `${name}, fast lane ${fastLane}`)
  }
  wire.serve(reader)
  const { status, body } = await wire.send(Buffer.from([0x22, 0xff, 0x22]))
  t.strictSame([status, body.toString()], [200, failure(-32700, 'Parse error')], 'no UTF-8')
})

t.test('tokens are read from the path and the headers', async t => {
  const { indexer, reader } = openStore(t)
  applyAccounts(indexer, [], VECTOR_SLOT)
  wire.serve(reader)
  const { token } = wire
  const cases: [name: string, path: string, headers: Record<string, string>, status: number][] = [
    ['in the path', `/${token}`, {}, 200],
    ['in the path, with a query', `/${token}?api-key=x`, {}, 200],
    ['as x-token', '/', { 'x-token': token }, 200],
    ['as bearer', '/', { authorization: `Bearer ${token}` }, 200],
    ['as bearer in lower case', '/', { authorization: `bearer ${token}` }, 200],
    ['as basic', '/', { authorization: `Basic ${token}` }, 401],
    ['none', '/', {}, 401],
    ['too short', `/${token.slice(0, -1)}`, {}, 401],
    ['too long', `/${token}x`, {}, 401],
    ['of another letter case', `/${token.toUpperCase()}`, {}, 401],
    ['with a path behind it', `/${token}/x`, {}, 404],
    ['with another content type', `/${token}`, { 'content-type': 'text/plain' }, 415],
  ]
  for (const [name, path, headers, status] of cases) {
    const answer = await wire.send(PLAIN.replace('ID', '1'), path, headers)
    t.equal(answer.status, status, name)
    t.equal(answer.body.toString() === result('1'), status === 200, name)
    t.notMatch(answer.body.toString(), token)
  }
  t.equal(
    wire.lines.length > 0 && wire.lines.some(line => line.includes(token)),
    false,
    'in no log',
  )
})

t.test('32 pipelined requests are answered in order', async t => {
  const { indexer, reader } = openStore(t)
  const vectors = ['getAccountInfo', 'getTokenSupply', 'getTokenLargestAccounts'].flatMap(method =>
    readVectors(method).slice(0, 11),
  )
  applyAccounts(indexer, vectors[0]?.accounts ?? [], VECTOR_SLOT)
  const requests = vectors.slice(0, 32).map(({ request }) => request)
  for (const fastLane of [true, false]) {
    wire.serve(reader, { fastLane })
    const expected: string[] = []
    for (const request of requests) expected.push(await wire.askText(request))
    const connection = await connect(wire.port)
    const lines = ['Content-Type: application/json']
    connection.socket.write(
      requests.map(request => post(`/${wire.token}`, request, lines)).join(''),
      'latin1',
    )
    const replies = splitReplies(await connection.until(now => replyCount(now) === requests.length))
    connection.socket.destroy()
    t.strictSame(
      replies.map(({ body }) => Buffer.from(body, 'latin1').toString()),
      expected,
    )
  }
})
