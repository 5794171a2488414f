import t from 'tap'
import { JSON_TYPE } from '../../fixtures/submission/lander.js'
import {
  laneOf,
  LANE_KEY,
  lanesOf,
  openRacing,
  OTHER_SIGNATURE,
  RACE,
  WITH_SIGNATURE,
  withText,
} from '../../fixtures/lanes/racing.js'
import { refusedPort, type Script } from '../../fixtures/submission/raw-upstream.js'
import type { HttpAnswer } from '../../fixtures/submission/submission-edge.js'
import { signatureOf } from '../../fixtures/submission/transactions.js'
import { base64, FLOOR, forged, sized, tipping, TIPS } from '../../fixtures/sandbox/tipping.js'
import { ANY_FAILURES, usageIn } from '../../fixtures/usage/usage.js'
import { until } from '../../fixtures/until.js'
import {
  answerHttp2,
  NGHTTP2_REFUSED_STREAM,
  openHttp2Peer,
} from '../../fixtures/upstream/http2-peer.js'

type Failure = {
  readonly error: { readonly code: number; readonly message: string; readonly data?: object }
}
const errorOf = ({ text }: HttpAnswer): Failure['error'] => (JSON.parse(text) as Failure).error

/** Scripts that answer when the test says so. */
const held = () => {
  const waiting: (() => void)[] = []
  const hold =
    (script: Script): Script =>
    (socket, request) =>
      void waiting.push(() => script(socket, request))
  return { hold, release: () => waiting.splice(0).forEach(go => go()), waiting }
}

t.test('a lane over HTTP/2 writes at once, and what its peer refuses is in the record', async t => {
  let streams = 0
  const peer = await openHttp2Peer(t, request => {
    // The ping that keeps the connection warm is no transaction.
    if (request.path === '/ping' || streams++ < 2) return answerHttp2(request, '')
    request.stream.close(NGHTTP2_REFUSED_STREAM)
  })
  const { edge, post, recordOf } = await openRacing(t, [
    { id: 'two', kind: 'octets', httpVersion: '2', url: `${peer.url}/way?fast=1` },
  ])
  const [first = Buffer.of(), second = Buffer.of(), third = Buffer.of()] = [0, 1, 2].map(nth =>
    tipping([FLOOR + BigInt(nth), 0]),
  )
  const replies = await Promise.all([post(first), post(second)])
  t.strictSame(
    replies.map(({ status }) => status),
    [200, 200],
  )
  const [request] = peer.received.filter(({ path }) => path !== '/ping')
  t.match(request, { path: '/way?fast=1', headers: { 'x-api-key': LANE_KEY } })
  t.equal(peer.counts.connections, 1)
  const reply = await post(third)
  t.match(JSON.parse(reply.text), { error: { code: -32_010 } })
  t.match(laneOf((await recordOf(third)).lanes, 'two'), { outcome: 'full' })
  for (const one of [first, second])
    t.match(laneOf((await recordOf(one)).lanes, 'two'), { outcome: 'accepted', status: 200 })
  t.notMatch(edge.lines.join('\n'), LANE_KEY)
})

t.test('each kind writes its bytes with the key of its lane, and the first answers', async t => {
  const { hold, release, waiting } = held()
  const { edge, post, received, recordOf } = await openRacing(t, [
    { id: 'rpc', script: hold(WITH_SIGNATURE) },
    { id: 'octets', kind: 'octets', script: withText('') },
    {
      id: 'text',
      kind: 'text',
      credentialIn: 'query',
      credentialName: 'c',
      script: hold(WITH_SIGNATURE),
    },
  ])
  const one = tipping([FLOOR, 0])
  const reply = await post(one, '?response=json')
  t.equal(reply.status, 200)
  const { result, lanes } = JSON.parse(reply.text) as { result: string; lanes: [] }
  t.equal(result, signatureOf(one))
  t.match(laneOf(lanes, 'octets'), { outcome: 'accepted', status: 200, hasSignature: false })
  t.match(laneOf(lanes, 'rpc'), { outcome: 'pending', answeredAfterMs: null })
  t.equal(lanesOf(reply), 'rpc:pending;octets:accepted;text:pending')
  const [rpc, octets, text] = ['rpc', 'octets', 'text'].map(id => received(id)[0])
  t.equal(rpc?.path, '/way?fast=1')
  t.match(rpc?.head, `x-api-key: ${LANE_KEY}`)
  t.strictSame(JSON.parse(String(rpc?.body)), {
    jsonrpc: '2.0',
    id: 1,
    method: 'sendTransaction',
    params: [base64(one), { encoding: 'base64', skipPreflight: true, maxRetries: 0 }],
  })
  t.strictSame(octets?.body, one)
  t.match(octets?.head, 'content-type: application/octet-stream')
  t.equal(text?.path, `/way?fast=1&c=${LANE_KEY}`)
  t.equal(String(text?.body), base64(one))
  t.match(text?.head, 'content-type: text/plain')
  t.equal(waiting.length, 2, 'both wait still')
  release()
  const record = await recordOf(one)
  t.match(record, { route: RACE, outcome: 'accepted' })
  for (const id of ['rpc', 'octets', 'text']) {
    const lane = laneOf(record.lanes, id)
    t.match(lane, { outcome: 'accepted', hasSignature: id !== 'octets', status: 200 })
    t.ok(Number(lane?.writtenAfterMs) <= Number(lane?.answeredAfterMs), `${id}: in order`)
  }
  t.notMatch(edge.lines.join('\n'), LANE_KEY)
  t.notMatch(JSON.stringify(record), LANE_KEY)
  const page = await edge.metrics()
  t.match(page, 'lane="octets",outcome="accepted"')
  t.notMatch(page, LANE_KEY)
})

t.test('a lane that cannot carry it is left out, with the reason', async t => {
  const [other = '', mine = ''] = TIPS
  const { post, received } = await openRacing(t, [
    { id: 'free', tipAddresses: [], tipFloorLamports: 0 },
    { id: 'tipped', tipAddresses: [other, mine] },
    { id: 'dear', tipFloorLamports: 5_000_000 },
    { id: 'small', tipAddresses: [], tipFloorLamports: 0, transactionBytesMax: 400 },
    { id: 'safe', isProtected: true },
    {
      id: 'down',
      kind: 'quic-tpu',
      preset: 'tpu',
      url: 'quic://127.0.0.1:1',
      credential: undefined,
    } as never,
  ])
  const cases: [name: string, transaction: Buffer, query: string, lanes: string][] = [
    [
      'two halves of a tip',
      tipping([FLOOR / 2n, 0], [FLOOR / 2n, 1]),
      '',
      'free:_;tipped:_;dear:left-out-tip;small:_;safe:left-out-tip;down:left-out-tip',
    ],
    [
      'no tip',
      tipping(),
      '?mev-protect=false',
      'free:_;tipped:left-out-tip;dear:left-out-tip;small:_;safe:left-out-tip;down:left-out-tip',
    ],
    [
      'a long one',
      sized(1_232),
      '',
      'free:_;tipped:_;dear:left-out-tip;small:left-out-size;safe:_;down:left-out-down',
    ],
    [
      'protection is asked for',
      tipping([FLOOR, 0]),
      '?mev-protect=true',
      'free:left-out-protection;tipped:left-out-protection;dear:left-out-protection;small:left-out-protection;safe:_;down:left-out-protection',
    ],
  ]
  for (const [name, transaction, query, lanes] of cases) {
    const reply = await post(transaction, query)
    t.match(reply, { status: 200, text: signatureOf(transaction) }, name)
    t.equal(lanesOf(reply).replaceAll(/(?<=:)(?:pending|accepted)/g, '_'), lanes, name)
  }
  const none = await post(tipping(), '?mev-protect=true')
  t.equal(none.status, 400)
  t.match(errorOf(none), { code: -32_602, message: 'no lane can carry the transaction' })
  t.equal(laneOf((errorOf(none).data as { lanes: [] }).lanes, 'safe')?.['leftOut' as never], 'tip')
  t.equal(received('dear').length, 0)
  t.equal(received('safe').length, 2)
})

t.test('a lane that is down, slow, throttled, broken or lies does not answer the race', async t => {
  const { hold, release } = held()
  const { edge, post, recordOf, received } = await openRacing(t, [
    { id: 'down', port: await refusedPort() },
    { id: 'slow', script: () => {}, answerMs: 300 },
    { id: 'throttled', script: withText('', '429 Too Many') },
    { id: 'odd', kind: 'octets', script: withText('slow down', '419 Odd') },
    { id: 'broken', script: s => void s.destroy() },
    { id: 'lies', kind: 'octets', script: withText(OTHER_SIGNATURE) },
    { id: 'lies-in-json', script: withText(`{"result":["${OTHER_SIGNATURE}"]}`) },
    { id: 'failed', kind: 'octets', script: withText('ok', '500 Odd') },
    { id: 'refuses', kind: 'text', script: withText('{"error":"tip required"}') },
    { id: 'echoes', kind: 'text', script: withText(`no ${LANE_KEY}`, '400 Bad') },
    { id: 'good', kind: 'octets', script: hold(withText('ok')) },
  ])
  const one = tipping([FLOOR, 0])
  const replying = post(one)
  await until('the good one has it', () => received('good').length === 1)
  let isAnswered = false
  void replying.then(() => (isAnswered = true))
  await until('all others have it', () => received('echoes').length === 1)
  t.equal(isAnswered, false)
  release()
  t.match(await replying, { status: 200, text: signatureOf(one) })
  const { lanes } = await recordOf(one)
  const outcomes = Object.fromEntries((lanes ?? []).map(({ lane, outcome }) => [lane, outcome]))
  t.strictSame(outcomes, {
    down: 'unreachable',
    slow: 'unknown',
    throttled: 'full',
    odd: 'full',
    broken: 'unknown',
    lies: 'unknown',
    'lies-in-json': 'unknown',
    failed: 'unknown',
    refuses: 'refused',
    echoes: 'refused',
    good: 'accepted',
  })
  t.equal(laneOf(lanes, 'down')?.writtenAfterMs, null)
  t.match(laneOf(lanes, 'echoes'), { status: 400, words: 'no [redacted]' })
  for (const id of ['slow', 'throttled', 'broken', 'lies', 'good'])
    t.equal(received(id).length, 1, `${id} was written to once`)
  t.notMatch(edge.lines.join('\n'), LANE_KEY)
})

t.test('without an acceptance the reply says what to do', async t => {
  const refused = withText('{"error":{"code":-32602,"message":"tip required"}}', '400 Bad')
  const port = await refusedPort()
  const cases: [
    lanes: Parameters<typeof openRacing>[1],
    status: number,
    code: number,
    text: string,
  ][] = [
    [
      [
        { id: 'a', script: refused },
        { id: 'b', script: withText('', '429 No') },
      ],
      400,
      -32_603,
      'every lane that answered refused the transaction',
    ],
    [
      [
        { id: 'a', port },
        { id: 'b', script: withText('', '503 No') },
      ],
      429,
      -32_010,
      'Lane capacity exhausted',
    ],
    [[{ id: 'a', port }], 502, -32_603, 'upstream unreachable'],
    [
      [
        { id: 'a', script: refused },
        { id: 'b', script: s => void s.destroy() },
      ],
      504,
      -32_603,
      'submission outcome unknown',
    ],
  ]
  for (const [lanes, status, code, message] of cases) {
    const { post, edge, received } = await openRacing(t, lanes)
    const one = tipping([FLOOR, 0])
    const reply = await post(one, '?response=none')
    t.equal(reply.status, status, message)
    t.match(errorOf(reply), {
      code,
      message,
      data: { lanes: lanes.map(({ id }) => ({ lane: id })) },
    })
    if (status === 429) t.equal(reply.headers['retry-after'], '1')
    const count = received('b').length
    const again = await post(one, '?response=none')
    t.equal(again.status, status, 'again')
    const isTaken = status === 400 || status === 504
    t.equal(received('b').length, isTaken ? count : 2 * count, `${status}: sent again or not`)
    const usage = usageIn(`${edge.dataDir}/access`, Date.now)
    const { failures } = await usage.failures(edge.accessId, { ...ANY_FAILURES, limit: 20 }, [])
    t.equal(failures.length, isTaken ? 1 : 2)
    t.match(failures[0], { method: RACE })
  }
})

t.test('the same one twice is one race, also after /send and at another sender', async t => {
  const { hold, release, waiting } = held()
  const { edge, post, received } = await openRacing(t, [
    { id: 'a', script: hold(WITH_SIGNATURE) },
    { id: 'b', script: hold(withText('', '429 No')) },
  ])
  const one = tipping([FLOOR, 0])
  const first = post(one)
  await until('both lanes have it', () => waiting.length === 2)
  const second = post(base64(one), '', { 'content-type': 'text/plain' })
  await until('both are in', () => edge.server.stats().requestsInFlight === 2)
  const replaced = edge.replaceSender()
  const send = edge.post(`/${edge.token}/send`, one, { 'content-type': 'application/octet-stream' })
  await until('all are in', () => edge.server.stats().requestsInFlight === 3)
  release()
  for (const reply of await Promise.all([first, second, send]))
    t.match(reply, { status: 200, text: signatureOf(one) })
  await replaced
  t.match(await post(one), { status: 200, text: signatureOf(one) }, 'the successor remembers')
  t.match(lanesOf(await post(one)), /^a:accepted;b:/)
  await edge.restartSender()
  t.match(await post(one), { status: 200, text: signatureOf(one) }, 'by what is stored')
  for (const id of ['a', 'b']) t.equal(received(id).length, 1, `${id} was written to once`)
})

t.test('bad input and wrong parameters reach no lane', async t => {
  const { edge, post, received } = await openRacing(t, [{ id: 'a' }])
  const good = tipping([FLOOR, 0])
  const cases: [
    body: string | Buffer,
    query: string,
    headers: object,
    status: number,
    text: RegExp,
  ][] = [
    ['', '', {}, 400, /transaction 0 is malformed: no bytes/],
    [forged(good), '', {}, 400, /transaction 0 signature verification failure/],
    [Buffer.concat([good, good.subarray(0, 1)]), '', {}, 400, /1 byte behind/],
    [Buffer.alloc(65_536, 1), '', {}, 400, /transaction 0 exceeds 1232 bytes/],
    [good, '?mev-protect=yes', {}, 400, /mev-protect must be false or true/],
    [good, '?mev-protect=true&mev-protect=true', {}, 400, /mev-protect must be/],
    [good, '?response=all', {}, 400, /response must be signature or json or none/],
    [good, '', JSON_TYPE, 415, /is required/],
    ['1'.repeat(65_537), '', { 'content-type': 'text/plain' }, 413, /exceeds/],
    ['A'.repeat(8 * 1024 ** 2), '', { 'content-type': 'text/plain' }, 413, /exceeds/],
  ]
  for (const [body, query, headers, status, text] of cases) {
    const reply = await post(body, query, {
      'content-type': 'application/octet-stream',
      ...headers,
    })
    t.equal(reply.status, status, String(text))
    t.match(reply.text, text)
  }
  t.equal((await edge.post(RACE, good, JSON_TYPE)).status, 401)
  const bare = await edge.post(`/${edge.bare}${RACE}`, good, JSON_TYPE)
  t.match(bare, { status: 404, text: /This network has no lanes/ })
  t.equal(received('a').length, 0)
  t.equal((await post(good)).status, 200)
})

t.test('a lane takes no more than its rate', async t => {
  const { edge, post, received } = await openRacing(t, [
    { id: 'rated', requestsPerSecondMax: 4 },
    { id: 'other', tipAddresses: [], tipFloorLamports: 0, kind: 'octets', script: withText('') },
  ])
  for (let nth = 0; nth < 12; nth++) t.equal((await post(tipping([FLOOR, 0]))).status, 200)
  const count = received('rated').length
  t.ok(count >= 4 && count < 12, `${count} of 12`)
  t.equal(received('other').length, 12)
  t.match(await edge.metrics(), 'lane="rated",outcome="left-out-rate"')
})

t.test('all lanes are written to within a millisecond', async t => {
  const ids = ['a', 'b', 'c', 'd', 'e']
  const { post, recordOf } = await openRacing(
    t,
    ids.map(id => ({ id, kind: 'octets', script: withText('') })),
  )
  const spreads: number[] = []
  for (let nth = 0; nth < 20; nth++) {
    const one = tipping([FLOOR, 0])
    t.equal((await post(one)).status, 200)
    const times = (await recordOf(one)).lanes?.map(({ writtenAfterMs }) => writtenAfterMs ?? NaN)
    spreads.push(Math.max(...(times ?? [])) - Math.min(...(times ?? [])))
  }
  spreads.sort((one, other) => one - other)
  const [median = NaN, most = NaN] = [spreads[10], spreads.at(-1)]
  t.comment(`between the first and the last: ${median} ms, at most ${most} ms`)
  t.ok(median <= 1, `${median} ms`)
})
