import t from 'tap'
import {
  SubscriptionCounts,
  type SocketSubscriptions,
} from '../../../src/edge/websocket/subscription-counts.js'
import { countTurns } from '../../fixtures/count-turns.js'
import type { Principal } from '../../../src/access/limiter/usage-limiter.js'

const principalOf = (accessId: string): Principal =>
  ({ grant: { accessId } }) as unknown as Principal

const create = () => {
  const set: [accessId: string, subscriptions: number, subscriptionsOfSocket: number][] = []
  const clock = { ms: 0 }
  const counts = new SubscriptionCounts(
    {
      setSubscriptions: ({ grant }, { subscriptions, subscriptionsOfSocket }) =>
        void set.push([grant.accessId, subscriptions, subscriptionsOfSocket]),
    },
    () => clock.ms,
  )
  return { counts, set, clock }
}
const [a, b] = [principalOf('a'), principalOf('b')]

t.test('what an access has is added up, and reported once more when it has none', async t => {
  const { counts, set } = create()
  await counts.report([
    { principal: a, count: 2 },
    { principal: b, count: 1 },
    { principal: a, count: 5 },
  ])
  t.strictSame(set.splice(0), [
    ['a', 7, 5],
    ['b', 1, 1],
  ])
  await counts.report([{ principal: b, count: 3 }])
  t.strictSame(set.splice(0), [
    ['a', 0, 0],
    ['b', 3, 3],
  ])
  await counts.report([])
  t.strictSame(set.splice(0), [['b', 0, 0]])
})

t.test('many sockets are counted in several turns, by one report at a time', async t => {
  const { counts, set, clock } = create()
  const turns = countTurns(t)
  const countedIn = new Map<number, number>()
  function* sockets(): Generator<SocketSubscriptions> {
    for (let nth = 0; nth < 100; nth++) {
      clock.ms += 0.25
      countedIn.set(turns(), (countedIn.get(turns()) ?? 0) + 1)
      yield { principal: a, count: 1 }
    }
  }
  const running = counts.report(sockets())
  await counts.report([{ principal: b, count: 1 }])
  t.strictSame(set, [], 'the first one is not done')
  await running
  t.strictSame(set, [['a', 100, 1]])
  // The time of a turn begins after its first socket.
  t.strictSame([...countedIn.values()], new Array(20).fill(5))
  await counts.report([])
  t.strictSame(set.at(-1), ['a', 0, 0])
})

t.test('a failure ends a report, and not the next one', async t => {
  const { counts, set } = create()
  function* failing(): Generator<SocketSubscriptions> {
    yield { principal: a, count: 1 }
    throw new Error('closed')
  }
  await t.rejects(counts.report(failing()), { message: 'closed' })
  await counts.report([{ principal: a, count: 4 }])
  t.strictSame(set, [['a', 4, 4]])
})
