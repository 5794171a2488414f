import t, { type Test } from 'tap'
import { ByteBudget } from '../../../src/shared/byte-budget.js'
import { RpcError } from '../../../src/shared/errors.js'
import type { Grant } from '../../../src/shared/grant.js'
import type { BodySource } from '../../../src/shared/http.js'
import type { Connection } from '../../../src/shared/socket.js'
import { WIDE_LIMITS } from '../../fixtures/access/access.js'
import { call, GRANT, openSockets } from '../../fixtures/edge/sockets.js'
import { createFakeTimers } from '../../fixtures/fake-timers.js'
import { textSource } from '../../fixtures/rpc/fake-reads.js'
import { eventually } from '../../fixtures/server/server.js'

t.test('streamed results are collected within the budget', async t => {
  const sources: (BodySource & { readonly closeCount: number })[] = []
  const give = (text: string, options: Parameters<typeof textSource>[1]): BodySource => {
    const source = textSource(text, { stepBytes: 10_000, ...options })
    sources.push(source)
    return source
  }
  const long = JSON.stringify('x'.repeat(200_000))
  const { connect, budget } = await openSockets(t, {
    methods: {
      sized: () => Promise.resolve(give(long, {})),
      unsized: () => Promise.resolve(give(long, { hasLength: false, isSlow: true })),
      atOnce: () => give(long, {}),
      empty: () => give('', {}),
      broken: () => Promise.resolve(give(long, { failsAfter: 50_000, hasLength: false })),
      large: () =>
        Promise.resolve(give(JSON.stringify('x'.repeat(1_000_000)), { hasLength: false })),
    },
  })
  const client = await connect()
  const reply = `{"jsonrpc":"2.0","result":${long},"id":1}`
  for (const name of ['sized', 'unsized', 'atOnce']) {
    client.send(call(name, 1))
    t.equal(await client.next(), reply, name)
  }
  client.send(`[${call('sized', 1)},${call('broken', 2)},${call('unsized', 1)}]`)
  const failed = '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":2}'
  t.equal(await client.next(), `[${reply},${failed},${reply}]`, 'in a batch')
  client.send(call('empty', 3))
  t.equal(await client.next(), '{"jsonrpc":"2.0","result":,"id":3}')
  client.send(call('large', 4))
  t.match(JSON.parse(await client.next()), {
    error: { code: -32603, message: 'Too many reads in flight; retry with backoff' },
    id: 4,
  })
  t.equal(budget.bytes, 0)
  t.ok(sources.every(({ closeCount }) => closeCount === 1))
})

t.test('a large reply waits until the client has read the earlier ones', async t => {
  const text = JSON.stringify('x'.repeat(1_000_000))
  const { connect, budget, load, server } = await openSockets(t, {
    methods: {
      large: () => Promise.resolve(textSource(text, { stepBytes: 100_000, hasLength: false })),
    },
    budget: new ByteBudget(400_000_000),
    server: { socketQueueBytesMax: 2_000_000 },
  })
  const client = await connect()
  client.socket.pause()
  for (let id = 0; id < 40; id++) client.send(call('large', id))
  await eventually(() => budget.bytes > 20_000_000 && load().requestsInFlight > 20)
  client.send(call('none', 99))
  client.socket.resume()
  const ids = new Set<number>()
  while (ids.size < 41) ids.add(JSON.parse(await client.next()).id)
  t.equal(budget.bytes, 0)
  t.match(load(), { requestsInFlight: 0, sockets: 1 })

  client.socket.pause()
  for (let id = 0; id < 40; id++) client.send(call('large', id))
  await eventually(() => budget.bytes > 20_000_000)
  client.destroy()
  await eventually(() => server.stats().sockets === 0 && load().requestsInFlight === 0)
  t.equal(budget.bytes, 0, 'and are dropped with it')
  t.match(load(), { requestsInFlight: 0, sockets: 0 })
})

t.test('calls in flight are bounded and released', async t => {
  const waiting: (() => void)[] = []
  const { connect, load } = await openSockets(t, {
    methods: {
      wait: () => new Promise(resolve => waiting.push(() => resolve(Buffer.from('true')))),
    },
    options: { socketCallsMax: 3 },
  })
  const client = await connect()
  for (let id = 0; id < 4; id++) client.send(call('wait', id))
  t.match(JSON.parse(await client.next()), { id: 3, error: { code: -32603 } }, 'one too many')
  t.equal(load().requestsInFlight, 3)
  for (const end of waiting.splice(0)) end()
  t.strictSame(
    [await client.next(), await client.next(), await client.next()].map(
      text => JSON.parse(text).id,
    ),
    [0, 1, 2],
  )
  client.send(`[${call('wait', 1)},${call('wait', 2)}]`)
  await eventually(() => waiting.length === 2)
  t.equal(load().requestsInFlight, 2)
  client.destroy()
  await eventually(() => load().sockets === 0)
  for (const end of waiting.splice(0)) end()
  await eventually(() => load().requestsInFlight === 0)
})

t.test('a revoked access is not answered', async t => {
  let end = (): void => {}
  let isRevoked = false
  const { connect, world, sockets, load } = await openSockets(t, {
    methods: {
      wait: () => new Promise(resolve => (end = () => resolve(Buffer.from('"secret"')))),
      now: () => Buffer.from('true'),
    },
    authenticate: () => (isRevoked ? { reason: 'unknown' } : GRANT),
  })
  const [first, second] = [await connect(), await connect()]
  world.version++
  t.match(await first.call('now'), { result: true }, 'another change')

  first.send(call('wait', 1))
  await eventually(() => load().requestsInFlight === 1)
  isRevoked = true
  world.version++
  end()
  const gone = { code: 1008, reason: 'token revoked' }
  t.strictSame(await first.closed, gone, 'closed by its reply')
  t.strictSame(await second.closed, gone, 'other sockets of the token are closed too')
  t.equal(first.messages.length, 1)
  t.match(load(), { requestsInFlight: 0, sockets: 0 })

  isRevoked = false
  const third = await connect()
  isRevoked = true
  world.version++
  sockets.revalidateAll()
  t.strictSame(await third.closed, gone, 'closed by revalidateAll')

  isRevoked = false
  const fourth = await connect()
  isRevoked = true
  world.version++
  fourth.send(call('now', 1))
  t.strictSame(await fourth.closed, gone, 'closed by its next message')
  t.equal(fourth.messages.length, 0)
})

t.test('a socket that cannot be revalidated is closed', async t => {
  let isGone = false
  const { connect, world, sockets, lines } = await openSockets(t, {
    authenticate: () => {
      if (isGone) throw new Error('the store is gone')
      return GRANT
    },
  })
  const client = await connect()
  isGone = true
  world.version++
  sockets.revalidateAll()
  t.strictSame(await client.closed, { code: 1011, reason: 'internal error' })
  t.match(lines.join(''), /could not be revalidated/)
})

t.test('subscription methods are called on the connection', async t => {
  const events: string[] = []
  const messages = new Set<object>()
  const connection: Connection = {
    size: 0,
    call: (name, params, message) => {
      messages.add(message)
      events.push(`call ${name} ${JSON.stringify(params)}`)
      if (name === 'rootSubscribe') throw new RpcError('overloaded')
      return name === 'voteSubscribe' ? undefined : Buffer.from('7')
    },
    onDrain() {},
    afterReply: message => {
      events.push(`after ${messages.has(message)}`)
      messages.delete(message)
    },
    close: () => void events.push('close'),
  }
  const { connect } = await openSockets(t, {
    methods: { now: () => Buffer.from('true') },
    connect: (network, socket, { subscriptionsMax }) => {
      events.push(`connect ${network} ${subscriptionsMax} ${socket.isClosed}`)
      return connection
    },
  })
  const client = await connect()
  t.match(await client.call('now'), { result: true })
  t.strictSame(events.splice(0), [], 'made only when it is needed')
  t.match(await client.call('slotSubscribe'), { result: 7 })
  t.strictSame(events.splice(0), ['connect main 100 false', 'call slotSubscribe []', 'after true'])
  t.match(await client.call('rootSubscribe', ['x']), { error: { code: -32603 } })
  t.match(await client.call('voteSubscribe'), { error: { code: -32601 } })
  events.splice(0)
  client.send(`[${call('slotSubscribe', 1)},${call('now', 2)},${call('slotUnsubscribe', 3, 7)}]`)
  t.match(JSON.parse(await client.next()), [{ result: 7 }, { result: true }, { result: 7 }])
  t.strictSame(events.splice(0), [
    'call slotSubscribe []',
    'call slotUnsubscribe [7]',
    'after true',
  ])
  client.close(1000)
  await client.closed
  t.strictSame(events, ['close'])
  const other = await connect()
  other.close(1000)
  await other.closed
  t.equal(events.length, 1, 'one that subscribed to nothing has none')
})

/** A connection on which only `slotSubscribe` succeeds. */
const MOSTLY_FAILING: Connection = {
  size: 0,
  call: name => {
    if (name === 'slotSubscribe') return Buffer.from('7')
    throw new RpcError('subscriptionId')
  },
  onDrain() {},
  afterReply() {},
  close() {},
}

const openFailing = async (t: Test, limits: Partial<Grant['limits']> = {}) => {
  const timers = createFakeTimers()
  const grant = { ...GRANT, limits: { ...WIDE_LIMITS, ...limits } }
  const state = { isRevoked: false }
  const opened = await openSockets(t, {
    methods: { now: () => Buffer.from('true') },
    connect: () => MOSTLY_FAILING,
    authenticate: () => (state.isRevoked ? { reason: 'unknown' } : grant),
    timers,
  })
  const client = await opened.connect()
  const received = (): unknown[] =>
    client.messages.map(text => (JSON.parse(String(text)) as { id: unknown }).id)
  /** Sends a call and waits for its answer. */
  const ask = async (method: string, id: number): Promise<void> => {
    client.send(call(method, id))
    await eventually(() => received().includes(id))
  }
  return { ...opened, client, received, ask, timers, state }
}

t.test('failing subscribes are answered later and later, and are not in flight', async t => {
  const { client, received, ask, timers, load, budget } = await openFailing(t)
  for (let id = 0; id < 50; id++) client.send(call('rootUnsubscribe', id))
  // Other calls are answered at once.
  await ask('now', 50)
  t.strictSame(received(), [0, 1, 2, 50], 'three failures without a delay')
  t.equal(load().requestsInFlight, 0)
  t.ok(budget.bytes > 47 * 50, 'their bytes are counted')
  await timers.pass(100)
  await ask('now', 51)
  t.strictSame(received(), [0, 1, 2, 50, 3, 51])
  await timers.pass(4_900)
  await eventually(() => received().length === 52)
  t.equal(budget.bytes, 0)
  // A success ends it.
  client.send(call('rootUnsubscribe', 52))
  await ask('slotSubscribe', 53)
  t.notOk(received().includes(52))
  await ask('rootUnsubscribe', 54)
  client.destroy()
  await eventually(() => load().sockets === 0)
  t.equal(timers.waiting(), 0, 'the close drops what waits')
  t.equal(budget.bytes, 0)
})

t.test('subscribes over a limit are answered later and later, reads at once', async t => {
  const limits = { requestsPerSecondMax: 1, requestsBurstMax: 1 }
  const { client, received, ask, timers } = await openFailing(t, limits)
  await ask('slotSubscribe', 0)
  for (let id = 1; id <= 6; id++) client.send(call('slotSubscribe', id))
  await ask('now', 7)
  t.strictSame(received(), [0, 1, 2, 3, 7])
  t.match(JSON.parse(String(client.messages[1])), { error: { code: -32005 } })
  await timers.pass(400)
  await eventually(() => received().length === 8)
  t.strictSame(received().slice(5), [4, 5, 6])
  client.destroy()
})

t.test('a revoked access gets no delayed answer', async t => {
  const { client, received, ask, timers, world, state, sockets, budget } = await openFailing(t)
  for (let id = 0; id < 6; id++) client.send(call('rootUnsubscribe', id))
  await ask('now', 6)
  state.isRevoked = true
  world.version++
  sockets.revalidateAll()
  await timers.pass(5_000)
  await client.closed
  t.strictSame(received(), [0, 1, 2, 6])
  t.equal(budget.bytes, 0)
})
