import fc from 'fast-check'
import assert from 'node:assert/strict'
import t from 'tap'
import { Registry, type Entry } from '../../src/pubsub/registry.js'
import type { Subscription } from '../../src/pubsub/subscription.js'
import { attempt } from '../fixtures/attempt.js'
import { createFakeFanout } from '../fixtures/pubsub/fake-fanout.js'

const LIMIT = '-32603 Internal Error: Subscription refused. Node subscription limit reached'

const to = (key: string | undefined): Subscription => ({
  key,
  add: (fanout, id) => fanout.addLogs(id, 'all'),
})

t.test('equal keys share an id; a subscription without a key gets its own', async t => {
  const registry = new Registry('main', { subscriptionsMax: 10, turnFramesMax: 2 })
  const a = registry.acquire(to('a'), undefined)
  t.equal(a.id, 1)
  t.equal(registry.acquire(to('a'), undefined), a)
  t.equal(registry.find('a'), a)
  t.equal(registry.byId(1), a)
  const own = [registry.acquire(to(undefined), () => {}), registry.acquire(to(undefined), () => {})]
  t.strictSame(
    own.map(({ id, groups }) => [id, groups]),
    [
      [2, undefined],
      [3, undefined],
    ],
  )
  t.strictSame(registry.size(), { ids: 3, subscriptions: 4 })
})

t.test('an id ends with its last subscription, and is not reused', async t => {
  const { fanout, added, counts } = createFakeFanout()
  const registry = new Registry('main', { subscriptionsMax: 10, turnFramesMax: 2 })
  registry.setFanout(fanout)
  const entry = registry.acquire(to('a'), undefined)
  registry.acquire(to('a'), undefined)
  t.equal(added.size, 0, 'not before its reply is sent')
  registry.start(entry)
  registry.start(entry)
  t.strictSame([...added.keys()], [1])
  registry.release(entry)
  t.equal(added.size, 1)
  registry.release(entry)
  t.equal(added.size, 0)
  t.equal(registry.find('a'), undefined)
  t.equal(registry.byId(1), undefined)
  t.equal(registry.acquire(to('a'), undefined).id, 2)
  registry.release(registry.acquire(to('b'), undefined))
  t.strictSame(
    counts(),
    { addCount: 1, removeCount: 1 },
    'an id that was never started is not removed',
  )
})

t.test('the sockets of an id are in groups of a bounded size', async t => {
  const registry = new Registry('main', { subscriptionsMax: 10, turnFramesMax: 2 })
  const entry = registry.acquire(to('a'), undefined)
  for (let count = 1; count < 5; count++) registry.acquire(to('a'), undefined)
  const groups = Array.from({ length: 5 }, () => registry.join(entry))
  t.strictSame(
    groups.map(group => group?.topic),
    ['main:1', 'main:1', 'main:1:1', 'main:1:1', 'main:1:2'],
  )
  registry.release(entry, groups[2])
  registry.acquire(to('a'), undefined)
  t.equal(registry.join(entry)?.topic, 'main:1:1', 'a place that is free is taken again')
  t.strictSame(
    entry.groups?.map(({ size }) => size),
    [2, 2, 1],
  )
  const own = registry.acquire(to(undefined), () => undefined)
  t.equal(registry.join(own), undefined)
})

t.test('the bound counts subscriptions', async t => {
  const registry = new Registry('main', { subscriptionsMax: 2, turnFramesMax: 2 })
  const entry = registry.acquire(to('a'), undefined)
  registry.acquire(to('a'), undefined)
  t.equal(
    attempt(() => registry.acquire(to('a'), undefined)),
    LIMIT,
  )
  registry.release(entry)
  t.equal(registry.acquire(to('b'), undefined).id, 2)
})

t.test('another fan-out gets all started ids', async t => {
  const registry = new Registry('main', { subscriptionsMax: 10, turnFramesMax: 2 })
  const started = registry.acquire(to('a'), undefined)
  registry.acquire(to('b'), undefined)
  registry.start(started)
  const [first, second] = [createFakeFanout(), createFakeFanout()]
  registry.setFanout(first.fanout)
  t.strictSame([...first.added.keys()], [1])
  registry.setFanout(undefined)
  registry.setFanout(second.fanout)
  t.strictSame([...second.added.keys()], [1])
})

t.test('random subscriptions leave nothing behind', async () => {
  const step = fc.record({
    what: fc.constantFrom('acquire', 'acquire', 'start', 'release', 'replace'),
    key: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }),
    at: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      let native = createFakeFanout()
      const registry = new Registry('main', { subscriptionsMax: 1_000, turnFramesMax: 2 })
      registry.setFanout(native.fanout)
      const acquired: Entry[] = []
      for (const { what, key, at } of steps) {
        const index = acquired.length === 0 ? 0 : at % acquired.length
        const entry = acquired[index]
        if (what === 'acquire') {
          acquired.push(registry.acquire(to(key), undefined))
        } else if (what === 'replace') {
          native = createFakeFanout()
          registry.setFanout(native.fanout)
        } else if (entry !== undefined && what === 'start') {
          registry.start(entry)
        } else if (entry !== undefined) {
          acquired.splice(index, 1)
          registry.release(entry)
        }
        const remaining = [...new Set(acquired)]
        assert.deepEqual(registry.size(), { ids: remaining.length, subscriptions: acquired.length })
        for (const one of remaining) {
          assert.equal(one.refCount, acquired.filter(other => other === one).length)
          assert.equal(registry.byId(one.id), one)
          const { key: itsKey } = one.subscription
          if (itsKey !== undefined) assert.equal(registry.find(itsKey), one)
        }
        assert.equal(new Set(remaining.map(({ id }) => id)).size, remaining.length)
        assert.deepEqual(
          [...native.added.keys()].sort(),
          remaining
            .filter(({ isStarted }) => isStarted)
            .map(({ id }) => id)
            .sort(),
        )
      }
    }),
  )
})
