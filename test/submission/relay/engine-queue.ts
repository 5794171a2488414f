import t from 'tap'
import { EngineOrder } from '../../../src/submission/relay/engine-order.js'
import { EngineQueue, type QueueOptions } from '../../../src/submission/relay/engine-queue.js'
import { createTokenBucket } from '../../../src/submission/relay/token-bucket.js'

const toOrder = (): EngineOrder => new EngineOrder(() => performance.now())

/** A queue over a real bucket of `perSecond`; `order` is who got a token. */
const open = (perSecond: number, options: Partial<QueueOptions> = {}) => {
  const bucket = createTokenBucket(
    { requestsPerSecondMax: perSecond, requestsBurstMax: 1 },
    { words: new BigInt64Array(1), index: 0, nowNs: process.hrtime.bigint },
  )
  const queue = new EngineQueue(
    {
      queueMs: 300,
      requestsPerSecondMax: perSecond,
      queuedPerAccessMax: 64,
      queuedMax: 1_024,
      ...options,
    },
    { bucket, order: toOrder(), now: () => performance.now() },
  )
  const order: string[] = []
  const enter = async (accessId: string): Promise<boolean> => {
    const isTaken = await queue.enter(accessId)
    if (isTaken) order.push(accessId)
    return isTaken
  }
  return { queue, order, enter }
}

t.test('tokens are for the access that got one least recently', async t => {
  const { queue, order, enter } = open(50)
  const all = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'c'].map(enter)
  t.equal(queue.size, 7)
  t.ok((await Promise.all(all)).every(isTaken => isTaken))
  t.strictSame(order, ['a', 'b', 'c', 'a', 'b', 'a', 'a', 'a'])
  t.equal(queue.size, 0)
})

t.test('a later request of another access is before those that wait', async t => {
  const { order, enter } = open(20)
  const first = ['a', 'a', 'a'].map(enter)
  await first[0]
  const late = enter('b')
  t.equal(await late, true)
  t.strictSame(order, ['a', 'b'])
  await Promise.all(first)
})

t.test('a request waits no longer than `queueMs`', async t => {
  const { queue, enter } = open(10, { queueMs: 150 })
  const begunMs = performance.now()
  const all = await Promise.all([1, 2, 3, 4].map(() => enter('a')))
  t.strictSame(all, [true, true, false, false])
  const tookMs = performance.now() - begunMs
  t.ok(tookMs >= 149 && tookMs < 5_000, `${tookMs} ms`)
  t.equal(queue.size, 0)
})

t.test('what cannot have a token within `queueMs` is refused at once', t => {
  const { queue } = open(1)
  t.equal(queue.enter('a'), true)
  t.equal(queue.enter('a'), false)
  t.equal(queue.enter('b'), false)
  t.equal(queue.size, 0)
  t.end()
})

t.test('a request of an access that has none takes the place of one of many', async t => {
  const { enter } = open(50, { queueMs: 60_000, queuedPerAccessMax: 4, queuedMax: 5 })
  t.equal(await enter('a'), true)
  const many = ['a', 'a', 'a', 'a', 'b'].map(enter)
  const other = enter('c')
  t.equal(await many[3], false, 'the newest of the access with the most')
  t.equal(await enter('c'), false, 'one place each')
  t.strictSame(await Promise.all([...many.slice(0, 3), many[4], other]), Array(5).fill(true))
})

t.test('bounds of requests that wait, of one access and of all', async t => {
  const { queue, enter } = open(50, { queueMs: 60_000, queuedPerAccessMax: 2, queuedMax: 3 })
  t.equal(queue.enter('a'), true)
  const waiting = ['a', 'a', 'b'].map(enter)
  t.equal(queue.enter('a'), false, 'two of this access wait')
  t.equal(queue.enter('b'), false, 'three wait')
  t.strictSame(await Promise.all(waiting), [true, true, true])
})

t.test('no token comes faster than the rate', async t => {
  const { enter } = open(100, { queueMs: 2_000 })
  const begunMs = performance.now()
  const all = Array.from({ length: 20 }, () => enter('a'))
  t.ok((await Promise.all(all)).every(isTaken => isTaken))
  t.ok(performance.now() - begunMs >= 185)
})
