import bs58 from 'bs58'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import t from 'tap'
import { SubscriptionConnection, type ConnectionParts } from '../../src/pubsub/connection.js'
import { AccessBound } from '../../src/pubsub/access-bound.js'
import { defaults } from '../../src/pubsub/options.js'
import { Registry } from '../../src/pubsub/registry.js'
import { RpcError } from '../../src/shared/errors.js'
import { createFakeTimers } from '../fixtures/fake-timers.js'
import { createFakeFanout } from '../fixtures/pubsub/fake-fanout.js'
import { createFakeSockets } from '../fixtures/pubsub/fake-socket.js'

const KEY = '11111111111111111111111111111112'
const SIGNATURE = bs58.encode(new Uint8Array(64).fill(7))
const UNKNOWN = '-32602 Invalid subscription id.'
const LIMIT = '-32603 Internal Error: Subscription refused. Connection subscription limit reached'
const NOT_FOUND = '-32601 Method not found'

/** A topic of an id, as its first group has it. */
const ofFirstGroup = (topic: string): string => topic.split(':').slice(0, 2).join(':')

/** A timer without a wait. */
const atOnce = (run: () => void) => {
  run()
  return () => {}
}

const toKeysError = (max: number): RpcError => new RpcError('subscriptionKeys', { max })
const toReadsError = (max: number): RpcError => new RpcError('blockReads', { max })

const createHarness = (options = defaults) => {
  const native = createFakeFanout()
  const sockets = createFakeSockets()
  const registry = new Registry('main', options)
  registry.setFanout(native.fanout)
  const { accessKeysMax, accessReadsMax, keysMax, readsMax } = options
  const filterKeys = new AccessBound(accessKeysMax, keysMax, toKeysError)
  const blockReads = new AccessBound(accessReadsMax, readsMax, toReadsError)
  const events: unknown[] = []
  const timers = createFakeTimers()
  const connect = (parts: Partial<ConnectionParts> = {}) => {
    const own = sockets.open()
    const connection = new SubscriptionConnection({
      socket: own.socket,
      socketNumber: 3,
      limits: { accessId: 'acc_1', subscriptionsMax: 100, onExceeded: () => {} },
      registry,
      filterKeys,
      blockReads,
      options,
      rules: { ...options, transactions: 'full', scope: undefined },
      setTimer: timers.setTimer,
      onFault: fault => events.push(String(fault)),
      onBacklog: () => events.push('backlog'),
      onClose: () => events.push('close'),
      ...parts,
    })
    /**
     * A call in its own message whose reply is sent at once: the result, or the refusal's text.
     */
    const call = (method: string, params: unknown = []): unknown => {
      const message = {}
      try {
        const result = connection.call(method, params, message)
        return result === undefined ? undefined : JSON.parse(Buffer.from(result).toString())
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        return `${error.row.code} ${error.message}`
      } finally {
        connection.afterReply(message)
      }
    }
    return { ...own, connection, call, closed: () => own.closed }
  }
  return { native, sockets, registry, filterKeys, events, timers, connect }
}

t.test('frames start after the reply', async t => {
  const { native, connect } = createHarness()
  const { connection, topics } = connect()
  const message = {}
  const result = connection.call('slotSubscribe', [], message)
  t.equal(String(result), '1')
  t.equal(native.added.size, 0)
  t.strictSame(topics(), [])
  connection.afterReply({})
  t.equal(native.added.size, 0, 'the reply to another message does not start them')
  connection.afterReply(message)
  t.equal(native.added.size, 1)
  t.strictSame(topics(), ['main:1'])
})

t.test('an equal subscription returns the same id, and one unsubscribe ends it', async t => {
  const { native, connect } = createHarness()
  const { call, topics } = connect()
  t.equal(call('accountSubscribe', [KEY]), 1)
  t.equal(call('accountSubscribe', [KEY, { encoding: 'base64' }]), 1)
  t.equal(call('accountSubscribe', [KEY, { commitment: 'confirmed' }]), 2)
  t.equal(call('accountUnsubscribe', [1]), true)
  t.strictSame([...native.added.keys()], [2])
  t.strictSame(topics(), ['main:2'])
  t.equal(call('accountUnsubscribe', [1]), true, 'an ended id')
})

t.test('sockets share an id, and each unsubscribes for itself', async t => {
  const { native, sockets, connect } = createHarness()
  const [one, other] = [connect(), connect()]
  t.equal(one.call('slotSubscribe'), 1)
  t.equal(other.call('slotSubscribe'), 1)
  sockets.publish('main:1', Buffer.from('a'))
  t.equal(one.call('rootUnsubscribe', [1]), true, 'by the name of any unsubscribe method')
  sockets.publish('main:1', Buffer.from('b'))
  t.strictSame(one.received, ['a'])
  t.strictSame(other.received, ['a', 'b'])
  t.equal(native.added.size, 1)
  other.connection.close()
  t.equal(native.added.size, 0)
})

t.test('an id of another socket is unknown', async t => {
  const { connect } = createHarness()
  const [one, other] = [connect(), connect()]
  one.call('slotSubscribe')
  t.equal(other.call('slotUnsubscribe', [1]), UNKNOWN)
  t.equal(other.call('slotUnsubscribe', [0]), UNKNOWN)
  t.equal(other.call('slotUnsubscribe', [2 ** 64]), UNKNOWN)
})

t.test('ended ids are remembered, up to the bound', async t => {
  const { connect } = createHarness({ ...defaults, idsRememberedMax: 2 })
  const { call } = connect()
  for (const id of [1, 2, 3]) {
    t.equal(call('slotSubscribe'), id)
    t.equal(call('slotUnsubscribe', [id]), true)
  }
  t.equal(call('slotUnsubscribe', [1]), UNKNOWN)
  t.equal(call('slotUnsubscribe', [2]), true)
  t.equal(call('slotUnsubscribe', [3]), true)
})

t.test('signature subscriptions are not shared, and end with their last frame', async t => {
  const { native, registry, events, timers, connect } = createHarness()
  const [one, other] = [connect(), connect()]
  t.equal(one.call('signatureSubscribe', [SIGNATURE]), 1)
  t.equal(one.call('signatureSubscribe', [SIGNATURE]), 2)
  t.equal(other.call('signatureSubscribe', [SIGNATURE]), 3)
  await timers.pass(100)
  t.strictSame(events, ['backlog', 'backlog', 'backlog'])
  t.strictSame(one.topics(), [])
  registry.byId(1)?.onFrame?.(Buffer.from('received'), false)
  registry.byId(1)?.onFrame?.(Buffer.from('done'), true)
  t.strictSame(one.received, ['received', 'done'])
  t.equal(registry.byId(1), undefined)
  t.strictSame([...native.added.keys()], [2, 3])
  t.equal(one.call('signatureUnsubscribe', [1]), true, 'web3.js may unsubscribe after the end')
})

t.test(
  'a signature that is confirmed already is not notified within 5 ms of the reply',
  async t => {
    const { native, events, timers, connect } = createHarness()
    const [one, gone] = [connect(), connect()]
    one.call('signatureSubscribe', [SIGNATURE])
    one.call('signatureSubscribe', [SIGNATURE])
    gone.call('signatureSubscribe', [SIGNATURE])
    one.call('slotSubscribe')
    // A new block has a pass made for all that are known, whoever caused it.
    await timers.pass(5)
    t.strictSame([...native.added.keys()], [4], 'the next slot is not missed')
    t.equal(one.call('signatureUnsubscribe', [1]), true)
    gone.connection.close()
    await timers.pass(95)
    t.strictSame([...native.added.keys()], [4, 2], 'what has ended meanwhile does not start')
    t.strictSame(events, ['close', 'backlog'])
    t.equal(timers.waiting(), 0)
  },
)

t.test('params that are no array, and methods that are not served', async t => {
  const { connect } = createHarness()
  const { call } = connect()
  t.equal(call('slotSubscribe', {}), '-32602 `params` should be an array')
  t.equal(call('getSlot'), undefined)
  t.equal(call('blockSubscribe', ['all']), NOT_FOUND)
  t.equal(call('voteUnsubscribe', [1]), NOT_FOUND)
  t.equal(call('slotsUpdatesSubscribe'), NOT_FOUND)
})

t.test('a socket’s subscriptions are bounded', async t => {
  const { connect } = createHarness()
  let exceeded = 0
  const limits = { accessId: 'acc_1', subscriptionsMax: 2, onExceeded: () => void exceeded++ }
  const { call, connection } = connect({ limits })
  t.equal(call('slotSubscribe'), 1)
  t.equal(call('rootSubscribe'), 2)
  t.equal(call('slotSubscribe'), 1, 'an existing one')
  t.equal(call('logsSubscribe', ['all']), LIMIT)
  t.equal(call('slotUnsubscribe', [1]), true)
  t.equal(call('logsSubscribe', ['all']), 3)
  limits.subscriptionsMax = 1
  t.equal(connection.size, 2)
  t.equal(call('slotUnsubscribe', [1]), true)
  t.equal(call('slotSubscribe'), LIMIT, 'a smaller limit applies to the next one')
  t.equal(exceeded, 2, 'each is counted')
})

t.test(
  'accounts in filters are counted to the access as long as one of its sockets has them',
  async t => {
    const { connect, filterKeys } = createHarness({ ...defaults, accessKeysMax: 3, keysMax: 4 })
    const [one, other] = [connect(), connect()]
    const limits = { accessId: 'acc_2', subscriptionsMax: 100, onExceeded: () => {} }
    const stranger = connect({ limits })
    const over = (max: number): string =>
      `-32603 Internal Error: Subscription refused. Limit of ${max} accounts in filters reached`
    const nodeLimit = '-32603 Internal Error: Subscription refused. Node subscription limit reached'
    const include = (count: number) => [{ accountInclude: Array(count).fill(KEY) }]
    const named = { filter: { accounts: { required: [KEY] } } }
    t.equal(one.call('transactionSubscribe', include(2)), 1)
    t.equal(other.call('transactionSubscribe', include(2)), over(3), 'another socket of the access')
    t.equal(other.call('transactionSubscribe', named), 2)
    t.equal(one.call('transactionSubscribe', named), over(3))
    t.equal(stranger.call('transactionSubscribe', include(2)), nodeLimit)
    t.equal(stranger.call('transactionSubscribe', include(1)), 3)
    t.equal(one.call('transactionUnsubscribe', [1]), true)
    t.equal(one.call('transactionSubscribe', include(2)), 4)
    t.equal(one.call('logsSubscribe', named), '-32602 `params` should be an array')
    for (const { connection } of [one, other, stranger]) connection.close()
    t.doesNotThrow(() => filterKeys.check('acc_1', 3))
    t.doesNotThrow(() => filterKeys.check('acc_3', 3))
  },
)

t.test('a message may unsubscribe what it subscribed to', async t => {
  const { native, connect } = createHarness()
  const { connection, topics } = connect()
  const message = {}
  connection.call('slotSubscribe', [], message)
  connection.call('rootSubscribe', [], message)
  connection.call('slotUnsubscribe', [1], message)
  connection.afterReply(message)
  connection.afterReply(message)
  t.strictSame([...native.added.keys()], [2])
  t.strictSame(topics(), ['main:2'])
})

t.test('a client that keeps failing keeps its socket and its subscriptions', async t => {
  const { native, registry, connect } = createHarness()
  const { call, closed } = connect()
  call('slotSubscribe')
  for (let i = 0; i < 1_000; i++) t.equal(call('slotUnsubscribe', [99]), UNKNOWN)
  t.equal(closed(), undefined)
  t.equal(native.added.size, 1)
  t.equal(registry.size().subscriptions, 1)
})

t.test('a subscription that cannot start closes the socket', async t => {
  const { native, registry, events, connect } = createHarness()
  const { call, closed } = connect()
  native.fanout.addSlot(1)
  call('slotSubscribe')
  t.strictSame(closed(), { code: 1013, reason: 'subscription failed' })
  t.strictSame(events, ['Error: 1 is in use', 'close'])
  t.equal(registry.size().subscriptions, 0)
})

t.test('drop closes only sockets with subscriptions', async t => {
  const { native, connect } = createHarness()
  const [one, other] = [connect(), connect()]
  one.call('slotSubscribe')
  for (const { connection } of [one, other]) connection.drop(1012, 'missed slots')
  t.strictSame(one.closed(), { code: 1012, reason: 'missed slots' })
  t.equal(other.closed(), undefined)
  t.equal(native.added.size, 0)
})

t.test('ids, subscriptions and the fan-out agree after any calls', async () => {
  const step = fc.record({
    what: fc.constantFrom(
      ...['subscribe', 'subscribe', 'subscribe', 'unsubscribe', 'final', 'close'],
    ),
    socket: fc.nat(3),
    kind: fc.constantFrom<[string, unknown[]]>(
      ['slotSubscribe', []],
      ['rootSubscribe', []],
      ['accountSubscribe', [KEY]],
      ['logsSubscribe', ['all']],
      ['signatureSubscribe', [SIGNATURE]],
    ),
    id: fc.integer({ min: 1, max: 30 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), steps => {
      const options = { ...defaults, turnFramesMax: 2 }
      const { native, registry, sockets, connect } = createHarness(options)
      const open = () => connect({ setTimer: atOnce })
      const all = Array.from({ length: 4 }, () => ({ own: open(), active: new Set<number>() }))
      const earlier = all.map(() => new Set<number>())
      for (const { what, socket, kind, id } of steps) {
        const at = all[socket]
        const past = earlier[socket]
        if (at === undefined || past === undefined) throw new Error('no socket')
        if (what === 'subscribe') {
          const answer = at.own.call(...kind)
          assert.equal(typeof answer, 'number')
          at.active.add(Number(answer))
        } else if (what === 'unsubscribe') {
          const answer = at.own.call('slotUnsubscribe', [id])
          if (at.active.delete(id)) {
            assert.equal(answer, true)
            past.add(id)
          } else if (past.has(id)) assert.equal(answer, true)
          else assert.equal(answer, UNKNOWN)
        } else if (what === 'final') {
          const entry = registry.byId(id)
          if (entry?.onFrame === undefined) continue
          entry.onFrame(Buffer.from('{}'), true)
          for (const [index, one] of all.entries())
            if (one.active.delete(id)) earlier[index]?.add(id)
        } else {
          at.own.connection.close()
          at.own.socket.close(1012, 'restart')
          all[socket] = { own: open(), active: new Set() }
          past.clear()
        }
        // A client that failed too often was closed and released everything.
        for (const [index, one] of all.entries())
          if (one.own.closed() !== undefined) {
            all[index] = { own: open(), active: new Set() }
            earlier[index]?.clear()
          }
        const ids = new Set(all.flatMap(({ active }) => [...active]))
        assert.deepEqual(registry.size(), {
          ids: ids.size,
          subscriptions: all.reduce((sum, { active }) => sum + active.size, 0),
        })
        assert.deepEqual(new Set(native.added.keys()), ids)
        const topics = all.flatMap(({ own }) => own.topics().map(ofFirstGroup))
        const shared = all.flatMap(({ active }) =>
          [...active]
            .filter(one => registry.byId(one)?.groups !== undefined)
            .map(one => `main:${one}`),
        )
        assert.deepEqual(topics.sort(), shared.sort())
      }
      for (const { own } of all) {
        own.connection.close()
        own.socket.close(1012, 'restart')
      }
      assert.deepEqual(registry.size(), { ids: 0, subscriptions: 0 })
      const { addCount, removeCount } = native.counts()
      assert.ok(addCount === removeCount && native.added.size === 0)
      assert.equal(sockets.topicCount(), 0)
    }),
  )
})

t.test('what is replayed for a socket waits until it has taken its queue', async t => {
  const { native, registry, timers, events, connect } = createHarness()
  let queuedBytes = 0
  let drains = 0
  const open = () => {
    const own = createFakeSockets().open()
    const socket = Object.create(own.socket, {
      queuedBytes: { get: () => queuedBytes },
      notifyDrain: { value: () => (drains += 1) },
    }) as typeof own.socket
    return connect({ socket })
  }
  const { call, connection } = open()
  const from = Buffer.from([0x10, ...Array<number>(16).fill(0)]).toString('base64url')
  t.equal(call('slotSubscribe', [{ from }]), 1)
  await timers.pass(100)
  t.strictSame(native.added.get(1), ['slot', { access: 'acc_1', socket: 3, from }])
  const send = (isReplayed: boolean) =>
    registry.byId(1)?.onFrame?.(Buffer.from('frame'), false, isReplayed)
  send(true)
  queuedBytes = defaults.replayQueuedBytesMax + 1
  send(false)
  t.strictSame([native.holds, drains], [[], 0])
  send(true)
  send(true)
  t.strictSame([native.holds, drains], [[[3, true]], 1])
  events.length = 0
  connection.onDrain()
  connection.onDrain()
  t.strictSame(native.holds.splice(0), [
    [3, true],
    [3, false],
  ])
  t.strictSame(events, ['backlog'])
  send(true)
  connection.close()
  t.strictSame(native.holds, [
    [3, true],
    [3, false],
  ])
})
