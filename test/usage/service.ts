import t from 'tap'
import { createServiceUsage } from '../../src/control/service-usage.js'
import { createAsk } from '../../src/control/usage.js'
import type { TopQuery } from '../../src/dashboard/api/operator/service.js'
import { mapLimits, type LimitName } from '../../src/shared/access-limits.js'
import { NO_METHOD, OTHER_METHOD } from '../../src/usage/calls.js'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/usage/scope.js'
import { defaults } from '../../src/usage/options.js'
import { UsageWriter } from '../../src/usage/store.js'
import { NOW_MS } from '../fixtures/access/access.js'
import { askIn, openUsage } from '../fixtures/usage/usage.js'

const placeOf = (accessId: string, location = 'fra') => ({ accessId, network: 'main', location })
const HOURS = { fromMs: NOW_MS, untilMs: NOW_MS + 6 * HOUR_MS }

const serviceIn = (dir: string, nowMs = NOW_MS) =>
  createServiceUsage(createAsk(askIn(dir)), [], () => nowMs)

const topIn = async (dir: string, more: Partial<TopQuery> = {}, nowMs = NOW_MS) =>
  serviceIn(dir, nowMs).top({ by: 'requests', count: 50, after: undefined, ...HOURS, ...more })

const idsOf = (found: { readonly accesses: readonly { readonly accessId: string }[] }) =>
  found.accesses.map(({ accessId }) => accessId)

t.test('the sums of all accesses are exact while they are counted, and once stored', async t => {
  const dir = t.testdir()
  const writer = new UsageWriter(dir)
  const expected = { requests: 0, errors: 0, rateLimited: 0, refused: 0 }
  const [first, second] = [openUsage(dir, 0), openUsage(dir, 1)]
  for (const [edge, usage] of [first, second].entries())
    for (const [nth, location] of ['fra', 'nyc', 'fra'].entries()) {
      const meter = usage.meterOf(placeOf(`acc_${nth}`, location))
      meter.addRequests(10 * (edge + 1) + nth, NOW_MS)
      meter.addCall('getSlot', { elapsedMs: 1 }, NOW_MS)
      meter.addCall('getSlot', { elapsedMs: 4, failure: { code: -32_602 } }, NOW_MS)
      meter.addRateLimited(NO_METHOD, NOW_MS)
      usage.addRefused('address', { scope: placeOf(`acc_${nth}`, location) }, '8.8.8.8', NOW_MS)
      expected.requests += 10 * (edge + 1) + nth
      expected.errors++
      expected.rateLimited++
      expected.refused++
    }
  const agree = async (name: string, nowMs: number): Promise<void> => {
    const range = { ...HOURS, stepMs: HOUR_MS }
    const { periods, calls, methods } = await serviceIn(dir, nowMs).ofRange(range)
    t.strictSame(periods, [{ startMs: NOW_MS, ...expected }], name)
    const [call, ...more] = calls
    t.strictSame(more, [])
    t.match(
      call,
      { requests: 12, errors: 6, rateLimited: 6, codes: [{ code: -32_602, count: 6 }] },
      name,
    )
    t.equal(
      call?.latencies.reduce((sum, count) => sum + count, 0),
      12,
      name,
    )
    t.match(
      methods,
      [
        { method: 'getSlot', requests: 12, errors: 6 },
        { method: NO_METHOD, requests: 0, rateLimited: 6 },
      ],
      name,
    )
    const { accesses } = await topIn(dir, {}, nowMs)
    t.match(
      accesses,
      [2, 1, 0].map(nth => ({ accessId: `acc_${nth}`, requests: 30 + 2 * nth })),
    )
  }
  await agree('in the cells', NOW_MS)
  first.sweep(NOW_MS + MINUTE_MS)
  await writer.record()
  await agree('of one edge in the store', NOW_MS)
  second.sweep(NOW_MS + MINUTE_MS)
  await writer.record()
  await writer.record()
  await agree('in the store', NOW_MS)
  await writer.prune(NOW_MS + 2 * DAY_MS)
  await agree('reduced to hours', NOW_MS)
  const billed = await askIn(dir)('dayRows', [Math.floor(NOW_MS / DAY_MS), '', '', '', '', ''])
  t.strictSame([...new Set(billed.map(row => row.accessId))], ['acc_0', 'acc_1', 'acc_2'])
  t.strictSame((await topIn(dir, {}, NOW_MS + 20 * DAY_MS)).untilMs, NOW_MS + DAY_MS, 'whole days')
  await writer.prune(NOW_MS + 40 * DAY_MS)
  t.strictSame((await topIn(dir)).accesses, [], 'removed with the rest')
})

t.test('accesses are ordered by a figure and paged, with limits and landing', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir)
  const writer = new UsageWriter(dir)
  for (let nth = 0; nth < 7; nth++) {
    const meter = usage.meterOf(placeOf(`acc_${nth}`))
    meter.addRequests(1 + Math.floor(nth / 2), NOW_MS)
    for (let count = nth; count < 3; count++) meter.addRateLimited(NO_METHOD, NOW_MS)
  }
  const refused: readonly (readonly [string, number, LimitName, number])[] = [
    ['acc_1', -1, 'requestsInFlightMax', 9],
    ['acc_0', 0, 'requestsPerSecondMax', 2],
    ['acc_0', 0, 'socketsMax', 1],
    ['acc_1', 0, 'requestsInFlightMax', 2],
    ['acc_0', 1, 'requestsPerSecondMax', 4],
  ]
  for (const [id, minute, limit, count] of refused) {
    const meter = usage.meterOf(placeOf(id, 'nyc'))
    const atMs = NOW_MS + minute * MINUTE_MS
    for (let nth = 0; nth < count; nth++) meter.addOverLimit(limit, atMs)
  }
  usage.sweep(NOW_MS + 2 * MINUTE_MS)
  await writer.record()
  const hour = NOW_MS / HOUR_MS
  const ends = [
    ['1', 'acc_0', hour, 'landed'],
    ['2', 'acc_0', hour, 'expired'],
    ['3', 'acc_0', hour - 1, 'landed'],
    ['4', 'acc_5', hour, 'unseen'],
  ] as const
  await writer.addEnds(
    ends.map(([id, access, at, figure]) => {
      const delays =
        figure === 'landed' ? (['{"2":1}', '{"30":1}'] as const) : (['{}', '{}'] as const)
      return [id, access, 'main', 'fra', '/lander', 'lander', at * 60, 0, 5, figure, ...delays]
    }),
  )
  const pages: string[][] = []
  let after: TopQuery['after']
  do {
    const page = await topIn(dir, { count: 3, after })
    pages.push(idsOf(page))
    const [value = '', accessId = ''] = page.next?.split('-') ?? []
    after = page.next === null ? undefined : { value: Number(value), accessId }
  } while (after !== undefined)
  t.strictSame(pages, [['acc_6', 'acc_4', 'acc_5'], ['acc_2', 'acc_3', 'acc_0'], ['acc_1']])
  const limited = await topIn(dir, { by: 'rateLimited' })
  const none = mapLimits(() => 0)
  t.match(limited.accesses, [
    {
      ...{ accessId: 'acc_0', rateLimited: 3 },
      overLimit: { ...none, requestsPerSecondMax: 6, socketsMax: 1 },
      submissions: { sent: 2, landed: 1, landingRate: 0.5, delaySlots: { p50: 2 } },
    },
    { accessId: 'acc_1', rateLimited: 2, overLimit: { ...none, requestsInFlightMax: 2 } },
    { accessId: 'acc_2', rateLimited: 1, overLimit: none, submissions: { landingRate: null } },
  ])
  t.equal(limited.accesses.length, 3, 'those without any are left out')
  t.strictSame((await topIn(dir, { by: 'errors' })).accesses, [])
  const { overLimit, submissions } = await serviceIn(dir).ofRange({ ...HOURS, stepMs: HOUR_MS })
  t.match(overLimit, { requestsPerSecondMax: 6, requestsInFlightMax: 2, socketsMax: 1 })
  t.match(submissions, { sent: 3, landed: 1, unseen: 1, landingRate: 0.5, tippedLamports: 5 })
})

t.test('made-up methods of many accesses do not displace the most used ones', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir)
  const writer = new UsageWriter(dir)
  for (let nth = 0; nth < 5; nth++) {
    const meter = usage.meterOf(placeOf(`acc_${nth}`))
    for (let name = 0; name < 40; name++) meter.addCall(`made${nth}x${name}`, {}, NOW_MS)
    meter.addCall('getSlot', {}, NOW_MS)
  }
  usage.sweep(NOW_MS + MINUTE_MS)
  await writer.record()
  const rows = await askIn(dir)('calls', ['', '', '', NOW_MS, NOW_MS + HOUR_MS, HOUR_MS, 1])
  t.match(rows[0], { method: OTHER_METHOD, requests: 101 })
  t.match(rows[1], { method: 'getSlot', requests: 5 })
  t.equal(rows.length, 101)
  const { calls, methods } = await serviceIn(dir).ofRange({ ...HOURS, stepMs: HOUR_MS })
  t.match(calls, [{ requests: 205 }])
  t.equal(methods.length, 100)
})

t.test('ten thousand accesses: sums are read from the rows of all, and few rows', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir, 0, { ...defaults, slotsMax: 2 ** 15 })
  const writer = new UsageWriter(dir)
  const [accesses, hours] = [10_000, 3]
  for (let hour = 0; hour < hours; hour++) {
    for (let nth = 0; nth < accesses; nth++) {
      const meter = usage.meterOf(placeOf(`acc_${String(nth).padStart(5, '0')}`))
      meter.addRequests(1 + (nth % 100), NOW_MS + hour * HOUR_MS)
      meter.addCall('getSlot', { elapsedMs: 1 }, NOW_MS + hour * HOUR_MS)
    }
    usage.sweep(NOW_MS + (hour + 1) * HOUR_MS)
    await writer.record()
  }
  const range = { fromMs: 0, untilMs: NOW_MS * 2, stepMs: 2 ** 20 * MINUTE_MS }
  const service = serviceIn(dir)
  const start = performance.now()
  let isOver = false
  const bystander = async (): Promise<number> => {
    const ask = askIn(dir)
    let longestMs = 0
    while (!isOver) {
      const askedMs = performance.now()
      const rows = await ask('minutes', ['acc_00007', 'main', 'fra', 0, NOW_MS])
      if (rows.length !== hours) throw new Error(`${rows.length} rows`)
      longestMs = Math.max(longestMs, performance.now() - askedMs)
    }
    return longestMs
  }
  const beside = bystander()
  const [{ periods, calls }, top] = await Promise.all([
    service.ofRange(range),
    topIn(dir, { fromMs: 0, untilMs: 999_999_999_999_999 }),
  ]).finally(() => (isOver = true))
  const elapsedMs = Math.round(performance.now() - start)
  t.comment(`answered after ${elapsedMs} ms; a holder waited ${Math.round(await beside)} ms`)
  t.equal(
    periods.reduce((sum, { requests }) => sum + requests, 0),
    hours * accesses * 50.5,
  )
  t.equal(
    calls.reduce((sum, { requests }) => sum + requests, 0),
    hours * accesses,
  )
  t.equal(top.accesses.length, 50)
  t.match(top.accesses[0], { accessId: 'acc_00099', requests: hours * 100 })
  t.ok(top.next)
})
