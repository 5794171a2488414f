import fc from 'fast-check'
import t from 'tap'
import {
  BATCH,
  BUNDLE,
  bundle,
  call,
  failure,
  findingsOf,
  GOOD,
  OK,
  openTestLander,
  SINGLE,
  single,
} from '../../fixtures/submission/lander.js'
import { anyEdits, edit } from '../../fixtures/submission/text-edits.js'
import { base64, frame, sized } from '../../fixtures/sandbox/tipping.js'

const INVALID = failure(-32600, 'Invalid request')
const INVALID_NULL = failure(-32600, 'Invalid request', null)
const PARSE = failure(-32700, 'Parse error', null)
const NOT_FOUND = failure(-32601, 'Method not found')
const notBase64 = (index: number): string =>
  failure(-32602, `transaction ${index} is not canonical padded base64`)
const tooLarge = (index: number): string =>
  failure(-32602, `transaction ${index} exceeds 4096 bytes`)

t.test('calls that are answered here, and their neighbours that are not', async t => {
  const { raw, post, edge } = await openTestLander(t)
  const text = base64(GOOD)
  // 400 bytes end in two pads: the last digit has four bits to spare.
  const padded = base64(sized(400))
  const spare = padded.replace(/.==$/, 'B==')
  const times = (count: number): Buffer[] => Array<Buffer>(count).fill(GOOD)
  const raw4096 = Buffer.alloc(4096, 1)
  const raw4097 = Buffer.alloc(4097, 1)
  const cases: [name: string, route: string, body: string | Buffer, reply: string | undefined][] = [
    ['one transaction', SINGLE, single(GOOD), undefined],
    ['no JSON', SINGLE, '{', PARSE],
    ['an empty body', SINGLE, '', PARSE],
    ['a number', SINGLE, '1', PARSE],
    ['bytes that are no text', SINGLE, Buffer.from('{"a":"\xff"}', 'latin1'), PARSE],
    ['a byte order mark', SINGLE, `\ufeff${single(GOOD)}`, PARSE],
    ['an array', SINGLE, `[${single(GOOD)}]`, INVALID_NULL],
    ['an array behind a blank', SINGLE, ` [${single(GOOD)}]`, INVALID_NULL],
    ['an array of many', SINGLE, `[${Array(200).fill('{"id":1}').join()}]`, INVALID_NULL],
    ['an empty array', SINGLE, '[]', INVALID_NULL],
    ['an array of numbers', SINGLE, '[1,2]', INVALID_NULL],
    ['an array that does not end', SINGLE, '[', PARSE],
    [
      'no id',
      SINGLE,
      `{"jsonrpc":"2.0","method":"sendTransaction","params":["${text}"]}`,
      INVALID_NULL,
    ],
    ['an id that is an object', SINGLE, call('sendTransaction', [text], {}), PARSE],
    ['no method', SINGLE, `{"jsonrpc":"2.0","id":1,"params":["${text}"]}`, INVALID],
    ['another version', SINGLE, single(GOOD).replace('2.0', '1.0'), INVALID],
    [
      'no version',
      SINGLE,
      `{"id":1,"method":"sendTransaction","params":["${text}"]}`,
      failure(-32600, 'Unsupported JSON-RPC protocol version'),
    ],
    ['a member too many', SINGLE, single(GOOD).replace('{', '{"a":1,'), INVALID],
    ['a method twice', SINGLE, single(GOOD).replace('{', '{"method":"getBalance",'), INVALID],
    ['params twice', SINGLE, single(GOOD).replace('{', '{"params":[],'), INVALID],
    ['an id twice', SINGLE, single(GOOD).replace('{', '{"\\u0069d":2,'), INVALID],
    [
      'an encoding twice',
      SINGLE,
      single(GOOD, { encoding: 'base64' }).replace('{"enc', '{"encoding":"base58","enc'),
      INVALID,
    ],
    [
      'an encoding twice, once escaped',
      BUNDLE,
      bundle([GOOD], { encoding: 'base64' }).replace('{"enc', '{"\\u0065ncoding":"base58","enc'),
      INVALID,
    ],
    [
      'a member twice deep in the options',
      BUNDLE,
      bundle([GOOD], { a: [{ b: 1 }] }).replace('{"b"', '{"\\u0062":0,"b"'),
      INVALID,
    ],
    ['another method', SINGLE, call('getBalance', [text]), NOT_FOUND],
    ['the method of the other route', SINGLE, bundle([GOOD]), NOT_FOUND],
    ['the method of the other route', BUNDLE, single(GOOD), NOT_FOUND],
    ['the method in other letters', SINGLE, call('SendTransaction', [text]), NOT_FOUND],
    [
      'no params',
      SINGLE,
      '{"jsonrpc":"2.0","id":1,"method":"sendTransaction"}',
      failure(-32602, 'Missing param at index 0'),
    ],
    [
      'params that are null',
      SINGLE,
      call('sendTransaction', null),
      failure(-32602, 'Missing param at index 0'),
    ],
    [
      'empty params',
      SINGLE,
      call('sendTransaction', []),
      failure(-32602, 'Missing param at index 0'),
    ],
    [
      'params by name',
      SINGLE,
      call('sendTransaction', { a: 1 }),
      failure(-32602, '`params` should be an array'),
    ],
    [
      'two transactions',
      SINGLE,
      single(GOOD, text),
      failure(
        -32602,
        `Invalid param at index 1: invalid type: string "${text.slice(0, 128)}…", expected a map`,
      ),
    ],
    [
      'a third parameter',
      SINGLE,
      single(GOOD, {}, {}),
      failure(-32602, 'Invalid parameters: Expected from 1 to 2 parameters.', 1, '"Got: 3"'),
    ],
    [
      'a list on the route for one',
      SINGLE,
      call('sendTransaction', [[text]]),
      failure(-32602, 'Invalid param at index 0: invalid type: sequence, expected a string'),
    ],
    [
      'a number',
      SINGLE,
      call('sendTransaction', [7]),
      failure(-32602, 'Invalid param at index 0: invalid type: integer `7`, expected a string'),
    ],
    [
      'another encoding',
      SINGLE,
      single(GOOD, { encoding: 'base58' }),
      failure(-32602, 'unsupported encoding: base58'),
    ],
    [
      'an encoding that is a number',
      SINGLE,
      single(GOOD, { encoding: 64 }),
      failure(-32602, 'unsupported encoding: 64'),
    ],
    ['an encoding that is null', SINGLE, single(GOOD, { encoding: null }), undefined],
    ['pads', SINGLE, single(padded), undefined],
    ['bits to spare', SINGLE, single(spare), notBase64(0)],
    ['no pads', SINGLE, single(padded.slice(0, -2)), notBase64(0)],
    ['one pad too few', SINGLE, single(padded.slice(0, -1)), notBase64(0)],
    ['a pad too many', SINGLE, single(`${padded}=`), notBase64(0)],
    ['three pads', SINGLE, single(`${padded.slice(0, -3)}===`), notBase64(0)],
    ['a pad inside', SINGLE, single(`AA==${padded}`), notBase64(0)],
    ['the alphabet of URLs', SINGLE, single(`${'-_'.repeat(2)}${text}`), notBase64(0)],
    ['a blank', SINGLE, single(` ${text.slice(1)}`), notBase64(0)],
    ['a line break behind', SINGLE, single(`${text}\n`), notBase64(0)],
    ['a letter beyond ASCII', SINGLE, single(`${text.slice(0, -4)}Āaaa`), notBase64(0)],
    ['4,096 bytes', SINGLE, single(raw4096), undefined],
    ['4,097 bytes', SINGLE, single(raw4097), tooLarge(0)],
    ['a megabyte that is no base64', SINGLE, single('-'.repeat(40_000)), tooLarge(0)],

    ['one', BUNDLE, bundle(times(1)), undefined],
    ['four', BUNDLE, bundle(times(4)), undefined],
    ['five', BUNDLE, bundle(times(5)), failure(-32602, 'sendBundle transaction count exceeds 4')],
    ['none', BUNDLE, bundle([]), failure(-32602, 'sendBundle holds no transaction')],
    [
      'a text on the route for many',
      BUNDLE,
      call('sendBundle', [text]),
      failure(
        -32602,
        `Invalid param at index 0: invalid type: string "${text.slice(0, 128)}…", expected a sequence`,
      ),
    ],
    [
      'a number among them',
      BUNDLE,
      call('sendBundle', [[text, 7]]),
      failure(-32602, 'Invalid param at index 0: invalid type: integer `7`, expected a string'),
    ],
    [
      'a broken one among them',
      BUNDLE,
      call('sendBundle', [[text, text, `${text}=`]]),
      notBase64(2),
    ],
    ['four of 4,096 bytes', BUNDLE, bundle(Array<Buffer>(4).fill(raw4096)), undefined],
    ['a byte more in the last', BUNDLE, bundle([raw4096, raw4096, raw4096, raw4097]), tooLarge(3)],
    [
      'another encoding',
      BUNDLE,
      bundle(times(1), { encoding: 'base58' }),
      failure(-32602, 'unsupported encoding: base58'),
    ],
    [
      'options that are a text',
      BUNDLE,
      bundle(times(1), 'base64'),
      failure(-32602, 'Invalid param at index 1: invalid type: string "base64", expected a map'),
    ],
    ['no params', BUNDLE, call('sendBundle', []), failure(-32602, 'Missing param at index 0')],
  ]
  for (const [name, route, body, reply] of cases) {
    raw.received.length = 0
    const got = await post(route, body)
    t.equal(got.status, 200, `${route}: ${name}`)
    t.equal(got.text, reply ?? OK)
    t.equal(raw.received.length, reply === undefined ? 1 : 0, 'forwarded or not')
    if (reply !== undefined) t.equal(findingsOf(got), '')
  }
  const over = await post(SINGLE, ' '.repeat(64 * 1024 + 1))
  t.match(over, { status: 413, text: '{"error":{"message":"Body exceeds 65536 bytes"}}' })
  t.match(await post(SINGLE, single(GOOD) + ' '.repeat(60_000)), { status: 200 })
  const page = await edge.metrics()
  const series = 'slotline_submissions_total{process="edge 0",network="main",route'
  t.match(page, `${series}="/lander",outcome="transactionBase64"} 10`)
  t.match(page, `${series}="/lander-submit-bundle",outcome="bundleTooLong"} 1`)
})

t.test('batches that are answered here, and their neighbours that are not', async t => {
  const { raw, post, edge } = await openTestLander(t)
  const record = (byteCount: number): Buffer => Buffer.alloc(byteCount, 1)
  const sixteen = Array<Buffer>(16).fill(record(66))
  const largest = frame(...Array<Buffer>(16).fill(record(1232)))
  t.equal(largest.length, 19_744)
  type Case = [name: string, body: Buffer, count: number, problem: string | undefined]
  const cases: Case[] = [
    ['one of the least size', frame(record(66)), 1, undefined],
    ['one below it', frame(record(65)), 0, 'record 0 at offset 0: length 65 is below 66'],
    ['one of the largest size', frame(record(1232)), 1, undefined],
    ['one above it', frame(record(1233)), 0, 'record 0 at offset 0: length 1233 is above 1232'],
    [
      'a wrong one behind a good one',
      frame(record(66), record(65)),
      1,
      'record 1 at offset 68: length 65 is below 66',
    ],
    ['nothing', Buffer.alloc(0), 0, 'record 0 at offset 0: the body is empty'],
    ['a length of zero', Buffer.of(0, 0), 0, 'record 0 at offset 0: length 0 is below 66'],
    ['half a length', Buffer.of(0), 0, 'record 0 at offset 0: truncated length'],
    [
      'half a length behind a record',
      Buffer.concat([frame(record(66)), Buffer.of(0)]),
      1,
      'record 1 at offset 68: truncated length',
    ],
    [
      'a byte too few',
      frame(record(66)).subarray(0, -1),
      0,
      'record 0 at offset 0: truncated record: 65 of 66 bytes',
    ],
    [
      'no byte of a record',
      Buffer.of(0, 66),
      0,
      'record 0 at offset 0: truncated record: 0 of 66 bytes',
    ],
    [
      'the other byte order',
      Buffer.concat([Buffer.of(66, 0), record(66)]),
      0,
      'record 0 at offset 0: length 16896 is above 1232',
    ],
    ['sixteen', frame(...sixteen), 16, undefined],
    [
      'seventeen',
      frame(...sixteen, record(66)),
      16,
      'record 16 at offset 1088: a batch holds at most 16 records',
    ],
    [
      'a byte behind sixteen',
      Buffer.concat([frame(...sixteen), Buffer.of(1)]),
      16,
      'record 16 at offset 1088: 1 trailing byte',
    ],
    ['sixteen of the largest', largest, 16, undefined],
    [
      'seventeen of the largest',
      frame(...Array<Buffer>(17).fill(record(1232))),
      16,
      'record 16 at offset 19744: a batch holds at most 16 records',
    ],
  ]
  for (const [name, body, count, problem] of cases) {
    raw.received.length = 0
    const got = await post(BATCH, body)
    if (problem === undefined) {
      t.match(got, { status: 200, text: OK }, name)
      t.strictSame(raw.received[0]?.body, body)
      continue
    }
    t.equal(got.status, 400, name)
    t.equal(got.headers['content-type'], 'application/json')
    t.equal(
      got.text,
      JSON.stringify({ attempted: count, accepted: 0, rejected: count, parse_error: problem }),
    )
    t.equal(raw.received.length, 0, 'nothing is forwarded')
  }
  const page = await edge.metrics()
  const faulty = cases.filter(([, , , problem]) => problem !== undefined).length
  t.match(page, `route="/lander-submit-batch",outcome="framing"} ${faulty}\n`)
  t.match(page, `route="/lander-submit-batch",outcome="forwarded"} ${cases.length - faulty}\n`)
})

t.test('the answer keeps the id as it came', async t => {
  const { post } = await openTestLander(t, s => s.destroy())
  for (const id of ['"c9bf9e57-1685"', '18446744073709551616', '1.50', 'null', '"ä\\n\\u0000"'])
    t.match(await post(SINGLE, single(GOOD).replace('"id":1', `"id":${id}`)), {
      status: 504,
      text: `{"jsonrpc":"2.0","error":{"code":-32603,"message":"submission outcome unknown"},"id":${id}}`,
    })
})

/** Records of a batch (contract: lander-batch-framing). */
const isBatch = (body: Buffer): boolean => {
  let count = 0
  let at = 0
  while (at < body.length) {
    if (at + 2 > body.length) return false
    const length = body.readUInt16BE(at)
    at += 2 + length
    if (length < 66 || length > 1232 || at > body.length || ++count > 16) return false
  }
  return count > 0
}

t.test('a changed batch is forwarded only if it is still valid', async t => {
  const { raw, post } = await openTestLander(t)
  const record = fc
    .oneof({ weight: 8, arbitrary: fc.integer({ min: 66, max: 1232 }) }, fc.constantFrom(65, 1233))
    .map(length => Buffer.alloc(length, length))
  const batch = fc
    .tuple(
      fc.array(record, { maxLength: 17 }).map(records => frame(...records)),
      fc.nat(70),
      fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(3)),
      fc.option(fc.tuple(fc.nat(300), fc.nat(255))),
    )
    .map(([whole, cut, more, flip]) => {
      const body = Buffer.concat([
        whole.subarray(0, whole.length - (cut < 60 ? 0 : cut)),
        Buffer.alloc(more),
      ])
      const [at = 0, value = 0] = flip ?? []
      if (flip !== null && at < body.length) body.writeUInt8(value, at)
      return body
    })
  await fc.assert(
    fc.asyncProperty(batch, async body => {
      raw.received.length = 0
      const reply = await post(BATCH, body)
      const isForwarded = raw.received.length === 1 && raw.received[0]?.body.equals(body)
      return isBatch(body)
        ? reply.status === 200 && isForwarded
        : reply.status === 400 && raw.received.length === 0
    }),
    { numRuns: 400 },
  )
})

t.test('a changed call is forwarded only if it is still valid', async t => {
  const { raw, post } = await openTestLander(t)
  const whole = single(GOOD, { encoding: 'base64' })
  const changed = anyEdits.map(edits => edits.reduce(edit, whole))
  await fc.assert(
    fc.asyncProperty(changed, async text => {
      raw.received.length = 0
      const reply = await post(SINGLE, text)
      if (raw.received.length === 0) return reply.status === 200 && reply.text.includes('"error"')
      const { id, method, params, ...rest } = JSON.parse(text)
      const [transaction, options] = params
      // The options may hold any field, an `id` too.
      const envelope = text.slice(0, text.indexOf('[')) + text.slice(text.lastIndexOf(']'))
      return (
        raw.received.length === 1 &&
        raw.received[0]?.body.toString() === text &&
        id !== undefined &&
        method === 'sendTransaction' &&
        Object.keys(rest).join() === 'jsonrpc' &&
        envelope.split('"id"').length === 2 &&
        params.length <= 2 &&
        Buffer.from(transaction, 'base64').toString('base64') === transaction &&
        (options?.encoding ?? 'base64') === 'base64'
      )
    }),
    { numRuns: 400 },
  )
})
