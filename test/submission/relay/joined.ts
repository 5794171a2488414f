import type { Socket } from 'node:net'
import t from 'tap'
import { answer, openRawUpstream } from '../../fixtures/submission/raw-upstream.js'
import { accepted, idOf } from '../../fixtures/submission/relay-engine.js'
import { openMachine, post, sendBundle, toBundle } from '../../fixtures/submission/relay.js'
import { until } from '../../fixtures/until.js'

const ROUTE = '/relay-bundle'

const call = (port: number, access: string, method: string, params: unknown) =>
  post(port, ROUTE, JSON.stringify({ jsonrpc: '2.0', id: access, method, params }), {
    'x-access': access,
  })

/** What the engine says to the bundle of `first`. */
const ANSWERS: readonly Buffer[] = [
  answer('{"jsonrpc":"2.0","result":"an id of first","id":1}'),
  answer('{"error":{"code":-1,"message":"refused"},"note":"of first"}', {
    status: '400 Bad Request',
    lines: ['Content-Type: application/json', 'X-Request-Id: first', 'Retry-After: 9'],
  }),
  answer('a page for first', { status: '404 Not Found' }),
]

t.test('a joined submission shows nothing of the other customer’s', async t => {
  const sockets: Socket[] = []
  const engine = await openRawUpstream(t, socket => sockets.push(socket))
  const { edges } = await openMachine(t, { urls: [engine.url], edgeCount: 2 })
  const checked = () => edges.reduce((sum, { checkedCount }) => sum + checkedCount, 0)
  const [one, other = one] = edges
  for (const [round, said] of ANSWERS.entries()) {
    const bundle = toBundle(ROUTE, `round ${round}`)
    const send = (port: number, access: string) =>
      call(port, access, 'sendBundle', [bundle, { encoding: 'base64' }])
    const first = send(one.port, 'first')
    await until('it is at the engine', () => engine.received.length === round + 1)
    const sentAtMs = Date.now()
    await until('the clock moves', () => Date.now() > sentAtMs)
    const joining = [
      { access: 'here', port: one.port, sent: send(one.port, 'here') },
      { access: 'there', port: other.port, sent: send(other.port, 'there') },
    ]
    await until('all are checked', () => checked() === 3 * (round + 1))
    sockets.at(-1)?.write(said)
    const firstId = String((await first).headers['x-relay-submission-id'])
    for (const { access, port, sent } of joining) {
      const { json, headers, text } = await sent
      const id = headers['x-relay-submission-id']
      t.equal(json.id, access)
      t.not(id, firstId)
      t.equal(headers['x-bundle-id'], idOf(bundle))
      t.equal(headers['x-request-id'], undefined)
      t.equal(headers['retry-after'], undefined)
      t.notMatch(text, /first/)
      const { result } = (await call(port, access, 'getSubmission', [id])).json
      t.match(result, { submissionId: id, joined: true, forwardedAtMs: null, engine: null })
      t.ok((result as { receivedAtMs: number }).receivedAtMs > sentAtMs, 'its own times')
      t.notMatch(JSON.stringify(result), new RegExp(`first|${firstId}`))
      t.equal((await call(port, access, 'getSubmission', [firstId])).json.result, null)
    }
  }
  t.equal(engine.received.length, ANSWERS.length)
})

t.test('a bundle of another access that gets no token does not take this one’s', async t => {
  const engine = await openRawUpstream(t, (socket, { body }) =>
    socket.write(answer(accepted(body))),
  )
  // A token each 500 ms, and each bundle waits for 750 ms: of those that wait one is sent.
  const relay = { requestsPerSecondMax: 2, requestsBurstMax: 1, queueMs: 750 }
  const { edges, inFlight } = await openMachine(t, { urls: [engine.url], relay })
  const [{ port }] = edges
  const send = (access: string, name: string) =>
    post(port, ROUTE, sendBundle(ROUTE, toBundle(ROUTE, name, 1)), { 'x-access': access })
  t.equal((await send('greedy', 'taken')).json.error, undefined)
  const greedy = ['1', '2', '3', 'shared'].map(name => send('greedy', name))
  await until('they wait', async () => (await inFlight()) === 4)
  const shared = await send('modest', 'shared')
  t.equal(shared.json.error, undefined, 'it gets a token of its own')
  const codes = (await Promise.all(greedy)).map(({ json }) => json.error?.code)
  t.equal(codes.filter(code => code === undefined).length, 1)
  t.equal(engine.received.length, 3)
})
