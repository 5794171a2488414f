import type net from 'node:net'
import t from 'tap'
import {
  BATCH,
  BODIES,
  failure,
  findingsOf,
  GOOD,
  OK,
  openTestLander,
  SINGLE,
  single,
} from '../../fixtures/submission/lander.js'
import {
  answer,
  blackholePort,
  openRawUpstream,
  refusedPort,
  type Script,
} from '../../fixtures/submission/raw-upstream.js'
import { connect, post as toPost, replyCount } from '../../fixtures/server/server.js'
import { type HttpAnswer, LANDER_CREDENTIAL } from '../../fixtures/submission/submission-edge.js'
import { frame } from '../../fixtures/sandbox/tipping.js'
import { isSoak, latencyMax } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

/** What a busy computer may add to a wait: less than the next longer time-out. */
const BUSY_MS = isSoak ? 900 : 3_900

t.test('when the lander fails', async t => {
  const UNREACHABLE = 'upstream unreachable'
  const UNKNOWN = 'submission outcome unknown'
  const cases: [name: string, script: Script, status: number, message: string][] = [
    ['it does not answer', () => {}, 504, UNKNOWN],
    ['it resets', s => s.resetAndDestroy(), 504, UNKNOWN],
    ['it closes', s => s.end(), 504, UNKNOWN],
    [
      'it resets in its answer',
      s => s.write(answer('abc').subarray(0, -1), () => s.resetAndDestroy()),
      504,
      UNKNOWN,
    ],
    ['it drips', s => void setInterval(() => s.write('H'), 20).unref(), 504, UNKNOWN],
    ['it speaks no HTTP', s => s.write('220 mail.example ESMTP\r\n'), 504, UNKNOWN],
    ['it sends 10 MB', s => s.write(answer(Buffer.alloc(10 * 1024 ** 2))), 504, UNKNOWN],
  ]
  for (const [name, script, status, message] of cases)
    t.test(name, async t => {
      const { raw, post, edge } = await openTestLander(t, script, { upstream: { answerMs: 300 } })
      for (const [route, body] of BODIES) {
        raw.received.length = 0
        const startMs = performance.now()
        const reply = await post(route, body)
        t.equal(reply.status, status)
        t.equal(reply.text, failure(-32603, message, route === BATCH ? null : 1))
        t.match(reply.headers['content-type'], /^application\/json/)
        t.ok(performance.now() - startMs < latencyMax(3_000), 'in time')
        t.equal(raw.received.length, 1, 'sent once')
      }
      t.notMatch(edge.lines.join(), LANDER_CREDENTIAL)
    })

  t.test('no server', async t => {
    const urls = [`http://127.0.0.1:${await refusedPort()}`]
    const { post } = await openTestLander(t, undefined, { upstream: { urls } })
    for (const [route, body] of BODIES) {
      const reply = await post(route, body)
      t.equal(reply.status, 502)
      t.equal(reply.text, failure(-32603, UNREACHABLE, route === BATCH ? null : 1))
      t.equal(findingsOf(reply), '')
    }
  })

  t.test('no server at the first URL', async t => {
    const good = await openRawUpstream(t, s => s.write(answer(OK)))
    const urls = [`http://127.0.0.1:${await refusedPort()}`, good.url]
    const { post } = await openTestLander(t, undefined, { upstream: { urls } })
    for (const [route, body] of BODIES) t.match(await post(route, body), { status: 200, text: OK })
    t.equal(good.received.length, 3)
  })

  t.test('more are under way than may be', async t => {
    const sockets: net.Socket[] = []
    const { post, raw } = await openTestLander(t, s => sockets.push(s), {
      upstream: { inFlightMax: 1 },
    })
    const first = post(SINGLE, single(GOOD))
    await until('it is under way', () => sockets.length === 1)
    for (const [route, body] of BODIES) {
      const reply = await post(route, body)
      t.equal(reply.status, 503)
      t.equal(reply.headers['retry-after'], '1')
      const message = 'Too many submissions in flight; retry with backoff'
      t.equal(reply.text, failure(-32603, message, route === BATCH ? null : 1))
    }
    sockets[0]?.write(answer(OK))
    t.match(await first, { status: 200 })
    t.equal(raw.received.length, 1)
  })
})

t.test('nothing hangs: by default a connection has one second, and an answer five', async t => {
  const lost = await openTestLander(t, undefined, {
    upstream: { urls: [`http://127.0.0.1:${await blackholePort(t)}`] },
  })
  const silent = await openTestLander(t, () => {})
  const timed = async (sent: Promise<HttpAnswer>): Promise<[status: number, elapsedMs: number]> => {
    const startMs = performance.now()
    const { status } = await sent
    return [status, performance.now() - startMs]
  }
  const cases = [
    [lost, 502, 1_000],
    [silent, 504, 5_000],
  ] as const
  await Promise.all(
    cases.flatMap(([{ post }, wanted, afterMs]) =>
      BODIES.map(async ([route, body]) => {
        const [status, elapsedMs] = await timed(post(route, body))
        t.equal(status, wanted, route)
        t.ok(elapsedMs > afterMs - 10 && elapsedMs < afterMs + BUSY_MS, `${elapsedMs} ms`)
      }),
    ),
  )
})

t.test('submissions that are sent ahead are forwarded one after another, each once', async t => {
  const sockets: net.Socket[] = []
  const { raw, edge, token } = await openTestLander(t, s => sockets.push(s))
  const bodyOf = (id: number): string => single(GOOD).replace('"id":1', `"id":${id}`)
  const lines = ['Content-Type: application/json']
  const client = await connect(edge.port)
  const requests = [1, 2].map(id => toPost(`/${token}${SINGLE}`, bodyOf(id), lines))
  const last = toPost(`/${token}${SINGLE}`, bodyOf(3), [...lines, 'Connection: close'])
  const half = toPost(`/${token}${SINGLE}`, bodyOf(4), lines).slice(0, -2)
  client.socket.write([...requests, last, half].join(''))
  for (const count of [1, 2, 3]) {
    await until('it is forwarded', () => raw.received.length === count)
    sockets.at(-1)?.write(answer(OK))
    await client.until(now => replyCount(now) === count)
  }
  await client.closed
  t.strictSame(
    raw.received.map(({ body }) => body.toString()),
    [1, 2, 3].map(bodyOf),
    'what is behind a close is not',
  )
})

t.test('a client that leaves changes nothing for the lander', async t => {
  const sockets: net.Socket[] = []
  const { raw, edge, token, post } = await openTestLander(t, s => sockets.push(s))
  const lines = (type: string): string[] => [`Content-Type: ${type}`]
  const bytes = frame(GOOD).toString('latin1')
  const requests = [
    toPost(`/${token}${SINGLE}`, single(GOOD), lines('application/json')),
    toPost(`/${token}${BATCH}`, bytes, lines('application/octet-stream')),
  ]
  for (const [index, request] of requests.entries()) {
    const client = await connect(edge.port)
    client.socket.write(request, 'latin1')
    await until('it is forwarded', () => sockets.length === index + 1)
    client.socket.resetAndDestroy()
  }
  const page = (): Promise<string> => edge.metrics()
  t.match(await page(), /slotline_upstream_in_flight\{[^}]*\} 2/)
  for (const socket of sockets.splice(0)) socket.write(answer(OK))
  await until('both have ended', async () => /upstream_in_flight\{[^}]*\} 0/.test(await page()))
  t.match(await page(), /slotline_submissions_total\{[^}]*"\/lander",outcome="forwarded"\} 1/)

  // Disconnected before it was read: there is no client to answer, and nothing to send.
  const cut = await connect(edge.port)
  cut.socket.write(requests[0]?.slice(0, -10) ?? '', 'latin1')
  cut.socket.destroy()
  const last = post(SINGLE, single(GOOD))
  await until('only the next one comes', () => sockets.length === 1)
  sockets[0]?.write(answer(OK))
  t.match(await last, { status: 200 })
  t.equal(raw.received.length, 3)
})

t.test("a 401 of the lander is the service's own, a 403 has the id of the call", async t => {
  const forbidden = 'the lander refused the call with HTTP status 403'
  const unauthorized = 'the lander refused the credential of the service with HTTP status 401'
  const text = `blocked arb program for ${LANDER_CREDENTIAL}`
  const cut = 'blocked arb program for [redacted]'
  const lines = ['Content-Type: text/plain']
  const own = failure(-32_000, 'no', 1)
  const other = failure(-32_000, 'no', 2)
  const cases: [body: string, status: string, reply: (id: unknown) => string, batch: string][] = [
    [text, '401 Unauthorized', id => failure(-32603, unauthorized, id), ''],
    [
      text,
      '403 Forbidden',
      id => withData(failure(-32603, forbidden, id), { contentType: 'text/plain', body: cut }),
      cut,
    ],
    [own, '403 Forbidden', () => own, own],
    [
      other,
      '403 Forbidden',
      id => withData(failure(-32603, forbidden, id), { contentType: 'text/plain', body: other }),
      other,
    ],
  ]
  for (const [body, status, reply, batch] of cases) {
    const { post } = await openTestLander(t, s => s.write(answer(body, { status, lines })))
    for (const [route, request] of BODIES) {
      const got = await post(route, request)
      t.equal(got.status, Number(status.slice(0, 3)))
      const isBatch = route === BATCH
      t.equal(
        got.text,
        isBatch && batch !== '' ? batch : reply(isBatch ? null : 1),
        `${route} ${status}`,
      )
    }
  }
})

const withData = (reply: string, data: object): string => {
  const { error, ...rest } = JSON.parse(reply) as { error: object; id: unknown; jsonrpc: string }
  return JSON.stringify({ jsonrpc: rest.jsonrpc, error: { ...error, data }, id: rest.id })
}
