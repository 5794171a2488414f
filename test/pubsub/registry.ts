import fc from 'fast-check'
import assert from 'node:assert/strict'
import t from 'tap'
import { createRegistry, type Entry } from '../../src/pubsub/registry.js'
import type { Subscription } from '../../src/pubsub/subscription.js'
import { attempt } from '../fixtures/attempt.js'
import { createFakeFanout } from '../fixtures/pubsub/fake-fanout.js'

const LIMIT = '-32603 Internal Error: Subscription refused. Node subscription limit reached'

const to = (key: string | undefined): Subscription => ({
  key,
  add: (fanout, id) => fanout.addLogs(id, 'all'),
})

t.test('one id for one key, from 1 on, and a new one for what is shared with nobody', async t => {
  const registry = createRegistry('main', 10)
  const a = registry.hold(to('a'), undefined)
  t.equal(a.id, 1)
  t.equal(a.topic, 'main:1')
  t.equal(registry.hold(to('a'), undefined), a)
  t.equal(registry.find('a'), a)
  t.equal(registry.byId(1), a)
  const own = [registry.hold(to(undefined), () => {}), registry.hold(to(undefined), () => {})]
  t.strictSame(
    own.map(({ id, topic }) => [id, topic]),
    [
      [2, undefined],
      [3, undefined],
    ],
  )
  t.strictSame(registry.size(), { ids: 3, holders: 4 })
})

t.test('an id ends with its last holder, and is not used again', async t => {
  const { fanout, added, counts } = createFakeFanout()
  const registry = createRegistry('main', 10)
  registry.use(fanout)
  const entry = registry.hold(to('a'), undefined)
  registry.hold(to('a'), undefined)
  t.equal(added.size, 0, 'not before its reply has left')
  registry.start(entry)
  registry.start(entry)
  t.strictSame([...added.keys()], [1])
  registry.release(entry)
  t.equal(added.size, 1)
  registry.release(entry)
  t.equal(added.size, 0)
  t.equal(registry.find('a'), undefined)
  t.equal(registry.byId(1), undefined)
  t.equal(registry.hold(to('a'), undefined).id, 2)
  registry.release(registry.hold(to('b'), undefined))
  t.strictSame(counts(), { addCount: 1, removeCount: 1 }, 'what never started is not removed')
})

t.test('the bound counts holders', async t => {
  const registry = createRegistry('main', 2)
  const entry = registry.hold(to('a'), undefined)
  registry.hold(to('a'), undefined)
  t.equal(
    attempt(() => registry.hold(to('a'), undefined)),
    LIMIT,
  )
  registry.release(entry)
  t.equal(registry.hold(to('b'), undefined).id, 2)
})

t.test('another fan-out gets what has started', async t => {
  const registry = createRegistry('main', 10)
  const started = registry.hold(to('a'), undefined)
  registry.hold(to('b'), undefined)
  registry.start(started)
  const [first, second] = [createFakeFanout(), createFakeFanout()]
  registry.use(first.fanout)
  t.strictSame([...first.added.keys()], [1])
  registry.use(undefined)
  registry.use(second.fanout)
  t.strictSame([...second.added.keys()], [1])
})

t.test('random holders leave nothing behind', async () => {
  const step = fc.record({
    what: fc.constantFrom('hold', 'hold', 'start', 'release', 'replace'),
    key: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }),
    at: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      let native = createFakeFanout()
      const registry = createRegistry('main', 1_000)
      registry.use(native.fanout)
      const held: Entry[] = []
      for (const { what, key, at } of steps) {
        const index = held.length === 0 ? 0 : at % held.length
        const entry = held[index]
        if (what === 'hold') {
          held.push(registry.hold(to(key), undefined))
        } else if (what === 'replace') {
          native = createFakeFanout()
          registry.use(native.fanout)
        } else if (entry !== undefined && what === 'start') {
          registry.start(entry)
        } else if (entry !== undefined) {
          held.splice(index, 1)
          registry.release(entry)
        }
        const alive = [...new Set(held)]
        assert.deepEqual(registry.size(), { ids: alive.length, holders: held.length })
        for (const one of alive) {
          assert.equal(one.holders, held.filter(other => other === one).length)
          assert.equal(registry.byId(one.id), one)
          const { key: itsKey } = one.subscription
          if (itsKey !== undefined) assert.equal(registry.find(itsKey), one)
        }
        assert.equal(new Set(alive.map(({ id }) => id)).size, alive.length)
        assert.deepEqual(
          [...native.added.keys()].sort(),
          alive
            .filter(({ isStarted }) => isStarted)
            .map(({ id }) => id)
            .sort(),
        )
      }
    }),
  )
})
