import { createHash } from 'node:crypto'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import {
  answer,
  blackholePort,
  openRawUpstream,
  refusedPort,
  type Script,
} from '../../fixtures/submission/raw-upstream.js'
import {
  openMachine,
  post,
  sendBundle,
  toBundle,
  type MachineOptions,
} from '../../fixtures/submission/relay.js'
import { until } from '../../fixtures/until.js'

const BUNDLE = toBundle('/relay-bundle')
const SIGNATURES = BUNDLE.map(text => bs58.encode(Buffer.from(text, 'base64').subarray(1, 65)))
const ID = createHash('sha256').update(SIGNATURES.join(',')).digest('hex')
const BODY = sendBundle('/relay-bundle', BUNDLE, 'mine')
const ACCEPTED = JSON.stringify({ jsonrpc: '2.0', result: ID, id: 1 })
const STATUS_BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 'q',
  method: 'getBundleStatuses',
  params: [[ID]],
})

const FULL = { code: -32_010, message: 'Bundle-engine capacity exhausted' }

const json = (status: string, value: unknown): Buffer => answer(JSON.stringify(value), { status })
const page = (status: string): Buffer =>
  answer('<html><body>nginx</body></html>', {
    status,
    lines: ['Content-Type: text/html', 'Set-Cookie: a=b', 'Server: engine'],
  })
const failed = (code: number, message: string, id: unknown = null): object => ({
  jsonrpc: '2.0',
  error: { code, message, data: null },
  id,
})

const open = async (t: Test, script: Script, options: Partial<MachineOptions> = {}) => {
  const engine = await openRawUpstream(t, script)
  const { edges } = await openMachine(t, { urls: [engine.url], ...options })
  const [edge] = edges
  const send = (body = BODY) => post(edge.port, '/relay-bundle', body)
  const recorded = async (id: unknown) => {
    const params = [id]
    const { json } = await send(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getSubmission', params }),
    )
    return json.result as Record<string, unknown>
  }
  return { engine, edge, send, recorded }
}

t.test('what the engine answers to a bundle, and what the client hears', async t => {
  const refused = (code: number, message: string, data?: unknown) => ({
    code,
    message,
    ...(data === undefined ? {} : { data }),
  })
  const unknown = 'submission outcome unknown'
  const long = 'x'.repeat(3_000)
  const cases: [name: string, said: Buffer, heard: unknown, outcome: string][] = [
    ['accepted', json('200 OK', JSON.parse(ACCEPTED)), { result: ID }, 'accepted'],
    [
      'accepted, its members turned round',
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
      { result: 'f'.repeat(64) },
      'accepted',
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
      'another place',
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
      'an error that is none',
      json('200 OK', { jsonrpc: '2.0', error: 'no', id: 1 }),
      { unknown },
      'unknown',
    ],
    ['half of it', answer(ACCEPTED.slice(0, -9)), { unknown }, 'unknown'],
    ['bytes of no text', answer(Buffer.alloc(9, 0xff)), { unknown }, 'unknown'],
  ]
  let said: Buffer = Buffer.alloc(0)
  // One second, however long the cases take.
  const clock = () => 0
  const { engine, edge, send, recorded } = await open(t, socket => socket.write(said), { clock })
  for (const [name, now, heard, outcome] of cases) {
    said = now
    engine.received.length = 0
    const { status, headers, json } = await send()
    const { error, result } = json
    t.equal(status, 200, name)
    t.equal(json.id, 'mine', name)
    const id = headers['x-relay-submission-id']
    if (outcome === 'unknown')
      t.strictSame(error, { code: -32_603, message: unknown, data: { submissionId: id } }, name)
    else t.strictSame(error === undefined ? { result } : { error }, heard, name)
    t.equal(headers['retry-after'], outcome === 'full' ? '1' : undefined, name)
    t.equal(headers['x-bundle-id'], ID, name)
    t.equal(headers['set-cookie'], undefined, name)
    t.equal(engine.received.length, 1, `${name}: sent once`)
    const submission = await recorded(id)
    t.equal(submission['outcome'], outcome, name)
    t.type(submission['forwardedAtMs'], 'number')
    t.type(submission['answeredAtMs'], 'number')
  }
  t.equal(edge.meterEvents.filter(word => word === 'mismatch').length, 2, 'other ids are reported')
  const lines = edge.lines.filter(line => line.includes('named another bundle'))
  t.equal(lines.length, 1, 'one line in a second')
  t.match(lines[0], '"suppressedCount":0')
})

t.test('/relay answers the signatures that were sent, whatever the engine calls them', async t => {
  const bundle = toBundle('/relay')
  const signatures = bundle.map(text => bs58.encode(Buffer.from(text, 'base64').subarray(1, 65)))
  const results: [result: unknown, isMismatch: boolean][] = [
    [signatures, false],
    [[...signatures].reverse(), true],
    [signatures.slice(1), true],
    ['bundle', true],
    [[], true],
  ]
  let result: unknown
  const { edge } = await open(t, socket =>
    socket.write(json('200 OK', { jsonrpc: '2.0', result, id: 1 })),
  )
  for (const [given, isMismatch] of results) {
    result = given
    edge.meterEvents.length = 0
    const { json } = await post(edge.port, '/relay', sendBundle('/relay', bundle))
    t.strictSame(json, { jsonrpc: '2.0', result: signatures, id: 1 })
    t.equal(edge.meterEvents.includes('mismatch'), isMismatch, JSON.stringify(given))
  }
})

t.test(
  'a connection that ends before or amid the answer: unknown, and never sent again',
  async t => {
    const ways: [name: string, script: Script][] = [
      ['reset at once', socket => socket.resetAndDestroy()],
      ['closed at once', socket => socket.end()],
      [
        'reset amid the head',
        socket => socket.write('HTTP/1.1 200 OK\r\nContent-', () => socket.resetAndDestroy()),
      ],
      [
        'reset amid the body',
        socket =>
          socket.write(json('200 OK', JSON.parse(ACCEPTED)).subarray(0, -5), () =>
            socket.resetAndDestroy(),
          ),
      ],
      ['no HTTP', socket => socket.end('SSH-2.0-OpenSSH\r\n')],
      ['too long an answer', socket => socket.write(answer('x'.repeat(10_000_000)))],
      [
        'too long an answer, in chunks',
        socket => {
          socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
          for (let n = 0; n < 10; n++) socket.write(`100000\r\n${'x'.repeat(1_048_576)}\r\n`)
        },
      ],
      ['silence', () => {}],
      [
        'drops',
        socket => {
          const bytes = [...json('200 OK', JSON.parse(ACCEPTED))]
          const timer = setInterval(() => {
            const byte = bytes.shift()
            if (byte === undefined || socket.destroyed) clearInterval(timer)
            else socket.write(Uint8Array.of(byte))
          }, 20)
        },
      ],
    ]
    let script: Script = () => {}
    const other = await openRawUpstream(t, socket =>
      socket.write(json('200 OK', JSON.parse(ACCEPTED))),
    )
    const engine = await openRawUpstream(t, (socket, received) => script(socket, received))
    const { edges } = await openMachine(t, {
      urls: [engine.url, other.url],
      upstream: { answerMs: 300, restMs: 1 },
    })
    const [edge] = edges
    for (const [name, now] of ways) {
      script = now
      engine.received.length = 0
      const { status, headers, json } = await post(edge.port, '/relay-bundle', BODY)
      const submissionId = headers['x-relay-submission-id']
      t.equal(status, 200, name)
      t.strictSame(
        json,
        {
          jsonrpc: '2.0',
          error: { code: -32_603, message: 'submission outcome unknown', data: { submissionId } },
          id: 'mine',
        },
        name,
      )
      t.equal(engine.received.length, 1, `${name}: sent once`)
      t.equal(other.received.length, 0, `${name}: and nowhere else`)
      // The one that failed rests a little, and would not be asked next.
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  },
)

t.test('where nothing can be sent, the next URL may be tried, or nothing was sent', async t => {
  const engine = await openRawUpstream(t, socket =>
    socket.write(json('200 OK', JSON.parse(ACCEPTED))),
  )
  const dead = `http://127.0.0.1:${await refusedPort()}`
  const lost = `http://127.0.0.1:${await blackholePort(t)}`
  const upstream = { connectMs: 100 }
  const { edges } = await openMachine(t, { urls: [dead, lost, engine.url], upstream })
  const answered = await post(edges[0].port, '/relay-bundle', BODY)
  t.equal(answered.json.result, ID)
  t.equal(engine.received.length, 1)

  const alone = await openMachine(t, { urls: [dead, lost], upstream })
  const { headers, json: refused } = await post(alone.edges[0].port, '/relay-bundle', BODY)
  t.strictSame(refused.error, { code: -32_603, message: 'upstream unreachable' })
  const params = [headers['x-relay-submission-id']]
  const get = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getSubmission', params })
  const { json: found } = await post(alone.edges[0].port, '/relay-bundle', get)
  t.match(found.result, { outcome: 'unreachable', forwardedAtMs: null, checks: 'passed' })
})

t.test('an own bucket that is empty answers as the engine would, without asking it', async t => {
  const { engine, send, recorded } = await open(
    t,
    socket => socket.write(json('200 OK', JSON.parse(ACCEPTED))),
    { relay: { requestsPerSecondMax: 1, requestsBurstMax: 2 } },
  )
  t.equal((await send()).json.result, ID)
  const query = await send(STATUS_BODY)
  t.strictSame(query.json, { jsonrpc: '2.0', error: FULL, id: 'q' }, 'the last one is for a bundle')
  t.equal(query.headers['retry-after'], '1')
  t.equal((await send()).json.result, ID)
  const { status, headers, json: refused } = await send()
  t.equal(status, 200)
  t.strictSame(refused, { jsonrpc: '2.0', error: FULL, id: 'mine' })
  t.equal(headers['retry-after'], '1')
  t.equal(headers['x-bundle-id'], ID)
  t.equal(engine.received.length, 2)
  t.match(await recorded(headers['x-relay-submission-id']), {
    outcome: 'full',
    forwardedAtMs: null,
  })
  const wrong = await send(sendBundle('/relay-bundle', []))
  t.equal(wrong.json.error?.code, -32_602, 'what is wrong is reported first')
})

t.test(
  'a bundle above the store’s bound of submissions in flight is answered the same',
  async t => {
    const waiting: (() => void)[] = []
    const { engine, send } = await open(
      t,
      socket => void waiting.push(() => socket.write(json('200 OK', JSON.parse(ACCEPTED)))),
      { store: { inFlightMax: 1 } },
    )
    const first = send()
    await until('it is in flight', () => engine.received.length === 1)
    const { json: second, headers } = await send(
      sendBundle('/relay-bundle', toBundle('/relay-bundle', 'b')),
    )
    t.strictSame(second.error, FULL)
    t.equal(headers['retry-after'], '1')
    waiting.forEach(go => go())
    t.equal((await first).json.result, ID)
    t.equal(engine.received.length, 1)
  },
)

t.test('more under way than the engine is asked at once are answered the same', async t => {
  const waiting: (() => void)[] = []
  const { engine, send, recorded } = await open(
    t,
    socket => void waiting.push(() => socket.write(json('200 OK', JSON.parse(ACCEPTED)))),
    { upstream: { inFlightMax: 1 } },
  )
  const first = send()
  await until('it is in flight', () => engine.received.length === 1)
  const other = sendBundle('/relay-bundle', toBundle('/relay-bundle', 'b'), 'other')
  for (const [body, id] of [
    [other, 'other'],
    [STATUS_BODY, 'q'],
  ] as const) {
    const { status, headers, json } = await send(body)
    t.equal(status, 200)
    t.strictSame(json, { jsonrpc: '2.0', error: FULL, id })
    t.equal(headers['retry-after'], '1')
    if (id !== 'other') continue
    const submission = await recorded(headers['x-relay-submission-id'])
    t.match(submission, { outcome: 'full', forwardedAtMs: null, engine: null, checks: 'passed' })
  }
  waiting.forEach(go => go())
  t.equal((await first).json.result, ID)
  t.equal(engine.received.length, 1, 'nothing of it was sent')
})

t.test('status queries: the engine’s status, type and body, under the client’s id', async t => {
  const cases: [name: string, said: Buffer, status: number, type: string | undefined][] = [
    [
      'a result',
      answer('{"jsonrpc":"2.0","result":{"context":{"slot":1}, "value":[]},"id":"q"}\n'),
      200,
      'application/json',
    ],
    [
      '429',
      json('429 Too Many Requests', failed(-32_097, 'Rate limit exceeded')),
      429,
      'application/json',
    ],
    ['429, a page', page('429 Too Many Requests'), 429, 'text/html'],
    ['503', page('503 Service Unavailable'), 503, 'text/html'],
    ['400', json('400 Bad Request', failed(-32_602, 'no')), 400, 'application/json'],
    ['garbage', answer(Buffer.alloc(100, 0xfe)), 200, 'application/json'],
    ['no type', answer('x', { lines: [] }), 200, undefined],
  ]
  let said: Buffer = Buffer.alloc(0)
  const { engine, edge, send } = await open(t, socket => socket.write(said))
  for (const method of ['getBundleStatuses', 'getInflightBundleStatuses'])
    for (const [name, now, status, type] of cases) {
      said = now
      engine.received.length = 0
      const ids = [ID, ID.toUpperCase().replace('A', 'B'), '0'.repeat(64)]
      const answered = await send(
        JSON.stringify({ jsonrpc: '2.0', id: 'q', method, params: [ids] }),
      )
      t.equal(answered.status, status, name)
      t.equal(answered.headers['content-type'], type, name)
      t.equal(answered.text, now.subarray(now.indexOf('\r\n\r\n') + 4).toString(), name)
      t.equal(answered.headers['set-cookie'], undefined, name)
      t.not(answered.headers['server'], 'engine', name)
      t.match(answered.headers['x-relay-submission-id'], /^[0-9a-f-]{36}$/, name)
      t.strictSame(
        engine.received.map(({ body }) => body.toString()),
        [`{"jsonrpc":"2.0","id":"q","method":"${method}","params":${JSON.stringify([ids])}}`],
        name,
      )
    }
  t.strictSame(edge.lines, [])
})

t.test('status queries that get no answer', async t => {
  const { send } = await open(t, () => {}, { upstream: { answerMs: 100 } })
  const silent = await send(STATUS_BODY)
  t.equal(silent.status, 200)
  t.strictSame(silent.json, {
    jsonrpc: '2.0',
    error: { code: -32_603, message: 'bundle engine did not answer' },
    id: 'q',
  })
  const dead = await openMachine(t, { urls: [`http://127.0.0.1:${await refusedPort()}`] })
  const unreachable = await post(dead.edges[0].port, '/relay-bundle', STATUS_BODY)
  t.strictSame(unreachable.json.error, { code: -32_603, message: 'upstream unreachable' })
})

t.test('our credential does not come back in what the engine says', async t => {
  const { send, recorded } = await open(
    t,
    socket =>
      socket.write(
        json('401 Unauthorized', {
          error: { code: -1, message: 'bad key canary', data: 'canary' },
        }),
      ),
    { credential: 'canary' },
  )
  const { text, headers } = await send()
  t.match(text, 'bad key [redacted]')
  t.notMatch(text, 'canary')
  t.notMatch(JSON.stringify(await recorded(headers['x-relay-submission-id'])), 'canary')
})
