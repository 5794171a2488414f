import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AccessLimiter, LimiterState } from '../../../src/access/limiter/access-limiter.js'
import { LimitTable } from '../../../src/access/limiter/limit-table.js'
import { RateSampler } from '../../../src/access/limiter/rate-sampler.js'
import { useOf } from '../../../src/control/own-usage.js'
import { createAsk, createUsage } from '../../../src/control/usage.js'
import type { Parameter, QuestionName, RowOf } from '../../../src/usage/queries.js'
import { openUsageReader, UsageWriter } from '../../../src/usage/store.js'
import { mapLimits } from '../../../src/shared/access-limits.js'
import { NOW_MS } from '../../fixtures/access/access.js'
import { grantOf } from '../../fixtures/access/grant.js'

const QUARTER_MS = 900_000
const NO_REFUSALS = mapLimits(() => 0)

/** A table with two edges, and its sampler with a clock of the test. */
const openSampler = (t: Test, rowCount = 8) => {
  const dir = t.testdir()
  const table = new LimitTable(join(dir, 'limits'), { edgeCount: 2, rowCount })
  const clock = { nowMs: NOW_MS }
  const open = () =>
    new RateSampler(table, {
      windowSeconds: 10,
      now: () => clock.nowMs,
      elapsed: () => clock.nowMs - NOW_MS,
    })
  const edges = [new AccessLimiter(table, 0), new AccessLimiter(table, 1)] as const
  const send = (limiter: AccessLimiter, state: LimiterState, count: number): number => {
    let passed = 0
    for (let sent = 0; sent < count; sent++) {
      if (limiter.acquire(state, () => clock.nowMs) !== undefined) continue
      limiter.release(state, 1)
      passed++
    }
    return passed
  }
  const writer = new UsageWriter(dir)
  const ask = openUsageReader(dir)
  /** What the dashboard shows of an access, once the recorder has what was measured. */
  const ratesOf = async (sampler: RateSampler, accessId: string) => {
    await writer.addPeaks(sampler.takePeaks())
    const own = async <Q extends QuestionName>(name: Q, parameters: readonly Parameter[]) =>
      name === 'use'
        ? ([useOf(table, sampler, accessId)] as unknown as RowOf<Q>[])
        : ask(name, parameters)
    return createUsage(createAsk(own), () => clock.nowMs).ofAccess(accessId, [])
  }
  return { table, clock, edges, open, send, ratesOf }
}

const roundedMeans = (sampler: RateSampler) => {
  const { means } = sampler.ratesOf('acc_1')
  return { ...means, requestsPerSecond: Math.round(means.requestsPerSecond * 100) / 100 }
}

t.test('the last second and its peak are what all edges admitted', async t => {
  const { clock, edges, open, send, ratesOf } = openSampler(t)
  const sampler = open()
  const states = edges.map(
    () => new LimiterState(grantOf({ requestsPerSecondMax: 100, requestsBurstMax: 50 })),
  )
  const [first, second] = states
  if (first === undefined || second === undefined) return
  sampler.sample()
  t.equal(send(edges[0], first, 30) + send(edges[1], second, 30), 50, 'the burst')
  clock.nowMs += 1_000
  sampler.sample()
  t.match(await ratesOf(sampler, 'acc_1'), {
    requestsLastSecond: 50,
    peaks: [{ perSecond: 50, atMs: clock.nowMs }],
    refused: { ...NO_REFUSALS, requestsPerSecondMax: 10 },
  })
  t.equal(send(edges[0], first, 7), 7)
  clock.nowMs += 500
  sampler.sample()
  t.equal((await ratesOf(sampler, 'acc_1')).requestsLastSecond, 50, 'half a second gives no rate')
  clock.nowMs += 500
  sampler.sample()
  t.equal((await ratesOf(sampler, 'acc_1')).requestsLastSecond, 7)
  clock.nowMs += 1_000
  sampler.sample()
  t.match(await ratesOf(sampler, 'acc_1'), { requestsLastSecond: 0, peaks: [{ perSecond: 50 }] })
  const means = {
    requestsPerSecond: 5.7,
    requestsInFlight: 0,
    sockets: 0,
    subscriptionsOfSocket: 0,
  }
  t.match(roundedMeans(sampler), means, 'of ten seconds, also those before the first request')
  clock.nowMs += 1_000
  for (let second = 3; second < 10; second++) {
    clock.nowMs += 1_000
    sampler.sample()
  }
  t.equal(roundedMeans(sampler).requestsPerSecond, 5.7)
  clock.nowMs += 1_000
  sampler.sample()
  t.equal(roundedMeans(sampler).requestsPerSecond, 0.7, 'the burst is no longer in it')
  t.strictSame(await ratesOf(sampler, 'acc_none'), {
    requestsPerSecond: 0,
    requestsLastSecond: 0,
    requestsInFlight: 0,
    sockets: 0,
    subscriptions: 0,
    subscriptionsOfSocket: 0,
    means: { ...means, requestsPerSecond: 0 },
    peaks: [],
    refused: NO_REFUSALS,
  })
})

t.test('reports to other machines take nothing from the rate', async t => {
  const { table, clock, edges, open, send, ratesOf } = openSampler(t)
  const sampler = open()
  const state = new LimiterState(grantOf({ requestsPerSecondMax: 1_000, requestsBurstMax: 900 }))
  sampler.sample()
  let sent = 0
  for (let index = 0; index < 9; index++) {
    sent += send(edges[0], state, 11)
    if (index % 2 === 0) t.equal(table.takeCharged(state.row), index === 0 ? 11 : 22)
  }
  clock.nowMs += 1_000
  sampler.sample()
  t.equal((await ratesOf(sampler, 'acc_1')).requestsLastSecond, sent)
  // Counts are modulo 2³²: half of the cell is charged, half reported.
  table.counts[table.chargedOf(state.row)] = -1
  sampler.sample()
  const before = table.chargedTotalOf(state.row)
  table.counts[table.chargedOf(state.row)] = 4
  t.equal((table.chargedTotalOf(state.row) - before) >>> 0, 5)
})

t.test('each limit has its refusals', async t => {
  const { clock, edges, open, ratesOf } = openSampler(t)
  const sampler = open()
  const now = () => clock.nowMs
  const [edge] = edges
  const state = new LimiterState(grantOf({ requestsInFlightMax: 2, requestsBurstMax: 4 }))
  sampler.sample()
  edge.acquire(state, now)
  edge.acquire(state, now)
  t.match(edge.acquire(state, now), { limit: 'requestsInFlightMax' })
  t.match(edge.acquireBatch(state, { calls: 9, atOnce: 1 }, now), { limit: 'requestsBurstMax' })
  t.match(edge.acquireBatch(state, { calls: 4, atOnce: 1 }, now), { limit: 'requestsPerSecondMax' })
  t.equal(edge.acquireMore(state, 2, now), undefined)
  t.match(edge.acquireMore(state, 2, now), { limit: 'requestsPerSecondMax' })
  for (let sockets = 0; sockets < 2; sockets++) t.equal(edge.acquireSocket(state, now()), undefined)
  t.match(edge.acquireSocket(state, now()), { limit: 'socketsMax' })
  edge.addRefusedSubscription(state)
  clock.nowMs += 1_000
  sampler.sample()
  const refused = {
    requestsPerSecondMax: 2,
    requestsBurstMax: 1,
    requestsInFlightMax: 1,
    socketsMax: 1,
    subscriptionsPerSocketMax: 1,
  }
  t.strictSame((await ratesOf(sampler, 'acc_1')).refused, refused)
  clock.nowMs += 1_000
  sampler.sample()
  t.strictSame((await ratesOf(sampler, 'acc_1')).refused, refused, 'counted once')
  t.strictSame((await ratesOf(open(), 'acc_1')).refused, refused, 'a new process has them')
})

t.test('peaks and refusals of more than 24 hours ago are gone', async t => {
  const { clock, edges, open, send, ratesOf } = openSampler(t)
  const sampler = open()
  const state = new LimiterState(grantOf({}))
  const start = Math.floor(NOW_MS / QUARTER_MS) * QUARTER_MS
  clock.nowMs = start + QUARTER_MS
  sampler.sample()
  for (const [atMs, count] of [
    [start + QUARTER_MS + 1_000, 9],
    [start + 2 * QUARTER_MS, 2],
  ] as const) {
    clock.nowMs = atMs - 1_000
    sampler.sample()
    send(edges[0], state, count)
    clock.nowMs = atMs
    sampler.sample()
  }
  const peaks = async () =>
    (await ratesOf(sampler, 'acc_1')).peaks.map(({ perSecond }) => perSecond)
  t.strictSame(await peaks(), [5, 2])
  t.equal((await ratesOf(sampler, 'acc_1')).refused.requestsPerSecondMax, 4)
  clock.nowMs = start + 97 * QUARTER_MS - 1
  t.strictSame(await peaks(), [5, 2])
  clock.nowMs += 1
  t.strictSame(await peaks(), [2])
  t.equal((await ratesOf(sampler, 'acc_1')).refused.requestsPerSecondMax, 0)
  clock.nowMs = start
  t.strictSame(await peaks(), [], 'nothing from the future after the clock was set back')
})

t.test('counts of an access survive others on its row, and a new process', async t => {
  const { clock, edges, open, send, ratesOf } = openSampler(t, 4)
  const sampler = open()
  sampler.sample()
  const states = Array.from({ length: 6 }, (_, nth) => new LimiterState(grantOf({}, `acc_${nth}`)))
  for (const state of states) {
    clock.nowMs += 4_000
    sampler.sample()
    t.equal(send(edges[0], state, 3), 3)
    clock.nowMs += 1_000
    sampler.sample()
    t.equal((await ratesOf(sampler, state.grant.accessId)).requestsLastSecond, 3)
  }
  for (const sampled of [sampler, open()])
    for (const { grant } of states) {
      const { peaks } = await ratesOf(sampled, grant.accessId)
      t.match(peaks, [{ perSecond: 3 }])
    }
})

t.test('subscriptions are those of all edges, until an edge has ended', async t => {
  const { table, edges, clock } = openSampler(t)
  const states = edges.map(() => new LimiterState(grantOf({})))
  for (const [index, edge] of edges.entries()) {
    const state = states[index]
    if (state === undefined) return
    t.equal(edge.acquireSocket(state, clock.nowMs), undefined)
    edge.setSubscriptions(state, { subscriptions: 5 + index, subscriptionsOfSocket: 4 - index })
  }
  const row = states[0]?.row ?? 0
  t.strictSame(table.subscriptionsOf(row), { subscriptions: 11, subscriptionsOfSocket: 4 })
  table.clearEdge(0)
  t.strictSame(table.subscriptionsOf(row), { subscriptions: 6, subscriptionsOfSocket: 3 })
})
