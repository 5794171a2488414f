import t from 'tap'
import { answer } from '../../fixtures/submission/raw-upstream.js'
import { post, sendBundle, toBundle } from '../../fixtures/submission/relay.js'
import {
  ACCEPTED,
  FULL,
  ID,
  failed,
  idOf,
  json,
  openEngine,
  page,
  signaturesOf,
} from '../../fixtures/submission/relay-engine.js'

const [SIGNATURE] = signaturesOf(toBundle('/relay-bundle'))

t.test('each answer of the engine to a bundle, and the reply to the client', async t => {
  const refused = (code: number, message: string, data?: unknown) => ({
    code,
    message,
    ...(data === undefined ? {} : { data }),
  })
  const unknown = 'submission outcome unknown'
  const long = 'x'.repeat(3_000)
  const cases: [name: string, answered: Buffer, expected: unknown, outcome: string][] = [
    ['accepted', json('200 OK', JSON.parse(ACCEPTED)), { result: ID }, 'accepted'],
    [
      'accepted, its members in another order',
      answer(`{"id":1,"result":"${ID}","jsonrpc":"2.0"}`),
      { result: ID },
      'accepted',
    ],
    [
      'accepted, with an error that is null',
      json('200 OK', { ...JSON.parse(ACCEPTED), error: null }),
      { result: ID },
      'accepted',
    ],
    [
      'another id',
      json('200 OK', { jsonrpc: '2.0', result: 'f'.repeat(64), id: 1 }),
      { unknown },
      'unknown',
    ],
    [
      'its id in capitals',
      json('200 OK', { jsonrpc: '2.0', result: ID.toUpperCase(), id: 1 }),
      { unknown },
      'unknown',
    ],
    [
      'a signature',
      json('200 OK', { jsonrpc: '2.0', result: SIGNATURE, id: 1 }),
      { unknown },
      'unknown',
    ],
    [
      'a result true',
      json('200 OK', { jsonrpc: '2.0', result: true, id: 1 }),
      { unknown },
      'unknown',
    ],

    [
      'an expired blockhash',
      json('400 Bad Request', failed(-32_602, 'bundle contains an expired blockhash', 1)),
      { error: refused(-32_602, 'bundle contains an expired blockhash') },
      'refused',
    ],
    [
      'the same with status 200',
      json('200 OK', failed(-32_602, 'bundle contains an expired blockhash', 1)),
      { error: refused(-32_602, 'bundle contains an expired blockhash') },
      'refused',
    ],
    [
      'already processed',
      json('400 Bad Request', failed(-32_602, 'bundle contains an already processed transaction')),
      { error: refused(-32_602, 'bundle contains an already processed transaction') },
      'refused',
    ],
    [
      'too many locks',
      json('500 Internal Server Error', failed(-32_603, 'transaction has too many account locks')),
      { error: refused(-32_603, 'transaction has too many account locks') },
      'refused',
    ],
    [
      'an error with data',
      json('400 Bad Request', { error: { code: -1, message: 'm', data: { a: [1] } } }),
      { error: refused(-1, 'm', { a: [1] }) },
      'refused',
    ],
    [
      'an error with much data',
      json('400 Bad Request', { error: { code: -1, message: 'm', data: long } }),
      { error: refused(-1, 'm') },
      'refused',
    ],
    [
      'a long message',
      json('400 Bad Request', { error: { code: -1, message: long } }),
      { error: refused(-1, `${'x'.repeat(1_024)}…`) },
      'refused',
    ],
    [
      'a page with 401',
      page('401 Unauthorized'),
      { error: refused(-32_603, 'bundle engine refused the request with HTTP status 401') },
      'refused',
    ],
    [
      'a page with 404',
      page('404 Not Found'),
      { error: refused(-32_603, 'bundle engine refused the request with HTTP status 404') },
      'refused',
    ],
    [
      'a redirect',
      answer('', { status: '302 Found', lines: ['Location: http://127.0.0.1:1/'] }),
      { error: refused(-32_603, 'bundle engine refused the request with HTTP status 302') },
      'refused',
    ],
    [
      'no JSON-RPC with 400',
      json('400 Bad Request', { message: 'no' }),
      { error: refused(-32_603, 'bundle engine refused the request with HTTP status 400') },
      'refused',
    ],

    [
      '429 as the real one',
      json(
        '429 Too Many Requests',
        failed(-32_097, 'Network congested. Endpoint is globally rate limited.'),
      ),
      { error: FULL },
      'full',
    ],
    ['429, a page', page('429 Too Many Requests'), { error: FULL }, 'full'],
    [
      '429, empty',
      answer('', { status: '429 Too Many Requests', lines: [] }),
      { error: FULL },
      'full',
    ],
    ['503, a page', page('503 Service Unavailable'), { error: FULL }, 'full'],
    [
      '503, another error',
      json('503 Service Unavailable', failed(-1, 'no', 1)),
      { error: FULL },
      'full',
    ],
    [
      '-32097 with 200',
      json(
        '200 OK',
        failed(-32_097, 'Rate limit exceeded. Limit: 1 per second for txn requests', 1),
      ),
      { error: FULL },
      'full',
    ],
    [
      '-32097 with 400',
      json('400 Bad Request', failed(-32_097, 'Rate limit exceeded')),
      { error: FULL },
      'full',
    ],

    ['a page with 200', page('200 OK'), { unknown }, 'unknown'],
    ['a page with 500', page('500 Internal Server Error'), { unknown }, 'unknown'],
    ['a page with 504', page('504 Gateway Timeout'), { unknown }, 'unknown'],
    ['408', page('408 Request Timeout'), { unknown }, 'unknown'],
    [
      'a result with 500',
      json('500 Internal Server Error', JSON.parse(ACCEPTED)),
      { unknown },
      'unknown',
    ],
    ['a result with 408', json('408 Timeout', JSON.parse(ACCEPTED)), { unknown }, 'unknown'],
    ['nothing with 200', answer('', { lines: [] }), { unknown }, 'unknown'],
    ['null', json('200 OK', null), { unknown }, 'unknown'],
    ['a list', json('200 OK', [{ result: ID }]), { unknown }, 'unknown'],
    ['no result', json('200 OK', { jsonrpc: '2.0', id: 1 }), { unknown }, 'unknown'],
    [
      'result null',
      json('200 OK', { jsonrpc: '2.0', result: null, id: 1 }),
      { unknown },
      'unknown',
    ],
    [
      'a result that is no id',
      json('200 OK', { jsonrpc: '2.0', result: [ID], id: 1 }),
      { unknown },
      'unknown',
    ],
    [
      'a result too long',
      json('200 OK', { jsonrpc: '2.0', result: long, id: 1 }),
      { unknown },
      'unknown',
    ],
    [
      'an error of another type',
      json('200 OK', { jsonrpc: '2.0', error: 'no', id: 1 }),
      { unknown },
      'unknown',
    ],
    ['a truncated answer', answer(ACCEPTED.slice(0, -9)), { unknown }, 'unknown'],
    ['bytes that are not UTF-8', answer(Buffer.alloc(9, 0xff)), { unknown }, 'unknown'],
  ]
  let current: Buffer = Buffer.alloc(0)
  const startMs = performance.now()
  const { engine, edge, send, recorded } = await openEngine(t, socket => socket.write(current))
  for (const [name, answered, expected, outcome] of cases) {
    current = answered
    engine.received.length = 0
    const { status, headers, json } = await send()
    const { error, result } = json
    t.equal(status, 200, name)
    t.equal(json.id, 'mine', name)
    const id = headers['x-relay-submission-id']
    if (outcome === 'unknown')
      t.strictSame(error, { code: -32_603, message: unknown, data: { submissionId: id } }, name)
    else t.strictSame(error === undefined ? { result } : { error }, expected, name)
    t.equal(headers['retry-after'], outcome === 'full' ? '1' : undefined, name)
    t.equal(headers['x-bundle-id'], ID, name)
    t.equal(headers['set-cookie'], undefined, name)
    t.equal(engine.received.length, 1, `${name}: sent once`)
    const submission = await recorded(id)
    t.equal(submission['outcome'], outcome, name)
    t.type(submission['forwardedAtMs'], 'number')
    t.type(submission['answeredAtMs'], 'number')
  }
  t.equal(edge.meterEvents.filter(word => word === 'mismatch').length, 5, 'other ids are reported')
  const lines = edge.lines.filter(line => line.includes('named another bundle'))
  const seconds = Math.ceil((performance.now() - startMs) / 1_000)
  t.ok(lines.length >= 1 && lines.length <= seconds, 'one line in a second')
  t.match(lines[0], '"suppressedCount":0')
})

t.test('/relay accepts the signatures that were sent and no other result', async t => {
  const bundle = toBundle('/relay')
  const signatures = signaturesOf(bundle)
  const results: [result: unknown, isAccepted: boolean][] = [
    [signatures, true],
    [[...signatures].reverse(), false],
    [signatures.slice(1), false],
    [[...signatures, signatures[0]], false],
    [idOf(bundle), false],
    ['bundle', false],
    [signatures.join(), false],
    [{ ...signatures }, false],
    [[], false],
    [true, false],
  ]
  let result: unknown
  const { edge, recorded } = await openEngine(t, socket =>
    socket.write(json('200 OK', { jsonrpc: '2.0', result, id: 1 })),
  )
  for (const [given, isAccepted] of results) {
    result = given
    edge.meterEvents.length = 0
    const { json, headers } = await post(edge.port, '/relay', sendBundle('/relay', bundle))
    const submissionId = headers['x-relay-submission-id']
    const data = { submissionId }
    const error = { code: -32_603, message: 'submission outcome unknown', data }
    const name = JSON.stringify(given)
    t.strictSame(json, { jsonrpc: '2.0', ...(isAccepted ? { result } : { error }), id: 1 }, name)
    t.equal(edge.meterEvents.includes('mismatch'), !isAccepted, name)
    const { outcome } = await recorded(submissionId)
    t.equal(outcome, isAccepted ? 'accepted' : 'unknown', name)
  }
})

t.test('the credential is redacted from answers of the engine', async t => {
  const { send, recorded } = await openEngine(
    t,
    socket =>
      socket.write(
        json('400 Bad Request', {
          error: { code: -1, message: 'bad bundle canary', data: 'canary' },
        }),
      ),
    { credential: 'canary' },
  )
  const { text, headers } = await send()
  t.match(text, 'bad bundle [redacted]')
  t.notMatch(text, 'canary')
  t.notMatch(JSON.stringify(await recorded(headers['x-relay-submission-id'])), 'canary')
})
