import t from 'tap'
import { EngineOrder, orderWords } from '../../../src/submission/relay/engine-order.js'
import { EngineQueue, type QueueOptions } from '../../../src/submission/relay/engine-queue.js'
import { createTokenBucket } from '../../../src/submission/relay/token-bucket.js'

const EDGES = 2
const OPTIONS = {
  queueMs: 300,
  requestsPerSecondMax: 100,
  queuedPerAccessMax: 64,
  queuedMax: 1_024,
}
const nowNs = process.hrtime.bigint

const toOrder = (edgeIndex = 0, words = new BigInt64Array(orderWords(EDGES))): EngineOrder =>
  new EngineOrder({ words, index: 0, edgeIndex, edgeCount: EDGES, nowNs })

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

/** The queues of two edges over one bucket of `perSecond`. */
const openEdges = (perSecond: number, queueMs: number): readonly EngineQueue[] => {
  const [words, order] = [new BigInt64Array(1), new BigInt64Array(orderWords(EDGES))]
  const bounds = { queuedPerAccessMax: 64, queuedMax: 1_024 }
  const options = { queueMs, requestsPerSecondMax: perSecond, ...bounds }
  return [0, 1].map(edge => {
    const bucket = createTokenBucket(
      { requestsPerSecondMax: perSecond, requestsBurstMax: 1 },
      { words, index: 0, nowNs },
    )
    const now = () => performance.now()
    return new EngineQueue(options, { bucket, order: toOrder(edge, order), now })
  })
}

t.test('edges share the tokens, and each gets its part', async t => {
  const queues = openEdges(100, 2_000)
  const begunMs = performance.now()
  const all = queues.flatMap(queue => Array.from({ length: 10 }, () => queue.enter('a')))
  t.ok((await Promise.all(all)).every(isTaken => isTaken))
  t.ok(performance.now() - begunMs >= 189, 'never faster than the rate')
})

t.test('the next token is for the access that got one least recently at any edge', async t => {
  let tokenCount = 1
  // Both edges try again after the same time, and the first one first.
  const take = (): number => {
    if (tokenCount === 0) return 5
    tokenCount--
    return 0
  }
  const words = new BigInt64Array(orderWords(EDGES))
  const options = { ...OPTIONS, queueMs: 60_000 }
  const waitMs = (): number => (tokenCount === 0 ? 5 : 0)
  const [one, other] = [0, 1].map(edge => {
    const modules = {
      bucket: { take, waitMs },
      order: toOrder(edge, words),
      now: () => performance.now(),
    }
    return new EngineQueue(options, modules)
  })
  t.equal(one?.enter('a'), true)
  const order: string[] = []
  const all = ['a', 'a'].map(async accessId => {
    await one?.enter(accessId)
    order.push(accessId)
  })
  const waiting = Promise.resolve(other?.enter('b')).then(() => order.push('b'))
  tokenCount = 1
  await waiting
  t.strictSame(order, ['b'], 'not the first edge’s')
  tokenCount = 2
  await Promise.all(all)
  t.strictSame(order, ['b', 'a', 'a'])
})

t.test('the request of an edge that died is waited for a moment only', async t => {
  const words = new BigInt64Array(orderWords(EDGES))
  const dead = toOrder(1, words)
  dead.publish({ servedNs: 0n, arrivedNs: 1n })
  const bucket = createTokenBucket(
    { requestsPerSecondMax: 100, requestsBurstMax: 1 },
    { words: new BigInt64Array(1), index: 0, nowNs },
  )
  const order = toOrder(0, words)
  const queue = new EngineQueue(OPTIONS, { bucket, order, now: () => performance.now() })
  const begunMs = performance.now()
  t.equal(await queue.enter('a'), true)
  t.ok(performance.now() - begunMs >= 19, 'it yields')
  t.ok(performance.now() - begunMs < 5_000)
})
