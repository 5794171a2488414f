import { join } from 'node:path'
import t, { type Test } from 'tap'
import { keyOfAccess, limitedAccess } from '../../../src/access/limiter/limit-table.js'
import { RateSampler } from '../../../src/access/limiter/rate-sampler.js'
import { useOf } from '../../../src/control/own-usage.js'
import { createAsk, createUsage } from '../../../src/control/usage.js'
import type { Parameter, QuestionName, RowOf } from '../../../src/usage/queries.js'
import { openUsageReader, UsageWriter } from '../../../src/usage/store.js'
import { mapLimitTable, type LimitedAccess } from '../../../src/native/access/limits.js'
import type { Grant } from '../../../src/shared/grant.js'
import { NOW_MS } from '../../fixtures/access/access.js'
import { grantOf } from '../../fixtures/access/grant.js'

const QUARTER_MS = 900_000

/** A table with two edges, and its sampler with a clock of the test. */
const openSampler = (t: Test, rowCount = 8) => {
  const dir = t.testdir()
  const table = mapLimitTable(join(dir, 'limits'), { edgeCount: 2, rowCount })
  const clock = { nowMs: NOW_MS }
  const open = () =>
    new RateSampler(table, {
      windowSeconds: 10,
      now: () => clock.nowMs,
      elapsed: () => clock.nowMs - NOW_MS,
    })
  const edgeOf = (index: number) => (grant: Grant) => limitedAccess(table, grant, index)
  const edges = [edgeOf(0), edgeOf(1)] as const
  const send = (access: LimitedAccess, count: number): number => {
    let passed = 0
    for (let sent = 0; sent < count; sent++) {
      if (access.acquire(() => clock.nowMs) !== undefined) continue
      access.release(1)
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
  const grant = grantOf({ requestsPerSecondMax: 100, requestsBurstMax: 50 })
  const [first, second] = [edges[0](grant), edges[1](grant)]
  sampler.sample()
  t.equal(send(first, 30) + send(second, 30), 50, 'the burst')
  clock.nowMs += 1_000
  sampler.sample()
  t.match(await ratesOf(sampler, 'acc_1'), {
    requestsLastSecond: 50,
    peaks: [{ perSecond: 50, atMs: clock.nowMs }],
  })
  t.equal(send(first, 7), 7)
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
  t.match(await ratesOf(sampler, 'acc_none'), {
    requestsPerSecond: 0,
    requestsLastSecond: 0,
    requestsInFlight: 0,
    sockets: 0,
    subscriptions: 0,
    subscriptionsOfSocket: 0,
    means: { ...means, requestsPerSecond: 0 },
    peaks: [],
  })
})

t.test('reports to other machines take nothing from the rate', async t => {
  const { table, clock, edges, open, send, ratesOf } = openSampler(t)
  const sampler = open()
  const access = edges[0](grantOf({ requestsPerSecondMax: 1_000, requestsBurstMax: 900 }))
  sampler.sample()
  let sent = 0
  for (let index = 0; index < 9; index++) {
    sent += send(access, 11)
    if (index % 2 === 0) t.equal(table.takeCharged(keyOfAccess('acc_1')), index === 0 ? 11 : 22)
  }
  clock.nowMs += 1_000
  sampler.sample()
  t.equal((await ratesOf(sampler, 'acc_1')).requestsLastSecond, sent)
})

t.test('peaks of more than 24 hours ago are gone', async t => {
  const { clock, edges, open, send, ratesOf } = openSampler(t)
  const sampler = open()
  const access = edges[0](grantOf({}))
  const start = Math.floor(NOW_MS / QUARTER_MS) * QUARTER_MS
  clock.nowMs = start + QUARTER_MS
  sampler.sample()
  for (const [atMs, count] of [
    [start + QUARTER_MS + 1_000, 9],
    [start + 2 * QUARTER_MS, 2],
  ] as const) {
    clock.nowMs = atMs - 1_000
    sampler.sample()
    send(access, count)
    clock.nowMs = atMs
    sampler.sample()
  }
  const peaks = async () =>
    (await ratesOf(sampler, 'acc_1')).peaks.map(({ perSecond }) => perSecond)
  t.strictSame(await peaks(), [5, 2])
  clock.nowMs = start + 97 * QUARTER_MS - 1
  t.strictSame(await peaks(), [5, 2])
  clock.nowMs += 1
  t.strictSame(await peaks(), [2])
  clock.nowMs = start
  t.strictSame(await peaks(), [], 'nothing from the future after the clock was set back')
})

t.test('counts of an access survive others on its row, and a new process', async t => {
  const { clock, edges, open, send, ratesOf } = openSampler(t, 4)
  const sampler = open()
  sampler.sample()
  const grants = Array.from({ length: 6 }, (_, nth) => grantOf({}, `acc_${nth}`))
  for (const grant of grants) {
    clock.nowMs += 4_000
    sampler.sample()
    t.equal(send(edges[0](grant), 3), 3)
    clock.nowMs += 1_000
    sampler.sample()
    t.equal((await ratesOf(sampler, grant.accessId)).requestsLastSecond, 3)
  }
  for (const sampled of [sampler, open()])
    for (const { accessId } of grants) {
      const { peaks } = await ratesOf(sampled, accessId)
      t.match(peaks, [{ perSecond: 3 }])
    }
})

t.test('subscriptions are those of all edges, until an edge has ended', async t => {
  const { table, edges, clock } = openSampler(t)
  for (const [index, edge] of edges.entries()) {
    const access = edge(grantOf({}))
    t.equal(access.acquireSocket(clock.nowMs), undefined)
    access.setSubscriptions(5 + index, 4 - index)
  }
  const inUse = () => table.utilisation(keyOfAccess('acc_1'))
  t.match(inUse(), { subscriptions: 11, subscriptionsOfSocket: 4 })
  table.clearEdge(0)
  t.match(inUse(), { subscriptions: 6, subscriptionsOfSocket: 3 })
})
