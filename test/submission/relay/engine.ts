import t from 'tap'
import {
  answer,
  blackholePort,
  openRawUpstream,
  refusedPort,
  type Script,
} from '../../fixtures/submission/raw-upstream.js'
import { openMachine, post, sendBundle, toBundle } from '../../fixtures/submission/relay.js'
import { until } from '../../fixtures/until.js'
import {
  ACCEPTED,
  BODY,
  FULL,
  ID,
  STATUS_BODY,
  failed,
  json,
  openEngine,
  page,
} from '../../fixtures/submission/relay-engine.js'

t.test(
  'a connection that ends before or during the answer: unknown, and not sent again',
  async t => {
    const ways: [name: string, script: Script][] = [
      ['reset at once', socket => socket.resetAndDestroy()],
      ['closed at once', socket => socket.end()],
      [
        'reset during the head',
        socket => socket.write('HTTP/1.1 200 OK\r\nContent-', () => socket.resetAndDestroy()),
      ],
      [
        'reset during the body',
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
      ['no answer', () => {}],
      [
        'one byte at a time',
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
      t.equal(other.received.length, 0, `${name}: to no other engine`)
      // A URL that failed is not used again for `restMs`.
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  },
)

t.test('without a connection the next URL is tried, and without any nothing is sent', async t => {
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

t.test('over the rate the reply is that of a full engine, without a request to it', async t => {
  const { engine, send, recorded } = await openEngine(
    t,
    socket => socket.write(json('200 OK', JSON.parse(ACCEPTED))),
    { relay: { requestsPerSecondMax: 1, requestsBurstMax: 1 } },
  )
  t.equal((await send()).json.result, ID)
  const { status, headers, json: refused } = await send()
  t.equal(status, 200)
  t.strictSame(refused, { jsonrpc: '2.0', error: FULL, id: 'mine' })
  t.equal(headers['retry-after'], '1')
  t.equal(headers['x-bundle-id'], ID)
  t.equal(engine.received.length, 1)
  t.match(await recorded(headers['x-relay-submission-id']), {
    outcome: 'full',
    forwardedAtMs: null,
  })
  const wrong = await send(sendBundle('/relay-bundle', []))
  t.equal(wrong.json.error?.code, -32_602, 'invalid params are reported first')
})

t.test(
  'a bundle above the store’s bound of submissions in flight is answered the same',
  async t => {
    const waiting: (() => void)[] = []
    const { engine, send } = await openEngine(
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

t.test('requests over the bound of one engine are answered the same', async t => {
  const waiting: (() => void)[] = []
  const { engine, send, recorded } = await openEngine(
    t,
    socket => void waiting.push(() => socket.write(json('200 OK', JSON.parse(ACCEPTED)))),
    { upstream: { inFlightMax: 1 } },
  )
  const first = send()
  await until('it is in flight', () => engine.received.length === 1)
  const other = sendBundle('/relay-bundle', toBundle('/relay-bundle', 'b'), 'other')
  const { status, headers, json: refused } = await send(other)
  t.equal(status, 200)
  t.strictSame(refused, { jsonrpc: '2.0', error: FULL, id: 'other' })
  t.equal(headers['retry-after'], '1')
  const submission = await recorded(headers['x-relay-submission-id'])
  t.match(submission, { outcome: 'full', forwardedAtMs: null, engine: null, checks: 'passed' })
  const query = await send(STATUS_BODY)
  const error = { code: -32_005, message: 'Too many requests' }
  t.strictSame(query.json, { jsonrpc: '2.0', error, id: 'q' }, 'a status query is never -32010')
  waiting.forEach(go => go())
  t.equal((await first).json.result, ID)
  t.equal(engine.received.length, 1, 'the others were not sent')
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
  const { engine, edge, send } = await openEngine(t, socket => socket.write(said), {
    relay: { statusSharedMs: 0 },
  })
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
  const { send } = await openEngine(t, () => {}, { upstream: { answerMs: 100 } })
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
