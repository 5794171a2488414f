import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { answer, openRawUpstream, type Script } from '../../fixtures/submission/raw-upstream.js'
import {
  openMachine,
  post,
  sendBundle,
  toBundle,
  type MachineOptions,
} from '../../fixtures/submission/relay.js'
import { accepted, idOf } from '../../fixtures/submission/relay-engine.js'
import { until } from '../../fixtures/until.js'

/** An engine that answers a bundle when the test says so. */
const openHolding = async (t: Test, options: Partial<MachineOptions> = {}) => {
  const replies: (() => void)[] = []
  const script: Script = (socket, { body }) => {
    const said = answer(accepted(body))
    replies.push(() => socket.write(said))
  }
  const engine = await openRawUpstream(t, script)
  const machine = await openMachine(t, { urls: [engine.url], edgeCount: 2, ...options })
  const [one, other = machine.edges[0]] = machine.edges
  return {
    engine,
    replies,
    one,
    other,
    machine,
    release: () => replies.splice(0).forEach(go => go()),
  }
}

/** Resolves when so many bundles are where they wait for an answer. */
const untilChecked = async (
  edges: readonly { readonly checkedCount: number }[],
  count: number,
): Promise<void> => {
  const checked = (): number => edges.reduce((sum, { checkedCount }) => sum + checkedCount, 0)
  await until(`${count} bundles are checked`, () => checked() === count)
  await new Promise(resolve => setTimeout(resolve, 30))
}

t.test('the same bundle at one edge is sent once, and every request is answered', async t => {
  const { engine, one, release } = await openHolding(t)
  const bundle = toBundle('/relay-bundle')
  const send = (id: string) =>
    post(one.port, '/relay-bundle', sendBundle('/relay-bundle', bundle, id), { 'x-access': id })
  const first = send('a')
  await until('the first is at the engine', () => engine.received.length === 1)
  const others = [send('b'), send('c')]
  const another = post(
    one.port,
    '/relay-bundle',
    sendBundle('/relay-bundle', toBundle('/relay-bundle', 'else')),
  )
  await until('another bundle is at the engine', () => engine.received.length === 2)
  await untilChecked([one], 4)
  release()
  const answered = await Promise.all([first, ...others])
  t.strictSame(
    answered.map(({ json }) => json),
    ['a', 'b', 'c'].map(id => ({ jsonrpc: '2.0', result: idOf(bundle), id })),
  )
  t.equal(engine.received.length, 2)
  await another
  const submissions = new Set(answered.map(({ headers }) => headers['x-relay-submission-id']))
  t.equal(submissions.size, 3, 'each has its own submission id')
  t.strictSame(
    new Set(answered.map(({ headers }) => headers['x-bundle-id'])),
    new Set([idOf(bundle)]),
  )
  t.equal(one.meterEvents.filter(word => word === 'joined').length, 2)

  for (const [index, id] of ['a', 'b', 'c'].entries()) {
    const params = [answered[index]?.headers['x-relay-submission-id']]
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getSubmission', params })
    const { json } = await post(one.port, '/relay', body, { 'x-access': id })
    const { joined, forwardedAtMs, outcome } = json.result as Record<string, unknown>
    t.equal(outcome, 'accepted')
    t.equal(joined, index !== 0)
    t.equal(forwardedAtMs === null, index !== 0)
  }
})

t.test('the same bundle at two edges is sent once, and both are answered', async t => {
  const { engine, one, other, release } = await openHolding(t)
  const bundle = toBundle('/relay-bundle')
  const body = (id: string) => sendBundle('/relay-bundle', bundle, id)
  const first = post(one.port, '/relay-bundle', body('a'))
  await until('it is at the engine', () => engine.received.length === 1)
  const second = post(other.port, '/relay-bundle', body('b'))
  const third = post(other.port, '/relay-bundle', body('c'))
  await untilChecked([one, other], 3)
  release()
  const answered = await Promise.all([first, second, third])
  t.strictSame(
    answered.map(({ json }) => json),
    ['a', 'b', 'c'].map(id => ({ jsonrpc: '2.0', result: idOf(bundle), id })),
  )
  t.equal(engine.received.length, 1)
  t.equal(other.meterEvents.filter(word => word === 'joined').length, 2)
})

t.test('an engine’s error is shared in full, and so is an unknown outcome', async t => {
  const says: [said: Buffer, error: object][] = [
    [
      answer(
        '{"error":{"code":-32602,"message":"bundle contains an expired blockhash","data":{"a":1}}}',
        { status: '400 Bad Request' },
      ),
      { code: -32_602, message: 'bundle contains an expired blockhash', data: { a: 1 } },
    ],
    [
      answer('', { status: '429 Too Many Requests' }),
      { code: -32_010, message: 'Bundle-engine capacity exhausted' },
    ],
    [answer('x'), { code: -32_603, message: 'submission outcome unknown' }],
    [
      answer('', { status: '403 Forbidden' }),
      { code: -32_603, message: 'bundle engine refused the request with HTTP status 403' },
    ],
  ]
  const replies: (() => void)[] = []
  let said: Buffer = Buffer.alloc(0)
  const engine = await openRawUpstream(t, socket => void replies.push(() => socket.write(said)))
  const { edges } = await openMachine(t, { urls: [engine.url], edgeCount: 2 })
  let checked = 0
  for (const [now, error] of says) {
    said = now
    engine.received.length = 0
    const body = sendBundle('/relay-bundle', toBundle('/relay-bundle'))
    const sent = [edges[0], ...edges].map(async ({ port }, index) => {
      if (index > 0) await until('it is at the engine', () => engine.received.length === 1)
      return post(port, '/relay-bundle', body)
    })
    await until('it is at the engine', () => engine.received.length === 1)
    await untilChecked(edges, (checked += 3))
    replies.splice(0).forEach(go => go())
    for (const { json, headers } of await Promise.all(sent)) {
      const submissionId = headers['x-relay-submission-id']
      const isUnknown = 'message' in error && error.message === 'submission outcome unknown'
      t.strictSame(json.error, isUnknown ? { ...error, data: { submissionId } } : error)
      const isFull = 'code' in error && error.code === -32_010
      t.equal(headers['retry-after'], isFull ? '1' : undefined)
    }
    t.equal(engine.received.length, 1, JSON.stringify(error))
  }
})

t.test(
  'the same transactions on the other route, or in another order, are another bundle',
  async t => {
    const { engine, one, release } = await openHolding(t, {
      relay: { serviceTipFloorLamports: 0, engineTipFloorLamports: 0 },
    })
    const bundle = toBundle('/relay-bundle')
    const bodies: ['/relay' | '/relay-bundle', string[]][] = [
      ['/relay-bundle', bundle],
      ['/relay', bundle],
      ['/relay-bundle', bundle.toReversed()],
    ]
    const sent = bodies.map(([route, texts]) => post(one.port, route, sendBundle(route, texts)))
    await until('all are at the engine', () => engine.received.length === 3)
    release()
    for (const { json } of await Promise.all(sent)) t.ok(json.result)
  },
)

t.test('a bundle that was answered is sent again when it is submitted again', async t => {
  const { engine, one, other, replies } = await openHolding(t)
  const bundle = toBundle('/relay-bundle')
  const timer = setInterval(() => replies.splice(0).forEach(go => go()), 1)
  t.teardown(() => clearInterval(timer))
  for (let round = 0; round < 30; round++) {
    const { port } = round % 3 === 0 ? one : other
    const { json } = await post(port, '/relay-bundle', sendBundle('/relay-bundle', bundle))
    t.equal(json.result, idOf(bundle))
    t.equal(engine.received.length, round + 1)
  }
})

t.test('a bundle whose client disconnects is sent once, and others get the answer', async t => {
  const { engine, machine, one, other, release } = await openHolding(t)
  const bundle = toBundle('/relay-bundle')
  const body = sendBundle('/relay-bundle', bundle)
  const socket = connect(one.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `POST /relay-bundle HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await until('it is at the engine', () => engine.received.length === 1)
  socket.resetAndDestroy()
  const joined = [one, other].map(({ port }) => post(port, '/relay-bundle', body))
  await untilChecked([one, other], 3)
  release()
  for (const { json } of await Promise.all(joined)) t.equal(json.result, idOf(bundle))
  t.equal(engine.received.length, 1)
  await until('its outcome is stored', async () => (await machine.inFlight()) === 0)
})
