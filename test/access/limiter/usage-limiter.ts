import t from 'tap'
import { openLimitTable } from '../../../src/access/limiter/limit-table.js'
import { UsageLimiter } from '../../../src/access/limiter/usage-limiter.js'
import { mapLimits } from '../../../src/shared/access-limits.js'
import { UsageWriter } from '../../../src/usage/store.js'
import { DAY_MS, MINUTE_MS, type TokenScope } from '../../../src/usage/scope.js'
import { LIMITS, NOW_MS, openUsageLimiter } from '../../fixtures/access/access.js'
import { askIn, openUsage, usageIn } from '../../fixtures/usage/usage.js'

const lastMinute = async (dir: string, scope: TokenScope) =>
  (await usageIn(dir, () => NOW_MS).ofScope(scope)).minutes.at(-1)

const GRANT = {
  accessId: 'acc_1',
  tokenId: 'tok_1',
  network: 'main',
  location: 'fra',
  limits: { ...LIMITS, requestsPerSecondMax: 1, requestsBurstMax: 3 },
  validFromMs: 0,
  validUntilMs: Infinity,
  address: undefined,
}

t.test('requests are counted on arrival, batches by their calls once admitted', async t => {
  const dir = t.testdir()
  const limiter = openUsageLimiter(dir)
  const principal = limiter.principalOf(GRANT)
  t.equal(limiter.principalOf(GRANT), principal, 'found once for a grant')
  const counts = async () => {
    const { requests, rateLimited } = (await lastMinute(dir, GRANT)) ?? {}
    return [requests, rateLimited]
  }
  t.equal(
    limiter.acquire(principal, () => NOW_MS),
    undefined,
  )
  t.match(
    limiter.acquireBatch(principal, { calls: 4, atOnce: 1 }, () => NOW_MS),
    {
      limit: 'requestsBurstMax',
    },
  )
  limiter.release(principal, 1)
  t.strictSame(await counts(), [1, 1])
  t.equal(
    limiter.acquire(principal, () => NOW_MS),
    undefined,
  )
  t.equal(
    limiter.acquireBatch(principal, { calls: 2, atOnce: 2 }, () => NOW_MS),
    2,
  )
  limiter.release(principal, 2)
  t.strictSame(await counts(), [3, 1])
  t.match(
    limiter.acquire(principal, () => NOW_MS),
    { limit: 'requestsPerSecondMax' },
  )
  t.strictSame(await counts(), [4, 2])
})

t.test('sockets are limited and counted', async t => {
  const dir = t.testdir()
  const limiter = openUsageLimiter(dir)
  const principal = limiter.principalOf({ ...GRANT, limits: { ...LIMITS, socketsMax: 1 } })
  t.equal(limiter.acquireSocket(principal, NOW_MS), undefined)
  t.match(limiter.acquireSocket(principal, NOW_MS), { limit: 'socketsMax', max: 1 })
  limiter.releaseSocket(principal)
  t.equal(limiter.acquireSocket(principal, NOW_MS), undefined)
  t.match(await lastMinute(dir, GRANT), { requests: 3, rateLimited: 1 })
})

t.test('two tokens of one access share its limits and have separate counts', async t => {
  const dir = t.testdir()
  const limiter = openUsageLimiter(dir)
  const other = { ...GRANT, tokenId: 'tok_2', location: 'nyc' }
  for (const grant of [GRANT, other, GRANT])
    t.equal(
      limiter.acquire(limiter.principalOf(grant), () => NOW_MS),
      undefined,
    )
  t.match(
    limiter.acquire(limiter.principalOf(other), () => NOW_MS),
    { limit: 'requestsPerSecondMax' },
  )
  const requests = async (scope: TokenScope) => (await lastMinute(dir, scope))?.requests
  t.strictSame([await requests(GRANT), await requests(other)], [2, 2])
  t.match(
    limiter.acquire(limiter.principalOf(GRANT), () => NOW_MS),
    { limit: 'requestsPerSecondMax' },
  )
})

t.test('a long message is charged as several requests, at most as one burst', async t => {
  const limiter = openUsageLimiter(t.testdir())
  const charge = (accessId: string, more: number) => {
    const principal = limiter.principalOf({ ...GRANT, accessId })
    return (
      limiter.acquire(principal, () => NOW_MS) ?? limiter.acquireMore(principal, more, () => NOW_MS)
    )
  }
  t.equal(charge('acc_1', 1), undefined)
  t.match(charge('acc_1', 1), { limit: 'requestsPerSecondMax', remaining: 0 })
  t.equal(charge('acc_2', 127), undefined)
  t.match(charge('acc_2', 0), { limit: 'requestsPerSecondMax' }, 'the burst is used up')
})

t.test('what each limit has refused is in the minute and the scope of the request', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir)
  const limiter = new UsageLimiter({ table: openLimitTable(dir, 1), edgeIndex: 0, usage })
  let nowMs = NOW_MS
  const now = () => nowMs
  const few = { ...LIMITS, requestsInFlightMax: 2, requestsBurstMax: 4, socketsMax: 1 }
  const grant = { ...GRANT, limits: { ...few, requestsPerSecondMax: 100 } }
  const principal = limiter.principalOf(grant)
  limiter.acquire(principal, now)
  limiter.acquire(principal, now)
  t.match(limiter.acquire(principal, now), { limit: 'requestsInFlightMax' })
  t.match(limiter.acquireBatch(principal, { calls: 9, atOnce: 1 }, now), {
    limit: 'requestsBurstMax',
  })
  t.match(limiter.acquireBatch(principal, { calls: 4, atOnce: 1 }, now), {
    limit: 'requestsPerSecondMax',
  })
  t.equal(limiter.acquireSocket(principal, nowMs), undefined)
  t.match(limiter.acquireSocket(principal, nowMs), { limit: 'socketsMax' })
  nowMs += MINUTE_MS
  limiter.addRefusedSubscription(principal, nowMs)
  limiter.addRefusedSubscription(principal, nowMs)
  const elsewhere = limiter.principalOf({ ...grant, location: 'nyc' })
  t.match(limiter.acquireSocket(elsewhere, nowMs), { limit: 'socketsMax' })

  const none = mapLimits(() => 0)
  const first = {
    ...{ ...none, requestsPerSecondMax: 1, requestsBurstMax: 1 },
    ...{ requestsInFlightMax: 1, socketsMax: 1 },
  }
  const second = { ...none, subscriptionsPerSocketMax: 2 }
  const both = { ...first, subscriptionsPerSocketMax: 2 }
  const overLimit = async (minutes: readonly [number, number], location = 'fra') => {
    const [fromMs, untilMs] = minutes.map(minute => NOW_MS + minute * MINUTE_MS)
    const query = { network: '', location, fromMs: fromMs ?? 0, untilMs: untilMs ?? 0 }
    const found = await usageIn(dir, now).ofRange(
      GRANT.accessId,
      { ...query, stepMs: MINUTE_MS },
      [],
    )
    return found.overLimit
  }
  const agree = async (when: string): Promise<void> => {
    t.strictSame(await overLimit([0, 1]), first, when)
    t.strictSame(await overLimit([1, 2]), second, when)
    t.strictSame(await overLimit([0, 2]), both, when)
    t.strictSame(await overLimit([1, 2], 'nyc'), { ...none, socketsMax: 1 }, when)
    t.strictSame(await overLimit([0, 2], ''), { ...both, socketsMax: 2 }, when)
    const { refused } = await usageIn(dir, now).ofAccess(GRANT.accessId, [])
    t.strictSame(refused, { ...both, socketsMax: 2 }, `the day, ${when}`)
    const days = [1_440, NOW_MS / DAY_MS - 10, NOW_MS / DAY_MS + 10] as const
    t.match(await askIn(dir)('overLimit', [JSON.stringify(['acc_1', 'acc_none']), ...days]), [
      { accessId: 'acc_1', overLimit: '{"0":1,"1":1,"2":1,"3":2,"4":2}' },
    ])
  }
  await agree('while it is counted')
  const writer = new UsageWriter(dir)
  await writer.record()
  await agree('beside a store')
  usage.sweep(nowMs + MINUTE_MS)
  await writer.record()
  await writer.record()
  await agree('in the store')
  nowMs += 25 * 60 * MINUTE_MS
  t.strictSame((await usageIn(dir, now).ofAccess(GRANT.accessId, [])).refused, none, 'a day later')
})
