import { Ajv } from 'ajv'
import t from 'tap'
import { SUBSCRIPTION_DESCRIPTIONS } from '../../src/pubsub/descriptions.js'
import { defaults } from '../../src/pubsub/options.js'
import { PubSub } from '../../src/pubsub/pubsub.js'
import { createFakeTimers } from '../fixtures/fake-timers.js'
import { createFakeFanout, toPass } from '../fixtures/pubsub/fake-fanout.js'
import { createFakeSockets } from '../fixtures/pubsub/fake-socket.js'

t.test('examples are answered as shown, and each can be unsubscribed', async t => {
  const sockets = createFakeSockets()
  const pubsub = new PubSub({
    network: 'main',
    transactions: 'full',
    options: defaults,
    fees: {
      prepare: () => async () => ({ slot: 1, result: Buffer.from('1') }),
      slot: () => undefined,
    },
    followSubmissions: () => () => ({ onDrain() {}, close() {} }),
    publish: sockets.publish,
    timers: createFakeTimers(),
    onDamaged: slot => t.fail(`damaged: ${slot}`),
    onFault: fault => t.fail(String(fault)),
  })
  const native = createFakeFanout()
  pubsub.replaceStore(() => native.fanout)
  await native.settle(toPass([]))
  const limits = { accessId: 'acc_1', subscriptionsMax: 10, onExceeded: () => {} }
  const ajv = new Ajv({ strict: false })
  let ids = 0
  const isUnsubscribe = ({ name }: { readonly name: string }): boolean => /Unsubscribe$/.test(name)
  for (const method of SUBSCRIPTION_DESCRIPTIONS) {
    const { name, example, result } = method
    if (example === undefined || isUnsubscribe(method)) continue
    const connection = pubsub.connect(sockets.open().socket, limits)
    const answer = connection.call(name, example.params, {})
    const id: unknown = JSON.parse(String(answer))
    t.equal(id, Number(example.result) + ids++, `${name}: the next id of an edge`)
    t.ok(ajv.validate(result, id), name)
    const end = name.replace('Subscribe', 'Unsubscribe')
    t.equal(String(connection.call(end, [id], {})), 'true', end)
    const described = SUBSCRIPTION_DESCRIPTIONS.find(method => method.name === end)
    t.ok(ajv.validate(described?.result ?? false, true), end)
    t.strictSame(described?.example, { params: [1], result: true }, end)
  }
  t.equal(ids, 10)
})
