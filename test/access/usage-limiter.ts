import t from 'tap'
import { readUsage } from '../../src/access/usage/reader.js'
import { LIMITS, NOW_MS, openGate } from '../fixtures/access/access.js'

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

t.test(
  'requests are counted as they come, batches by their calls where they are let in',
  async t => {
    const dir = t.testdir()
    const gate = openGate(dir)
    const visitor = gate.visitorOf(GRANT)
    t.equal(gate.visitorOf(GRANT), visitor, 'found once for a grant')
    const counts = () => {
      const { requests, rateLimited } = readUsage(dir, 'tok_1', NOW_MS).minutes.at(-1) ?? {}
      return [requests, rateLimited]
    }
    t.equal(gate.enter(visitor, NOW_MS), undefined)
    t.match(gate.widen(visitor, { calls: 4, atOnce: 1 }, NOW_MS), { limit: 'requestsBurstMax' })
    gate.leave(visitor, 1)
    t.strictSame(counts(), [1, 1])
    t.equal(gate.enter(visitor, NOW_MS), undefined)
    t.equal(gate.widen(visitor, { calls: 3, atOnce: 2 }, NOW_MS), undefined)
    gate.leave(visitor, 2)
    t.strictSame(counts(), [4, 1])
    t.match(gate.enter(visitor, NOW_MS), { limit: 'requestsPerSecondMax' })
    t.strictSame(counts(), [5, 2])
  },
)

t.test('sockets stay within their limit, and are counted', async t => {
  const dir = t.testdir()
  const gate = openGate(dir)
  const visitor = gate.visitorOf({ ...GRANT, limits: { ...LIMITS, socketsMax: 1 } })
  t.equal(gate.openSocket(visitor, NOW_MS), undefined)
  t.match(gate.openSocket(visitor, NOW_MS), { limit: 'socketsMax', max: 1 })
  gate.closeSocket(visitor)
  t.equal(gate.openSocket(visitor, NOW_MS), undefined)
  t.match(readUsage(dir, 'tok_1', NOW_MS).minutes.at(-1), { requests: 3, rateLimited: 1 })
})

t.test('a token of another grant has the same access, and counts of its own', async t => {
  const dir = t.testdir()
  const gate = openGate(dir)
  const other = { ...GRANT, tokenId: 'tok_2', location: 'nyc' }
  for (const grant of [GRANT, other, GRANT])
    t.equal(gate.enter(gate.visitorOf(grant), NOW_MS), undefined)
  t.match(gate.enter(gate.visitorOf(other), NOW_MS), { limit: 'requestsPerSecondMax' })
  const requests = (token: string) => readUsage(dir, token, NOW_MS).minutes.at(-1)?.requests
  t.strictSame([requests('tok_1'), requests('tok_2')], [2, 2])
  gate.sweep(NOW_MS)
  t.match(gate.enter(gate.visitorOf(GRANT), NOW_MS), { limit: 'requestsPerSecondMax' })
})
