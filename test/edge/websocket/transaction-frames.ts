import t, { type Test } from 'tap'
import { openSocket, type SocketClient } from '../../fixtures/server/socket.js'
import { answersOf } from '../../fixtures/submission/frames.js'
import { failure, openTestLander } from '../../fixtures/submission/lander.js'
import { answer, type Script } from '../../fixtures/submission/raw-upstream.js'
import { ACCEPT, signatureOf, version1 } from '../../fixtures/submission/transactions.js'
import { base64, FLOOR, sized, tipping } from '../../fixtures/sandbox/tipping.js'

import { until } from '../../fixtures/until.js'

const BYTES = { opcode: 2 }

const open = async (
  t: Test,
  script: Script = ACCEPT,
  options: Parameters<typeof openTestLander>[2] = {},
) => {
  const opened = await openTestLander(t, script, options)
  const connect = async (token = opened.token): Promise<SocketClient> => {
    const client = await openSocket(opened.edge.port, { path: `/${token}` })
    t.teardown(() => client.destroy())
    return client
  }
  return { ...opened, connect }
}

t.test('a frame is one transaction, answered by its signature or a code, in order', async t => {
  const { raw, connect } = await open(t)
  const client = await connect()
  const [one, other] = [tipping([FLOOR, 0]), version1(4_096)]
  const cases: [frame: Uint8Array, answer: string][] = [
    [one, `0 ${signatureOf(one)}`],
    [Buffer.alloc(0), '1 -32602'],
    [other, `0 ${signatureOf(other)}`],
    [one, `0 ${signatureOf(one)}`],
    [one.subarray(0, 100), '1 -32602'],
    [Buffer.of(0x81, 255), '1 -32602'],
    [sized(1_233), '1 -32602'],
    [version1(4_097), '1 -32602'],
    [Buffer.alloc(64 * 1024, 1), '1 -32602'],
    [Buffer.alloc(1024 ** 2, 0x81), '1 -32602'],
  ]
  for (const [frame] of cases) client.send(frame, BYTES)
  t.strictSame(
    await answersOf(client, cases.length),
    cases.map(([, text]) => text),
  )
  t.equal(raw.received.length, 2, 'the repeat was sent once')
  client.send(Buffer.alloc(1024 ** 2 + 1, 1), BYTES)
  t.match(await client.closed, { code: 1009 })
})

t.test('JSON-RPC goes on beside them, as text and as bytes', async t => {
  const { raw, connect } = await open(t)
  const client = await connect()
  const one = tipping([FLOOR, 0])
  const call = (method: string, id: number, params: unknown[] = []): string =>
    JSON.stringify({ jsonrpc: '2.0', id, method, params })
  client.send(one, BYTES)
  await answersOf(client, 1)
  for (const options of [undefined, BYTES]) {
    client.send(call('noSuchMethod', 7), options)
    client.send(`[${call('noSuchMethod', 8)}]`, options)
  }
  client.send(call('sendTransaction', 1, [base64(one)]))
  await until('all are answered', () => client.messages.length === 6)
  const texts = client.messages.slice(1).map(text => JSON.parse(text) as object)
  t.match(texts.slice(0, 4), [{ id: 7 }, [{ id: 8 }], { id: 7 }, [{ id: 8 }]])
  t.match(texts[4], { id: 1, result: signatureOf(one) })
  t.equal(client.binaries.length, 1)
  t.equal(raw.received.length, 2, '`sendTransaction` is a submission of its own')
})

t.test('each answer has the class of what the client can do', async t => {
  let now: Buffer = Buffer.alloc(0)
  const { edge, raw, connect } = await open(t, s => s.write(now), { upstream: { answerMs: 200 } })
  const cases: [said: Buffer, text: string][] = [
    [answer(failure(-32_002, 'blocked')), '1 -32002'],
    [answer('{"jsonrpc":"2.0","id":1,"error":{"code":1e20,"message":"x"}}'), '1 400'],
    [answer('tip required', { status: '400 Bad' }), '1 -32603'],
    [answer('', { status: '401 No' }), '1 -32603'],
    [answer('', { status: '429 Too Many' }), '2 -32010'],
    [Buffer.from('HTTP/1.1 200'), '4 -32603'],
  ]
  const client = await connect()
  for (const [index, [said, text]] of cases.entries()) {
    now = said
    client.send(tipping([FLOOR, 0]), BYTES)
    t.equal((await answersOf(client, index + 1)).at(-1), text)
  }
  await raw.close()
  client.send(tipping([FLOOR, 0]), BYTES)
  t.equal((await answersOf(client, cases.length + 1)).at(-1), '3 -32603')
  const bare = await connect(edge.bare)
  bare.send(tipping([FLOOR, 0]), BYTES)
  t.match(JSON.parse(await bare.next()), { error: { code: -32_700 } }, 'a network without a lander')
})

t.test('answers wait for earlier ones, and a flood of them ends its own socket alone', async t => {
  const held: (() => void)[] = []
  const script: Script = (s, request) => void held.push(() => ACCEPT(s, request))
  const { connect, raw } = await open(t, script, { socketOptions: { socketCallsMax: 2 } })
  const client = await connect()
  const [first, second] = [tipping([FLOOR, 0]), tipping([FLOOR, 0])]
  for (const frame of [first, second, tipping([FLOOR, 0])]) client.send(frame, BYTES)
  await until('two are at the lander', () => raw.received.length === 2)
  held[1]?.()
  for (let nth = 0; nth < 5; nth++) await new Promise(resolve => setImmediate(resolve))
  t.equal(client.binaries.length, 0, 'the second waits for the first')
  held[0]?.()
  t.strictSame(await answersOf(client, 3), [
    `0 ${signatureOf(first)}`,
    `0 ${signatureOf(second)}`,
    '3 -32603',
  ])
  const flooding = await connect()
  for (let nth = 0; nth < 1_000; nth++) flooding.send(tipping([FLOOR, 0]), BYTES)
  t.match(await flooding.closed, { code: 1013, reason: 'over a limit' })
  t.notOk(client.socket.destroyed)
  t.equal(raw.received.length, 4, 'two of a socket at a time')
  for (const go of held.splice(0)) go()
})

t.test('half a frame is no transaction, and pieces are one', async t => {
  const { raw, connect } = await open(t)
  const [client, leaving] = [await connect(), await connect()]
  const one = tipping([FLOOR, 0])
  leaving.send(one.subarray(0, 150), { ...BYTES, isLast: false })
  client.send(one.subarray(0, 150), { ...BYTES, isLast: false })
  client.send('', { opcode: 9 })
  leaving.destroy()
  client.send(one.subarray(150), { opcode: 0 })
  t.strictSame(await answersOf(client, 1), [`0 ${signatureOf(one)}`])
  t.equal(raw.received.length, 1)
})

t.test('a revocation closes the socket, with what waits and what comes', async t => {
  const held: (() => void)[] = []
  const script: Script = (s, request) => void held.push(() => ACCEPT(s, request))
  const { edge, connect, raw } = await open(t, script)
  const [client, stranger] = [await connect(), await connect(edge.other)]
  client.send(tipping([FLOOR, 0]), BYTES)
  stranger.send(tipping([FLOOR, 0]), BYTES)
  await until('both are at the lander', () => raw.received.length === 2)
  await edge.revoke()
  client.send(tipping([FLOOR, 0]), BYTES)
  t.match(await client.closed, { code: 1008 })
  for (const go of held) go()
  t.match(await answersOf(stranger, 1), [/^0 /])
  t.equal(client.binaries.length, 0)
  t.equal(raw.received.length, 2)
})
