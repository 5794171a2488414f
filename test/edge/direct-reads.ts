// Requests played through two locations with the same store and tokens: one answers canonical point
// reads before JavaScript, one does not. Their replies must not differ.
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { bootMs } from '../../src/native/os.js'
import { LIMITS, NEW_ACCESS, WIDE_LIMITS } from '../fixtures/access/access.js'
import { ACCOUNT, agree, KEY, MISSING, openBoth, read } from '../fixtures/edge/direct.js'
import type { Location } from '../fixtures/edge/location.js'
import { applyAccounts } from '../fixtures/rpc/store.js'
import { connect, replyCount, statusOf } from '../fixtures/server/server.js'
import { isSoak } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

const RUNS = isSoak ? 600 : 200

type Piece = { path: string; lines: string[]; body: string; version: string; method: string }

const requestOf = ({ path, lines, body, version, method }: Piece): string =>
  [
    `${method} ${path} HTTP/${version}`,
    'Host: a',
    ...lines,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')

/** A connection that sends one request at a time. */
const open = async ({ port }: Location) => {
  const connection = await connect(port)
  return {
    /** Returns all of the reply in which two can differ. */
    ask: async (request: string): Promise<string> => {
      const before = connection.received()
      connection.socket.write(request)
      const received = await connection.until(now => replyCount(now) > replyCount(before))
      return (
        received
          .slice(before.length)
          .replace(/Date: .{29}/, 'Date')
          // Waits have one digit more or less.
          .replace(/Content-Length: \d+(?=[^]*retryAfterMs)/, 'Content-Length')
          .replace(/"retryAfterMs":\d+|Retry-After: \d+/g, 'later')
      )
    },
    close: () => connection.socket.destroy(),
  }
}

/**
 * Sends a request on a new connection; `first` before it, because the first request of a connection
 * is left to JavaScript, which learns its address.
 */
const play = async (location: Location, request: string, first?: string): Promise<string> => {
  const connection = await open(location)
  if (first !== undefined) await connection.ask(first)
  const answer = await connection.ask(request)
  connection.close()
  return answer
}

/** A canonical read. */
const readOf = (token: string): string =>
  requestOf({ method: 'POST', path: `/${token}`, lines: [], body: read(KEY), version: '1.1' })

const pieceOf = (token: string): fc.Arbitrary<Piece> => {
  const wrong = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
  const headers = [
    'Content-Type: application/json',
    'Content-Type: application/json; charset=utf-8',
    'Content-Type: text/plain',
    'Connection: keep-alive',
    'Connection: close',
    'Expect: 100-continue',
    'X-Forwarded-For: 8.8.8.8',
    `X-Token: ${token}`,
    `X-Token: ${wrong}`,
    `Authorization: Bearer ${token}`,
  ]
  const canonical = [
    read(KEY),
    read(MISSING, 'x'),
    read(KEY, null),
    '{"jsonrpc":"2.0","id":2,"method":"getLatestBlockhash"}',
    '{"jsonrpc":"2.0","id":2,"method":"getLatestBlockhash","params":[{"commitment":"confirmed"}]}',
    '{"jsonrpc":"2.0","id":2,"method":"getLatestBlockhash","params":[{"commitment":"finalized"}]}',
    `{"jsonrpc":"2.0","id":3,"method":"getMultipleAccounts","params":[["${KEY}","${MISSING}"]]}`,
    `{"jsonrpc":"2.0","id":4,"method":"getTokenSupply","params":["${KEY}"]}`,
  ]
  const others = [
    '',
    'x',
    read('not a key'),
    `[${read(KEY)},${read(KEY, 2)}]`,
    '{"jsonrpc":"2.0","id":5,"method":"getBalance","params":["11111111111111111111111111111111"]}',
    '{"jsonrpc":"2.0","method":"getLatestBlockhash"}',
    '{"jsonrpc":"2.0","id":6,"method":"nothing"}',
    ' '.repeat(10_001),
  ]
  return fc.record({
    method: fc.constantFrom('POST', 'POST', 'POST', 'POST', 'GET'),
    path: fc.constantFrom(
      `/${token}`,
      `/${token}`,
      '/',
      `/${wrong}`,
      `/${token}?a=b`,
      `/${token}/`,
      `/${token}/x`,
    ),
    lines: fc.uniqueArray(fc.constantFrom(...headers), {
      maxLength: 3,
      selector: line => line.split(':')[0],
    }),
    body: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...canonical) },
      { weight: 1, arbitrary: fc.constantFrom(...others) },
    ),
    version: fc.constantFrom('1.1', '1.1', '1.1', '1.0'),
  })
}

t.test('both ways answer with the same bytes, counts and limits', async t => {
  const both = await openBoth(t)
  const { direct, ordinary, client } = both
  const first = readOf(client.token)
  await fc.assert(
    fc.asyncProperty(pieceOf(client.token), async piece => {
      const request = requestOf(piece)
      const answers = [await play(direct, request, first), await play(ordinary, request, first)]
      t.equal(answers[0], answers[1], request)
      return answers[0] === answers[1]
    }),
    { numRuns: RUNS },
  )
  await agree(t, both)
  const directCount = ordinary.handledCount() - direct.handledCount()
  t.ok(directCount >= RUNS / 40, `${directCount} were answered before JavaScript`)
})

t.test('limits that are reached are refused the same way', async t => {
  const both = await openBoth(t, { ...LIMITS, requestsPerSecondMax: 1, requestsBurstMax: 5 })
  const { direct, ordinary, client } = both
  const request = readOf(client.token)
  const [one, other] = [await open(direct), await open(ordinary)]
  const answers: [string, string][] = []
  for (let count = 0; count < 12; count++)
    answers.push([await one.ask(request), await other.ask(request)])
  one.close()
  other.close()
  for (const [one, other] of answers) t.equal(one, other)
  const statuses = answers.map(([one]) => statusOf(one))
  t.strictSame(statuses.slice(0, 5), ['200', '200', '200', '200', '200'])
  t.ok(statuses.slice(5).filter(status => status === '429').length >= 6)
  await agree(t, both)
})

t.test('what was decided ends at once', async t => {
  const { direct, control, client, indexer } = await openBoth(t)
  const request = readOf(client.token)
  const connection = await open(direct)
  t.teardown(() => connection.close())
  const isDirect = async ({ ask } = connection): Promise<boolean> => {
    const before = direct.handledCount()
    t.equal(statusOf(await ask(request)), '200')
    return direct.handledCount() === before
  }
  t.notOk(await isDirect(), 'the first request is admitted by JavaScript')
  t.ok(await isDirect())
  const other = await open(direct)
  t.notOk(await isDirect(other), 'so is the first request of another connection')
  t.ok(await isDirect(other))
  other.close()
  direct.raiseVersion()
  t.notOk(await isDirect(), 'a change of accesses is decided anew')
  t.ok(await isDirect())
  applyAccounts(indexer, [{ ...ACCOUNT, account: { ...ACCOUNT.account, lamports: 6 } }], 6)
  t.match(await connection.ask(request), '"lamports":6', 'the newest block')
  await control.tokenManager.revoke(client.scope)
  direct.raiseVersion()
  t.equal(statusOf(await connection.ask(request)), '401', 'a revoked token')
})

t.test('a blockhash is of its commitment, and not given while the feed is silent', async t => {
  const { direct, client } = await openBoth(t)
  const { ask, close } = await open(direct)
  const latest = async (params: string): Promise<string> => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":${params}}`
    const path = `/${client.token}`
    return ask(requestOf({ method: 'POST', path, lines: [], body, version: '1.1' }))
  }
  await latest('[]')
  const before = direct.handledCount()
  t.match(await latest('[]'), '"slot":4')
  t.match(await latest('[{"commitment":"finalized"}]'), '"slot":4')
  t.match(await latest('[{"commitment":"confirmed"}]'), '"slot":5')
  t.match(await latest('[{"commitment":"processed"}]'), '"slot":5')
  t.equal(direct.handledCount(), before, 'all before JavaScript')
  direct.lane?.answerBlockhashes(false)
  await latest('[]')
  t.ok(direct.handledCount() > before, 'JavaScript must refuse it')
  direct.lane?.answerBlockhashes(true)
  const after = direct.handledCount()
  t.match(await latest('[]'), '"slot":4')
  t.equal(direct.handledCount(), after)
  close()
})

t.test('a token that is bound to an address is left to JavaScript', async t => {
  const { direct, control, client } = await openBoth(t)
  const request = readOf(client.token)
  const { ask, close } = await open(direct)
  for (let count = 0; count < 2; count++) t.equal(statusOf(await ask(request)), '200')
  await control.tokenManager.restrict(client.scope, '8.8.8.8')
  direct.raiseVersion()
  for (let count = 0; count < 2; count++) t.equal(statusOf(await ask(request)), '403')
  close()
})

t.test('an address is seen with each token that is sent over one connection', async t => {
  const { control, direct, ordinary, client } = await openBoth(t)
  const generate = async () => {
    const grant = { ...NEW_ACCESS, limits: WIDE_LIMITS, validFromMs: Date.now() - 1_000 }
    const { accessId } = await control.accessManager.grant(grant)
    const scope = { accessId, network: 'main', location: 'fra' }
    const { token } = await control.tokenManager.generate(scope)
    return { accessId, token: token.reveal() }
  }
  const inHeader = (token: string): string => {
    const lines = [`X-Token: ${token}`]
    return requestOf({ method: 'POST', path: '/', lines, body: read(KEY), version: '1.1' })
  }
  const others = [await generate(), await generate(), await generate()]
  for (const one of [direct, ordinary]) one.raiseVersion()
  for (const location of [direct, ordinary]) {
    const connection = await connect(location.port)
    /** Returns whether JavaScript has handled it. */
    const ask = async (request: string, isCut = false): Promise<boolean> => {
      const [handled, before] = [location.handledCount(), connection.received()]
      const at = isCut ? request.length - 9 : request.length
      connection.socket.write(request.slice(0, at))
      if (isCut) await sleep(50)
      connection.socket.write(request.slice(at))
      const received = await connection.until(now => replyCount(now) > replyCount(before))
      t.equal(statusOf(received.slice(before.length)), '200')
      return location.handledCount() > handled
    }
    const isOrdinary = location === ordinary
    const [first = client, second = client, third = client] = others
    t.equal(await ask(readOf(client.token)), true)
    for (let count = 0; count < 3; count++) t.equal(await ask(readOf(client.token)), isOrdinary)
    t.equal(await ask(readOf(first.token)), true, 'another token')
    t.equal(await ask(readOf(first.token)), isOrdinary)
    t.equal(await ask(inHeader(second.token)), true, 'in a header')
    t.equal(await ask(inHeader(second.token)), isOrdinary)
    t.equal(await ask(readOf(third.token), true), true, 'with a body in pieces')
    t.equal(await ask(readOf(client.token)), true, 'the first one again')
    t.equal(await ask(readOf(client.token)), isOrdinary)
    for (const { accessId } of [client, ...others])
      await until('its address is seen', async () => {
        const [address, ...more] = await location.addresses(accessId)
        return address === '127.0.0.1' && more.length === 0
      })
    connection.socket.destroy()
  }
})

t.test('pipelined requests are answered in order, by either way', async t => {
  const { direct, client } = await openBoth(t)
  const bodies = [read(KEY, 1), '{"jsonrpc":"2.0","id":2,"method":"nothing"}', read(KEY, 3)]
  const pipelined = bodies.map(body =>
    requestOf({ method: 'POST', path: `/${client.token}`, lines: [], body, version: '1.1' }),
  )
  for (let round = 0; round < 3; round++) {
    const connection = await connect(direct.port)
    connection.socket.write(pipelined.join(''))
    const received = await connection.until(now => replyCount(now) === 3)
    t.strictSame(
      [...received.matchAll(/"id":(\d)/g)].map(([, id]) => id),
      ['1', '2', '3'],
    )
    connection.socket.destroy()
  }
})

t.test('past the lease nothing is answered, and within a new one everything is', async t => {
  const both = await openBoth(t)
  const { direct, ordinary, client } = both
  const request = (body: string): string =>
    requestOf({ method: 'POST', path: `/${client.token}`, lines: [], body, version: '1.1' })
  const requests = [request(read(KEY)), request(`[${read(KEY)}]`)]
  const connections = [await open(direct), await open(ordinary)]
  const statuses = async (): Promise<unknown> => {
    const answers = []
    for (const { ask } of connections)
      for (const one of requests) answers.push(statusOf(await ask(one)))
    return answers
  }
  const [served, refused] = [Array(4).fill('200'), Array(4).fill('503')]
  for (let round = 0; round < 2; round++) {
    for (const one of [direct, ordinary]) one.setLeaseEnd(bootMs() + 60_000)
    t.strictSame(await statuses(), served)
    t.strictSame(await statuses(), served, 'registered with the compiled server')
    for (const one of [direct, ordinary]) one.setLeaseEnd(bootMs())
    t.strictSame(await statuses(), refused)
    t.match(
      await play(direct, request(read(KEY))),
      /Retry-After.*cannot confirm that its access data/s,
    )
  }
  for (const { close } of connections) close()
  await agree(t, both)
})

t.test('a lease that expires before the body arrives refuses the request', async t => {
  const { ordinary, client } = await openBoth(t)
  const body = read(KEY)
  const whole = requestOf({
    method: 'POST',
    path: `/${client.token}`,
    lines: [],
    body,
    version: '1.1',
  })
  const connection = await connect(ordinary.port)
  const before = ordinary.handledCount()
  connection.socket.write(whole.slice(0, -10))
  await until('the head is admitted', () => ordinary.handledCount() > before)
  ordinary.setLeaseEnd(0)
  connection.socket.write(whole.slice(-10))
  t.equal(statusOf(await connection.until(now => replyCount(now) > 0)), '503')
  connection.socket.destroy()
})
