import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import {
  formatError,
  isBatch,
  isRefusal,
  parseMessage,
  type Call,
  type Message,
  type Refusal,
} from '../../src/shared/jsonrpc.js'
import { RpcError } from '../../src/shared/errors.js'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'

const LIMITS = { batchCountMax: 100, nestingMax: 127 }
const parse = (text: string | Uint8Array, limits = LIMITS): Message =>
  parseMessage(typeof text === 'string' ? Buffer.from(text) : text, limits)

const show = (call: Call | Refusal): unknown =>
  isRefusal(call) ? [call.error.row.code, call.error.message, call.id] : call
const shown = (message: Message): unknown => (isBatch(message) ? message.map(show) : show(message))

/** Least processor time of so many runs that one is not slowed by what else the machine does. */
const quickestMs = (run: () => void): number => {
  const times = Array.from({ length: 20 }, () => {
    const before = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  })
  return Math.min(...times)
}

const PARSE = [-32700, 'Parse error', 'null']
const invalid = (id: string) => [-32600, 'Invalid request', id]
const call = (id: string | undefined, params: unknown = []) => ({ id, method: 'm', params })

const cases: [name: string, body: string, message: unknown][] = [
  ['nothing', '', PARSE],
  ['spaces', ' \n', PARSE],
  ['half an object', '{', PARSE],
  ['an unclosed string', '{"jsonrpc":"2.0","id":"', PARSE],
  ['more after the end', '{"jsonrpc":"2.0","id":1,"method":"m"} x', PARSE],
  ['a byte order mark', '\ufeff{"jsonrpc":"2.0","id":1,"method":"m"}', PARSE],
  ['a number', '1', PARSE],
  ['a string', '"a"', PARSE],
  ['null', 'null', PARSE],
  ['true', 'true', PARSE],

  ['a call', '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}', call('1', [1])],
  ['a call in other order', ' {"params":[ ],"method":"m","id" : 7 ,"jsonrpc":"2.0"}\n', call('7')],
  ['params null', '{"jsonrpc":"2.0","id":1,"method":"m","params":null}', call('1')],
  [
    'params an object',
    '{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}',
    call('1', { a: 1 }),
  ],
  ['a notification', '{"jsonrpc":"2.0","method":"m"}', call(undefined)],
  ['a notification without jsonrpc', '{"method":"m"}', call(undefined)],

  ['id string', '{"jsonrpc":"2.0","id":"x y","method":"m"}', call('"x y"')],
  [
    'id with escapes',
    '{"jsonrpc":"2.0","id":"\\"\\\\\\u0041","method":"m"}',
    call('"\\"\\\\\\u0041"'),
  ],
  [
    'id that looks like a member',
    '{"jsonrpc":"2.0","id":"\\",\\"id\\":2","method":"m"}',
    call('"\\",\\"id\\":2"'),
  ],
  ['id empty', '{"jsonrpc":"2.0","id":"","method":"m"}', call('""')],
  ['id beyond ASCII', '{"jsonrpc":"2.0","id":"é😀","method":"m"}', call('"é😀"')],
  ['id null', '{"jsonrpc":"2.0","id":null,"method":"m"}', call('null')],
  ['id 0', '{"jsonrpc":"2.0","id":0,"method":"m"}', call('0')],
  ['id -1', '{"jsonrpc":"2.0","id":-1,"method":"m"}', call('-1')],
  ['id 1.0', '{"jsonrpc":"2.0","id":1.0,"method":"m"}', call('1.0')],
  ['id 1e3', '{"jsonrpc":"2.0","id":1e3,"method":"m"}', call('1e3')],
  ['id 1E400', '{"jsonrpc":"2.0","id":1E400,"method":"m"}', call('1E400')],
  [
    'id of 64 bits',
    '{"jsonrpc":"2.0","id":18446744073709551615,"method":"m"}',
    call('18446744073709551615'),
  ],
  ['id last', '{"jsonrpc":"2.0","method":"m","id":5}', call('5')],
  ['id last, with a line end', '{"jsonrpc":"2.0","method":"m","id":\r\n\t5\n}', call('5')],
  ['id named by escapes', '{"jsonrpc":"2.0","i\\u0064":5,"method":"m"}', call('5')],
  ['id twice', '{"jsonrpc":"2.0","id":1,"id":"b","method":"m"}', call('"b"')],
  [
    'id twice, the first an object',
    '{"jsonrpc":"2.0","id":{"id":3},"id":2,"method":"m"}',
    call('2'),
  ],
  [
    'id inside params',
    '{"jsonrpc":"2.0","method":"m","params":{"id":9},"id":1}',
    call('1', { id: 9 }),
  ],
  [
    'id inside params only',
    '{"jsonrpc":"2.0","method":"m","params":[{"id":9},"id",1]}',
    call(undefined, [{ id: 9 }, 'id', 1]),
  ],
  [
    'id as the value of a member',
    '{"jsonrpc":"2.0","method":"id","id":3}',
    { id: '3', method: 'id', params: [] },
  ],
  [
    'id after a list that ends in a comma-led string',
    '{"jsonrpc":"2.0","method":"m","params":["id","id"],"id":4}',
    call('4', ['id', 'id']),
  ],
  ['id an object', '{"jsonrpc":"2.0","id":{},"method":"m"}', PARSE],
  ['id an array', '{"jsonrpc":"2.0","id":[],"method":"m"}', PARSE],
  ['id true', '{"jsonrpc":"2.0","id":true,"method":"m"}', PARSE],

  ['an empty object', '{}', invalid('null')],
  ['no method', '{"jsonrpc":"2.0","id":4}', invalid('4')],
  ['no method and no id', '{"jsonrpc":"2.0"}', invalid('null')],
  ['method a number', '{"jsonrpc":"2.0","id":1.50,"method":5}', invalid('1.50')],
  ['method null', '{"jsonrpc":"2.0","id":"a","method":null}', invalid('"a"')],
  ['params a number', '{"jsonrpc":"2.0","id":1,"method":"m","params":5}', invalid('1')],
  ['params a string', '{"jsonrpc":"2.0","id":1,"method":"m","params":"[]"}', invalid('1')],
  ['params false', '{"jsonrpc":"2.0","id":1,"method":"m","params":false}', invalid('1')],
  ['another version', '{"jsonrpc":"1.0","id":1,"method":"m"}', invalid('1')],
  ['version a number', '{"jsonrpc":2.0,"id":1,"method":"m"}', invalid('1')],
  ['no version', '{"id":1,"method":"m"}', [-32600, 'Unsupported JSON-RPC protocol version', '1']],
  [
    'version null',
    '{"jsonrpc":null,"id":1,"method":"m"}',
    [-32600, 'Unsupported JSON-RPC protocol version', '1'],
  ],
  ['an unknown member', '{"jsonrpc":"2.0","id":1,"method":"m","extra":1}', invalid('1')],
  [
    'an unknown member of a notification',
    '{"jsonrpc":"2.0","method":"m","extra":1}',
    invalid('null'),
  ],
  [
    '__proto__ as a member',
    '{"jsonrpc":"2.0","id":1,"method":"m","__proto__":{"id":2}}',
    invalid('1'),
  ],
  [
    '__proto__ in place of members',
    '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"m"}}',
    invalid('null'),
  ],
  [
    '__proto__ inside params',
    '{"jsonrpc":"2.0","id":1,"method":"m","params":[{"__proto__":{"x":1}}]}',
    call('1', [JSON.parse('{"__proto__":{"x":1}}')]),
  ],

  ['an empty batch', ' [ ] ', invalid('null')],
  [
    'a batch',
    '[{"jsonrpc":"2.0","id":1.0,"method":"m"},{"jsonrpc":"2.0","method":"m"},{"id":"[","method":"m"},{}]',
    [
      call('1.0'),
      call(undefined),
      [-32600, 'Unsupported JSON-RPC protocol version', '"["'],
      invalid('null'),
    ],
  ],
  [
    'a batch with nested params',
    '[{"jsonrpc":"2.0","method":"m","params":[{"id":8},[{"id":9}]],"id":1},{"jsonrpc":"2.0","id":2,"method":"m"}]',
    [call('1', [{ id: 8 }, [{ id: 9 }]]), call('2')],
  ],
  ['a batch of a number', '[5]', [invalid('null')]],
  [
    'a batch with a number',
    '[5,{"jsonrpc":"2.0","id":1,"method":"m"},"id"]',
    [invalid('null'), call('1'), invalid('null')],
  ],
  [
    'a batch with a batch',
    '[[{"jsonrpc":"2.0","id":1,"method":"m"}],{"jsonrpc":"2.0","id":2,"method":"m"}]',
    [invalid('null'), call('2')],
  ],
  [
    'a batch with an array that looks like a member',
    '[["id",1],{"jsonrpc":"2.0","id":2,"method":"m"},[]]',
    [invalid('null'), call('2'), invalid('null')],
  ],
  [
    'a batch with an unreadable id',
    '[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":{},"method":"m"}]',
    [call('1'), invalid('null')],
  ],
  ['a batch that is no JSON', '[{"jsonrpc":"2.0","id":1,"method":"m"},5x]', PARSE],
]
for (const [name, body, message] of cases)
  t.test(name, async t => t.strictSame(shown(parse(body)), message))

t.test('invalid UTF-8 is a parse error', async t => {
  for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]]) {
    const body = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":"'),
      Buffer.from(bytes),
      Buffer.from('","method":"m"}'),
    ])
    t.strictSame(shown(parse(body)), PARSE)
  }
})

t.test('a view into a larger buffer is read within its bounds', async t => {
  const bytes = Buffer.from('xx{"jsonrpc":"2.0","id":1,"method":"m"}yy')
  t.strictSame(shown(parse(new Uint8Array(bytes).subarray(2, bytes.length - 2))), call('1'))
})

t.test('the number of calls of a batch is bounded', async t => {
  const batch = (count: number) =>
    `[${Array.from({ length: count }, (_, id) => `{"jsonrpc":"2.0","id":${id},"method":"m","params":[1,2]}`)}]`
  const limits = { ...LIMITS, batchCountMax: 3 }
  t.equal((parse(batch(3), limits) as unknown[]).length, 3)
  t.strictSame(shown(parse(batch(4), limits)), [-32600, 'Batch holds more than 3 calls', 'null'])
})

t.test('nesting is bounded', async t => {
  // The message itself and its params are two of the levels.
  const nested = (depth: number) =>
    `{"jsonrpc":"2.0","id":1,"method":"m","params":${'['.repeat(depth)}${']'.repeat(depth)}}`
  t.equal(isRefusal(parse(nested(126)) as Call), false)
  t.strictSame(shown(parse(nested(127))), PARSE)
  for (const body of [
    '['.repeat(100_000),
    '['.repeat(100_000) + ']'.repeat(100_000),
    '{"a":'.repeat(100_000),
    `{"jsonrpc":"2.0","id":1,"method":"m","params":[${'[{"a":'.repeat(50_000)}`,
  ]) {
    t.strictSame(shown(parse(body)), PARSE)
    t.ok(quickestMs(() => parse(body)) < 5, 'is refused at once')
  }
})

t.test('strings of quotes and backslashes take linear time', async t => {
  const bodyOf = (pairs: number): [body: Buffer, id: string] => {
    const id = JSON.stringify('\\"'.repeat(pairs))
    return [Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"m"}`), id]
  }
  const [short] = bodyOf(20_000)
  const [long, id] = bodyOf(200_000)
  t.strictSame(shown(parse(long)), { id, method: 'm', params: [] })
  const ratio = quickestMs(() => parse(long)) / quickestMs(() => parse(short))
  t.ok(ratio < 40, `ten times the bytes take ${ratio.toFixed(1)} times as long; quadratic is 100`)
})

t.test('formatError writes an error reply', async t => {
  t.equal(
    formatError('1.0', new RpcError('methodNotFound')),
    '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1.0}',
  )
  t.equal(
    formatError('null', new RpcError('pubkeyDecode', { value: '"\n' }, { a: 1 })),
    '{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid param: could not decode pubkey \\"\\n","data":{"a":1}},"id":null}',
  )
})

/** Texts of one JSON value with free spacing, number forms and escapes. */
const spaced = (text: string) =>
  fc.constantFrom('', ' ', '\n', '\t \r').map(space => space + text + space)
const anyNumber = fc.oneof(
  fc.bigInt().map(String),
  fc
    .tuple(fc.integer(), fc.nat(), fc.constantFrom('', 'e5', 'E-7', 'e+400'))
    .map(([a, b, c]) => `${a}.${b}${c}`),
)
const anyString = fc.oneof(
  fc.string({ unit: 'binary' }).map(text => JSON.stringify(text)),
  fc
    .array(fc.nat(0xffff))
    .map(units => `"${units.map(unit => '\\u' + unit.toString(16).padStart(4, '0')).join('')}"`),
)
const anyId = fc.oneof(anyNumber, anyString, fc.constant('null'))

t.test('any id is repeated as it was written', async () => {
  const others = fc.shuffledSubarray(
    ['"method":"m"', '"jsonrpc":"2.0"', '"params":[{"id":0},"id",","]', '"id":0'],
    { minLength: 2 },
  )
  fc.assert(
    fc.property(anyId, anyId.chain(spaced), others, fc.boolean(), (first, id, members, isFirst) => {
      const others = members.filter(member => member !== '"id":0')
      // An earlier `id` must not be the one that counts.
      const repeated = others.length === members.length ? [] : [`"id":${first}`]
      const text = `{${[...repeated, ...(isFirst ? [] : others), `"id":${id}`, ...(isFirst ? others : [])].join(', ')}}`
      const single = parse(text) as Call
      const batch = parse(`[{"jsonrpc":"2.0","method":"n","id":7}, ${text}]`) as Call[]
      assert.equal(single.id, id.trim())
      assert.equal(batch[0]?.id, '7')
      assert.equal(batch[1]?.id, id.trim())
    }),
  )
})

t.test('a message means what JSON.parse reads', async () => {
  const anyMember = fc.tuple(
    fc.constantFrom('jsonrpc', 'id', 'method', 'params', 'i\\u0064', 'x'),
    fc.oneof(fc.json({ maxDepth: 3 }), anyId, fc.constant('"2.0"')),
  )
  fc.assert(
    fc.property(fc.array(anyMember, { maxLength: 7 }), members => {
      const text = `{${members.map(([name, value]) => `"${name}":${value}`)}}`
      const value = JSON.parse(text) as Record<string, unknown>
      const message = parse(text) as Call | Refusal
      if (isRefusal(message) && message.error.name === 'parseError')
        return assert.ok(['object', 'boolean'].includes(typeof value['id']) && value['id'] !== null)
      if (message.id !== undefined && 'id' in value)
        assert.deepEqual(JSON.parse(message.id), value['id'])
      else assert.ok(!('id' in value))
      if (!isRefusal(message)) {
        assert.equal(message.method, value['method'])
        assert.deepEqual(message.params, value['params'] ?? [])
      }
    }),
  )
})

const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 64 }),
  fc
    .array(fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', 'id', '1', ' '))
    .map(parts => Buffer.from(parts.join(''))),
)
t.test('any bytes have a result', async t => {
  fc.assert(fc.property(anyBytes, body => void parse(body)))
  t.pass()
})

const corpus = sharedPath('json/test_parsing')
t.test('JSONTestSuite', { skip: corpus === undefined && SHARED_ABSENT }, async t => {
  const wrong: string[] = []
  const isParseError = (message: Message): boolean =>
    'error' in message && message.error.name === 'parseError'
  for (const file of readdirSync(corpus ?? '')) {
    const bytes = readFileSync(join(corpus ?? '', file))
    const inParams = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":1,"method":"m","params":['),
      bytes,
      Buffer.from(']}'),
    ])
    const isBlank = bytes.toString().trim() === ''
    const whole = isParseError(parse(bytes))
    const inner = isParseError(parse(inParams))
    if (quickestMs(() => parse(bytes)) > 5 || quickestMs(() => parse(inParams)) > 5)
      wrong.push(`${file} takes long`)
    if (file.startsWith('n_') && !(whole && (inner || isBlank))) wrong.push(`${file} is taken`)
    if (file.startsWith('y_') && inner) wrong.push(`${file} is refused`)
  }
  t.strictSame(wrong, [])
})
