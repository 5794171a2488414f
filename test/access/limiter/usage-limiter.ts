import t from 'tap'
import type { TokenScope } from '../../../src/usage/scope.js'
import { LIMITS, NOW_MS, openUsageLimiter } from '../../fixtures/access/access.js'
import { usageIn } from '../../fixtures/usage/usage.js'

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
