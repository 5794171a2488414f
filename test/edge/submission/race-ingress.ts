// Races of transactions that come as binary messages, as calls of a WebSocket, and over QUIC.
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { openSocket, SocketRefusal, type SocketClient } from '../../fixtures/server/socket.js'
import { answersOf } from '../../fixtures/submission/frames.js'
import { listenOverQuic } from '../../fixtures/lanes/quic-clients.js'
import { lanesOf, openRacing, RACE, withText } from '../../fixtures/lanes/racing.js'
import { refusedPort } from '../../fixtures/submission/raw-upstream.js'
import { signatureOf } from '../../fixtures/submission/transactions.js'
import { base64, FLOOR, forged, sized, tipping } from '../../fixtures/sandbox/tipping.js'
import { ANY_FAILURES, usageIn } from '../../fixtures/usage/usage.js'

const BYTES = { opcode: 2 }
const RACED = { transactionRoute: 'race' }
const LANES = [
  { id: 'open', kind: 'octets', script: withText('') },
  { id: 'safe', kind: 'octets', script: withText(''), isProtected: true },
] as const

const open = async (
  t: Test,
  lanes: Parameters<typeof openRacing>[1] = LANES,
  options: Parameters<typeof openRacing>[2] = RACED,
) => {
  const opened = await openRacing(t, lanes, options)
  const { edge } = opened
  const connect = async (query = '', token = edge.token): Promise<SocketClient> => {
    const client = await openSocket(edge.port, { path: `/${token}${query}` })
    t.teardown(() => client.destroy())
    return client
  }
  return { ...opened, connect, quic: listenOverQuic(t, edge) }
}

const fresh = (): Buffer => tipping([FLOOR, 0])

t.test('transactions without a request go to every lane, where a network says so', async t => {
  const { connect, edge, quic, received, recordOf } = await open(t)
  const [client, stream] = [await connect(), quic.connect(edge.token)]
  await stream.untilUp()
  const [framed, streamed] = [fresh(), fresh()]
  client.send(framed, BYTES)
  t.strictSame(await answersOf(client, 1), [`0 ${signatureOf(framed)}`])
  t.equal(await stream.ask(streamed), `200 ${signatureOf(streamed)}`)
  for (const one of [framed, streamed]) {
    t.match(await recordOf(one), {
      ...{ route: RACE, outcome: 'accepted' },
      lanes: LANES.map(({ id }) => ({ lane: id, outcome: 'accepted' })),
    })
    for (const { id } of LANES)
      t.equal(received(id).filter(({ body }) => one.equals(body)).length, 1)
  }
  client.send(framed, BYTES)
  client.send(streamed, BYTES)
  t.equal((await answersOf(client, 3))[2], `0 ${signatureOf(streamed)}`)
  t.equal(await stream.ask(framed), `200 ${signatureOf(framed)}`)
  for (const { id } of LANES) t.equal(received(id).length, 2, 'repeats are not sent')
  t.match(await edge.metrics(), /submissions_total{.*route="\/race",outcome="forwarded"} 2/)
  const usage = usageIn(`${edge.dataDir}/access`, Date.now)
  client.send(forged(fresh()), BYTES)
  await answersOf(client, 4)
  t.match((await usage.failures(edge.accessId, { ...ANY_FAILURES, limit: 20 }, [])).failures, [
    { method: RACE },
  ])
})

t.test('where a network says nothing, they go to the lander', async t => {
  const { connect, edge, quic, received } = await open(t, LANES, {})
  const [client, stream] = [await connect(), quic.connect(edge.token)]
  await stream.untilUp()
  client.send(fresh(), BYTES)
  t.strictSame(await answersOf(client, 1), ['3 -32603'], 'the lander of the test is away')
  t.match(await stream.ask(fresh()), '502 ')
  t.equal(received('open').length, 0)
  const safe = quic.connect(edge.token, { isProtected: true })
  t.match(await safe.ended(), 'protection_unavailable')
  const refused = await connect('?mev-protect=true').catch((error: unknown) => error)
  t.ok(refused instanceof SocketRefusal)
  t.match(refused, { status: 400, body: /mev-protect must be false, as nothing is raced/ })
  t.type(await connect('?mev-protect=false'), 'object')
})

t.test('who asks for protection is raced by lanes that protect only', async t => {
  const { connect, edge, quic, received } = await open(t)
  const [client, stream] = [
    await connect('?mev-protect=true'),
    quic.connect(edge.token, { isProtected: true }),
  ]
  await stream.untilUp()
  const [framed, streamed, called] = [fresh(), fresh(), fresh()]
  client.send(framed, BYTES)
  t.strictSame(await answersOf(client, 1), [`0 ${signatureOf(framed)}`])
  t.equal(await stream.ask(streamed), `200 ${signatureOf(streamed)}`)
  await client.next()
  t.match(await client.call('race.sendTransaction', [base64(called)]), {
    result: signatureOf(called),
    headers: { 'x-race-lanes': 'open:left-out-protection;safe:accepted' },
  })
  t.equal(received('safe').length, 3)
  t.equal(received('open').length, 0)
  for (const query of ['?mev-protect=yes', '?mev-protect', '?mev-protect=true&mev-protect=true']) {
    const refused = await connect(query).catch((error: unknown) => error)
    t.match(refused, { status: 400, body: /mev-protect must be false or true/ }, query)
  }
})

t.test('each answer has the class of what the client can do', async t => {
  const port = await refusedPort()
  const silent = { answerMs: 200, script: () => {} }
  const cases: [lane: object, frame: string, answer: RegExp][] = [
    [{ script: withText('no', '400 Bad') }, '1 -32603', /^400 every lane that answered refused/],
    [{ script: withText('', '429 No') }, '2 -32010', /^429 rate limit exceeded: Lane capacity/],
    [{ port }, '3 -32603', /^502 upstream unreachable$/],
    [silent, '4 -32603', /^504 submission outcome unknown$/],
    [{ tipFloorLamports: 5_000_000 }, '1 -32602', /^400 tip required: no lane can carry/],
    [{ transactionBytesMax: 100 }, '1 -32602', /^400 no lane can carry the transaction$/],
  ]
  for (const [lane, frame, words] of cases) {
    const { connect, edge, quic } = await open(t, [{ id: 'a', kind: 'octets', ...lane }])
    const [client, stream] = [await connect(), quic.connect(edge.token)]
    await stream.untilUp()
    client.send(fresh(), BYTES)
    t.strictSame(await answersOf(client, 1), [frame], String(words))
    t.match(await stream.ask(fresh()), words)
  }
})

t.test('what cannot land reaches no lane, however often it comes', async t => {
  const { connect, edge, quic, received } = await open(t)
  const [client, stream] = [await connect(), quic.connect(edge.token)]
  await stream.untilUp()
  const good = fresh()
  const wrong = [
    Buffer.alloc(0),
    good.subarray(0, 100),
    forged(good),
    Buffer.concat([good, good]),
    sized(1_233),
    Buffer.of(0x81, 255),
    Buffer.alloc(64 * 1024, 1),
  ]
  for (const one of wrong) client.send(one, BYTES)
  t.strictSame(
    await answersOf(client, wrong.length),
    wrong.map(() => '1 -32602'),
  )
  for (const one of wrong.slice(0, 4))
    t.match(await stream.ask(one), /^400 invalid transaction payload: /)
  for (let round = 0; round < 4; round++) {
    const flood = Array.from({ length: 50 }, () => stream.ask(forged(fresh())))
    for (const answer of await Promise.all(flood)) t.match(answer, '400 invalid transaction')
  }
  for (const { id } of LANES) t.equal(received(id).length, 0)
  await edge.limit({ requestsPerSecondMax: 1, requestsBurstMax: 1 })
  t.match(await stream.ask(good), '429 rate limit exceeded: requestsPerSecondMax')
  client.send(good, BYTES)
  t.match((await answersOf(client, wrong.length + 1)).at(-1), /^2 /)
  const wire = await connect()
  await edge.revoke()
  t.match(await wire.closed, { code: 1008 })
  t.match(await stream.ended(), 'invalid_auth')
})

t.test('a call races, too', async t => {
  const { connect, edge, received, post } = await open(t, LANES, {})
  const client = await connect()
  const race = (...params: readonly unknown[]): Promise<unknown> =>
    client.call('race.sendTransaction', params)
  const [one, other, safe] = [fresh(), fresh(), fresh()]
  const options = { encoding: 'base64', skipPreflight: true, maxRetries: 0 }
  const reply = await race(base64(one), options)
  t.match(reply, { jsonrpc: '2.0', result: signatureOf(one), headers: {} })
  t.notMatch(reply, { status: 200 })
  t.match(lanesOf(await post(one)), /^open:/)
  t.match(await race(bs58.encode(other), { encoding: 'base58' }), { result: signatureOf(other) })
  t.match(await race(base64(safe), { mevProtect: true }), {
    result: signatureOf(safe),
    headers: { 'x-race-lanes': 'open:left-out-protection;safe:accepted' },
  })
  t.equal(received('open').length, 2)
  t.equal(received('safe').length, 3)
  const cases: [params: readonly unknown[], error: object, status?: number][] = [
    [[], { code: -32_602, message: 'Missing param at index 0' }],
    [[7], { code: -32_602 }],
    [[base64(one), {}, 1], { code: -32_602 }],
    [[base64(one), 'base64'], { code: -32_602 }],
    [[base64(one), { encoding: 'hex' }], { code: -32_602 }],
    [[base64(one), { encoding: [] }], { code: -32_602 }],
    [[base64(one), { mevProtect: 'true' }], { code: -32_602, message: /boolean for mevProtect/ }],
    [[`${base64(one)}=`], { code: -32_602 }, 400],
    [['x'.repeat(10_000)], { code: -32_602 }, 400],
    [[base64(forged(one))], { code: -32_602, message: /signature verification/ }, 400],
    [[base64(tipping())], { code: -32_602, data: { lanes: [{ leftOut: 'tip' }, {}] } }, 400],
  ]
  for (const [params, error, status] of cases)
    t.match(await race(...params), { error, status }, JSON.stringify(params).slice(0, 60))
  const call = (id?: number): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'race.sendTransaction',
      params: [base64(fresh())],
    })
  client.send(`[${call(1)}]`)
  t.match(JSON.parse(await client.next()), [{ id: 1, error: { code: -32_600 } }])
  client.send(call())
  client.send(call(9))
  t.match(JSON.parse(await client.next()), { id: 9, result: String })
  t.equal(received('open').length, 3, 'a notification sends nothing')
  const bare = await connect('', edge.bare)
  t.match(await bare.call('race.sendTransaction', [base64(one)]), { error: { code: -32_601 } })
  t.match(await client.call('race.sendBundle', []), { error: { code: -32_601 } })
})
