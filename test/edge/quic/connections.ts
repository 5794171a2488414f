import t, { type Test } from 'tap'
import type {
  QuicAnswer,
  QuicConnection,
  QuicSession,
} from '../../../src/server/quic/quic-server.js'
import { openTestLander, SEND } from '../../fixtures/submission/lander.js'
import { answer, type Script } from '../../fixtures/submission/raw-upstream.js'
import { ACCEPT, signatureOf, version1 } from '../../fixtures/submission/transactions.js'
import { FLOOR, forged, sized, tipping } from '../../fixtures/sandbox/tipping.js'
import { until } from '../../fixtures/until.js'

const ADDRESS = '1.1.1.1'

/** A connection that notes what is done with it. */
class NotedConnection implements QuicConnection {
  readonly id = 'a-connection'
  readonly notes: string[] = []
  isClosed = false

  close(reason: string): void {
    if (this.isClosed) return
    this.isClosed = true
    this.notes.push(reason)
  }

  pause(): void {
    this.notes.push('pause')
  }

  resume(): void {
    this.notes.push('resume')
  }
}

type Client = { readonly session: QuicSession; readonly connection: NotedConnection }

const openEdge = async (
  t: Test,
  script: Script = ACCEPT,
  options: Parameters<typeof openTestLander>[2] = {},
) => {
  const opened = await openTestLander(t, script, options)
  const { quic } = opened.edge
  const open = (token: string, { address = ADDRESS, wantsProtection = false } = {}) =>
    quic.open({ token, address, wantsProtection })
  const connect = (token = opened.token, address = ADDRESS): Client => {
    const session = open(token, { address })
    if (typeof session === 'string') throw new Error(session)
    const connection = new NotedConnection()
    session.onOpen(connection)
    return { session, connection }
  }
  return { ...opened, open, connect }
}

const ask = async ({ session }: Client, bytes: Uint8Array): Promise<string> => {
  const { status, words }: QuicAnswer = await session.onTransaction(bytes)
  return `${status} ${words}`
}

t.test('a stream is one transaction, answered in the words of the client', async t => {
  const { raw, connect, post } = await openEdge(t)
  const client = connect()
  const [one, other] = [tipping([FLOOR, 0]), version1(4_096)]
  const payload = '400 invalid transaction payload: transaction 0 '
  const cases: [bytes: Uint8Array, answer: string][] = [
    [one, `200 ${signatureOf(one)}`],
    [other, `200 ${signatureOf(other)}`],
    [one, `200 ${signatureOf(one)}`],
    [Buffer.alloc(0), `${payload}is malformed: `],
    [Buffer.of(1), `${payload}is malformed: `],
    [one.subarray(0, 100), `${payload}is malformed: `],
    [sized(1_233), `${payload}exceeds 1232 bytes`],
    [Buffer.alloc(8 * 1024 ** 2, 0x81), `${payload}exceeds 4096 bytes`],
  ]
  for (const [bytes, text] of cases) {
    const told = await ask(client, bytes)
    t.ok(told.startsWith(text), `${told} for ${text}`)
  }
  t.equal(raw.received.length, 2, 'the repeat was sent once')
  t.match(await post(SEND, one), { status: 200, text: signatureOf(one) })
  t.equal(raw.received.length, 2, 'also over HTTP')
  t.strictSame(client.connection.notes, [])
})

t.test('findings that are enforced, and answers of the lander', async t => {
  const strict = await openEdge(t, ACCEPT, { enforce: true })
  const client = strict.connect()
  t.match(await ask(client, tipping()), /^400 tip required: Missing tip/)
  t.match(await ask(client, tipping([1n, 0])), /^400 tip required: Insufficient tip/)
  t.match(
    await ask(client, forged(tipping([FLOOR, 0]))),
    '400 invalid transaction payload: transaction 0 signature verification failure',
  )
  t.equal(strict.raw.received.length, 0)

  let now: Buffer = Buffer.alloc(0)
  const { connect } = await openEdge(t, s => void s.write(now))
  const other = connect()
  const error = { code: -32602, message: 'Tip required: pay more' }
  const body = JSON.stringify({ jsonrpc: '2.0', error, id: 1 })
  const cases: [answer: Buffer, told: string | RegExp][] = [
    [answer(body), '400 Tip required: pay more'],
    [
      answer('no', { status: '429 Too Many' }),
      '429 rate limit exceeded: Lander capacity exhausted',
    ],
    [answer('no', { status: '403 Forbidden' }), /^403 the lander refused the call/],
    [answer('no', { status: '401 No' }), /^401 the lander refused the credential/],
    [answer('no', { status: '500 Oh' }), /^504 submission outcome unknown/],
  ]
  for (const [said, told] of cases) {
    now = said
    t.match(await ask(other, tipping([FLOOR, 0])), told)
  }
})

t.test('who may not connect is told why', async t => {
  const { edge, open, token } = await openEdge(t)
  for (const wrong of ['', 'x', token.slice(0, -1), `${token}x`, 'é'.repeat(42), edge.elsewhere])
    t.equal(open(wrong), 'invalid_auth')
  t.equal(open('x', { wantsProtection: true }), 'invalid_auth', 'which says nothing of tokens')
  t.equal(open(token, { wantsProtection: true }), 'protection_unavailable')
  await edge.restrict('9.9.9.9')
  t.equal(open(token), 'invalid_auth', 'from another address')
  t.type(open(token, { address: '9.9.9.9' }), 'object')
})

t.test('a network without a lander answers 404', async t => {
  const { edge, connect } = await openEdge(t)
  t.equal(await ask(connect(edge.bare), tipping([FLOOR, 0])), '404 This network has no lander')
})

t.test('connections count as sockets, and transactions as requests', async t => {
  const { edge, open, connect, token } = await openEdge(t)
  await edge.limit({ socketsMax: 2, requestsInFlightMax: 1, requestsBurstMax: 100 })
  const [first] = [connect(), connect()]
  t.equal(open(token), 'connection_limit')
  t.type(open(edge.other), 'object', 'of another access')
  first.session.onClose()
  const second = connect()
  t.equal(open(token), 'connection_limit')
  const [one, ...more] = await Promise.all([0, 1, 2].map(() => ask(second, tipping([FLOOR, 0]))))
  t.match(one, /^200 /)
  for (const each of more) t.equal(each, '429 rate limit exceeded: requestsInFlightMax')
  // Smaller limits close those over them, the newest first.
  const third = connect(edge.other)
  await edge.limit({ socketsMax: 1 })
  t.strictSame(second.connection.notes, ['connection_limit'])
  t.strictSame(third.connection.notes, [])
})

t.test('an access whose transactions are refused is paused', async t => {
  const { edge, connect } = await openEdge(t)
  await edge.limit({ requestsInFlightMax: 0 })
  const [client, sibling, other] = [connect(), connect(), connect(edge.other)]
  const one = tipping([FLOOR, 0])
  // Within the time in which refusals are counted.
  const told = await Promise.all(Array.from({ length: 64 }, () => ask(client, one)))
  t.strictSame([...new Set(told)], ['429 rate limit exceeded: requestsInFlightMax'])
  t.strictSame(client.connection.notes, ['pause'])
  t.strictSame(sibling.connection.notes, ['pause'])
  await until('it ends', () => client.connection.notes.length === 2)
  t.strictSame(client.connection.notes, ['pause', 'resume'])
  t.strictSame(other.connection.notes, [], 'others are not')
})

t.test('a revocation closes connections at once, and nothing succeeds after it', async t => {
  const held: (() => void)[] = []
  const { edge, connect, open, raw, token } = await openEdge(t, (s, request) =>
    held.push(() => ACCEPT(s, request)),
  )
  const [client, other] = [connect(), connect(edge.other)]
  const [lost, kept] = [client, other].map(one => ask(one, tipping([FLOOR, 0])))
  await until('both are at the lander', () => held.length === 2)
  await edge.revoke()
  t.strictSame(client.connection.notes, ['invalid_auth'])
  for (const release of held) release()
  t.match(await lost, /^401 /)
  t.match(await kept, /^200 /)
  t.match(await ask(client, tipping([FLOOR, 0])), /^401 /)
  t.equal(open(token), 'invalid_auth')
  t.equal(raw.received.length, 2)
})

t.test('a restriction closes the connections from other addresses', async t => {
  const { edge, connect } = await openEdge(t)
  const [here, there] = [connect(), connect(undefined, '9.9.9.9')]
  await edge.restrict('9.9.9.9')
  t.strictSame(here.connection.notes, ['invalid_auth'])
  t.strictSame(there.connection.notes, [])
  t.match(await ask(there, tipping([FLOOR, 0])), /^200 /)
})

t.test('a client that has left is submitted all the same', async t => {
  const held: (() => void)[] = []
  const { connect } = await openEdge(t, (s, request) => held.push(() => ACCEPT(s, request)))
  const client = connect()
  const told = ask(client, tipping([FLOOR, 0]))
  client.session.onClose()
  await until('it is at the lander', () => held.length === 1)
  held[0]?.()
  t.match(await told, /^401 /, 'nobody reads it')
})
