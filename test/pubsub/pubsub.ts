import bs58 from 'bs58'
import t from 'tap'
import { defaults } from '../../src/pubsub/options.js'
import { PubSub } from '../../src/pubsub/pubsub.js'
import { createFakeTimers } from '../fixtures/fake-timers.js'
import { createFakeFanout, toPass } from '../fixtures/pubsub/fake-fanout.js'
import { createFakeSockets } from '../fixtures/pubsub/fake-socket.js'
import { until } from '../fixtures/until.js'

const SIGNATURE = bs58.encode(new Uint8Array(64).fill(7))

const create = (options = defaults) => {
  const sockets = createFakeSockets()
  const faults: string[] = []
  const timers = createFakeTimers()
  const pubsub = new PubSub({
    network: 'main',
    transactions: 'logs',
    options,
    publish: sockets.publish,
    timers,
    onFault: fault => faults.push(String(fault)),
    onDamaged: slot => faults.push(`damaged: ${slot}`),
  })
  const connect = () => {
    const own = sockets.open()
    const connection = pubsub.connect(own.socket, {
      accessId: 'acc_1',
      subscriptionsMax: 10,
      onExceeded: () => {},
    })
    const call = (method: string, params: unknown = []): string => {
      const message = {}
      const result = connection.call(method, params, message)
      connection.afterReply(message)
      return String(result)
    }
    return { ...own, call, closed: () => own.closed }
  }
  return { pubsub, faults, timers, connect }
}

t.test('damage of a slot is reported once, and counted each time', async t => {
  const { pubsub, faults } = create()
  const native = createFakeFanout()
  pubsub.replaceStore(() => native.fanout)
  for (const damagedSlot of [undefined, 7, 7, undefined, 8]) {
    await native.settle(toPass([], { damagedSlot }))
    pubsub.advance()
  }
  t.strictSame(faults, ['damaged: 7', 'damaged: 8'])
  t.match(pubsub.stats(), { damaged: 3 })
})

t.test('frames are sent to subscribed sockets only', async t => {
  const { pubsub, connect } = create()
  const native = createFakeFanout()
  pubsub.replaceStore(() => native.fanout)
  await native.settle(toPass([]))
  const [one, other, third] = [connect(), connect(), connect()]
  t.equal(one.call('slotSubscribe'), '1')
  t.equal(other.call('slotSubscribe'), '1')
  t.equal(third.call('rootSubscribe'), '2')
  pubsub.advance()
  await native.settle(
    toPass([
      { id: 1, text: 'slot' },
      { id: 2, text: 'root' },
      { id: 9, text: 'no subscriber' },
    ]),
  )
  t.strictSame([one.received, other.received, third.received], [['slot'], ['slot'], ['root']])
  t.strictSame(pubsub.stats(), {
    subscriptions: 3,
    ids: 2,
    frames: 3,
    bytes: 21,
    dropped: 0,
    damaged: 0,
  })
})

t.test('a frame reaches each of many sockets once, some in each turn', async t => {
  const { pubsub, connect } = create({ ...defaults, turnFramesMax: 2 })
  const native = createFakeFanout()
  pubsub.replaceStore(() => native.fanout)
  await native.settle(toPass([]))
  const all = Array.from({ length: 5 }, connect)
  for (const one of all) t.equal(one.call('slotSubscribe'), '1')
  pubsub.advance()
  await native.settle(
    toPass([
      { id: 1, text: 'first' },
      { id: 1, text: 'second' },
    ]),
  )
  const counts = () => all.map(({ received }) => received.length)
  t.strictSame(counts(), [1, 1, 0, 0, 0])
  // It leaves before its turn has come.
  all[4]?.call('slotUnsubscribe', [1])
  await until('all are sent', () => pubsub.stats().frames === 2)
  t.strictSame(counts(), [2, 2, 2, 2, 0])
  for (const { received } of all.slice(0, 4)) t.strictSame(received, ['first', 'second'])
})

t.test('a signature subscription starts a pass, and ends with its last frame', async t => {
  const { pubsub, timers, connect } = create()
  const native = createFakeFanout()
  pubsub.replaceStore(() => native.fanout)
  await native.settle(toPass([]))
  const one = connect()
  t.equal(one.call('signatureSubscribe', [SIGNATURE]), '1')
  t.equal(native.waiting(), 0)
  await timers.pass(100)
  t.equal(native.waiting(), 1)
  await native.settle(
    toPass([
      { id: 1, text: 'received' },
      { id: 1, text: 'done', isLast: true },
    ]),
  )
  t.strictSame(one.received, ['received', 'done'])
  t.equal(pubsub.stats().subscriptions, 0)
})

t.test('missed slots close the sockets with subscriptions only', async t => {
  const { pubsub, connect } = create()
  const native = createFakeFanout()
  pubsub.replaceStore(() => native.fanout)
  const [one, other] = [connect(), connect()]
  one.call('slotSubscribe')
  await native.settle(toPass([{ id: 1, text: 'late' }], { isLost: true }))
  t.strictSame(one.closed(), { code: 1012, reason: 'missed slots' })
  t.strictSame(one.received, [])
  t.equal(other.closed(), undefined)
  t.equal(pubsub.stats().dropped, 1)
  other.call('slotSubscribe')
  pubsub.advance()
  await native.settle(toPass([{ id: 2, text: 'new' }]))
  t.strictSame(other.received, ['new'])
})

t.test('subscriptions made before the first store use it; the next store closes them', async t => {
  const { pubsub, connect } = create()
  const one = connect()
  one.call('slotSubscribe')
  pubsub.advance()
  const [first, second] = [createFakeFanout(), createFakeFanout()]
  pubsub.replaceStore(() => first.fanout)
  t.strictSame([...first.added.keys()], [1])
  await first.settle(toPass([{ id: 1, text: 'a' }]))
  t.strictSame(one.received, ['a'])
  pubsub.advance()
  pubsub.replaceStore(() => second.fanout)
  t.equal(first.isClosed, true)
  t.strictSame(one.closed(), { code: 1012, reason: 'index replaced' })
  await first.settle(toPass([{ id: 1, text: 'of the old store' }]))
  t.strictSame(one.received, ['a'])
  t.equal(second.added.size, 0)
  pubsub.replaceStore(undefined)
  t.equal(second.isClosed, true)
})

t.test('a store that cannot be opened is retried, and its failure reported once', async t => {
  const { pubsub, faults, connect } = create()
  const native = createFakeFanout()
  const one = connect()
  one.call('slotSubscribe')
  let failures = 0
  pubsub.replaceStore(() => {
    if (++failures <= 3) throw new Error('no room')
    return native.fanout
  })
  for (let i = 0; i < 3; i++) pubsub.advance()
  t.strictSame(faults, ['Error: no room'])
  t.strictSame([...native.added.keys()], [1])
})

t.test('close releases everything', async t => {
  const { pubsub, connect } = create()
  const native = createFakeFanout()
  pubsub.replaceStore(() => native.fanout)
  const one = connect()
  one.call('slotSubscribe')
  pubsub.close()
  t.equal(native.isClosed, true)
  t.equal(pubsub.stats().subscriptions, 0)
  pubsub.advance()
  pubsub.close()
})
