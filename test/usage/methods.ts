import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { createAsk, createUsageDays } from '../../src/control/usage.js'
import { NO_METHOD } from '../../src/usage/calls.js'
import type { DayQuery } from '../../src/usage/days.js'
import { bucketOf, LATENCY_BUCKETS, percentileMs } from '../../src/usage/latency.js'
import type { LiveCells } from '../../src/usage/live-cells.js'
import { DAY_MS, dayOf, HOUR_MS, MINUTE_MS, type TokenScope } from '../../src/usage/scope.js'
import { UsageWriter } from '../../src/usage/store.js'
import { NOW_MS } from '../fixtures/access/access.js'
import { askIn, NO_FIGURES, openUsage, usageIn } from '../fixtures/usage/usage.js'

const CODES = 16
const DAY = dayOf(NOW_MS)
const scopeOf = (accessId: string): TokenScope => ({ accessId, network: 'main', location: 'fra' })
const SCOPE = scopeOf('acc_1')

/** Methods from some days before today up to some after it. */
const readMethods = async (dir: string, days = 30, until = 1) =>
  (await usageIn(dir, Date.now).ofMethods(SCOPE, { from: DAY - days, until: DAY + until })).methods

const readDays = async (dir: string, query: Partial<DayQuery> = {}) => {
  const found: Record<string, unknown> = {}
  const { days } = createUsageDays(createAsk(askIn(dir)), [])({ from: 0, until: 1e9, ...query })
  for await (const { day, rows } of days)
    found[day - DAY] = rows.map(({ accessId, method, requests, errors, rateLimited }) =>
      [accessId, method, requests, errors, rateLimited].join(' '),
    )
  return found
}

/** Counts a call, with its request. */
const call = (usage: LiveCells, method: string, nowMs = NOW_MS, scope = SCOPE): void => {
  const meter = usage.meterOf(scope)
  meter.addRequests(1, nowMs)
  meter.addCall(method, {}, nowMs)
}

t.test(
  'calls are counted by method, with errors by code and latencies, over all edges',
  async t => {
    const dir = t.testdir()
    const usages = [openUsage(dir), openUsage(dir, 1)] as const
    const [one, other] = [usages[0].meterOf(SCOPE), usages[1].meterOf(SCOPE)]
    const refusal = { failure: { code: -32_602 }, elapsedMs: 2 }
    one.addCall('getSlot', { elapsedMs: 1 }, NOW_MS)
    one.addCall('getSlot', refusal, NOW_MS)
    other.addCall('getSlot', refusal, NOW_MS)
    other.addCall('getSlot', { failure: { code: 503 } }, NOW_MS)
    other.addCall('getBalance', { elapsedMs: 50_000 }, NOW_MS)
    one.addCall(NO_METHOD, {}, NOW_MS)
    one.addRateLimited(NO_METHOD, NOW_MS)
    const latencies = (...ms: number[]): number[] => {
      const buckets = Array<number>(LATENCY_BUCKETS).fill(0)
      for (const one of ms) buckets[bucketOf(one)] = (buckets[bucketOf(one)] ?? 0) + 1
      return buckets
    }
    const none = { ...NO_FIGURES, requests: 1, codes: [], latencies: latencies() }
    const writer = new UsageWriter(dir)
    for (const when of ['live', 'one edge recorded', 'both recorded']) {
      t.strictSame(
        await readMethods(dir),
        [
          {
            method: 'getSlot',
            ...NO_FIGURES,
            requests: 4,
            errors: 3,
            codes: [
              { code: -32_602, count: 2 },
              { code: 503, count: 1 },
            ],
            latencies: latencies(1, 2, 2),
          },
          { method: NO_METHOD, ...none, rateLimited: 1 },
          { method: 'getBalance', ...none, latencies: latencies(50_000) },
        ],
        when,
      )
      usages[when === 'live' ? 0 : 1].close()
      await writer.record()
    }
    t.strictSame(await readMethods(dir, 30, 0), [], 'not of the days before')
  },
)

t.test('codes have a bound: further errors are counted without one', async t => {
  const dir = t.testdir()
  const meter = openUsage(dir).meterOf(SCOPE)
  for (let code = 1; code <= CODES + 10; code++)
    meter.addCall('getSlot', { failure: { code } }, NOW_MS)
  const [slot] = await readMethods(dir)
  t.equal(slot?.errors, CODES + 10)
  t.equal(slot?.codes.length, CODES)
})

t.test('each minute of a day has calls, errors by code and times, and then each hour', async t => {
  const dir = t.testdir()
  const [one, other] = [openUsage(dir), openUsage(dir, 1)]
  const writer = new UsageWriter(dir)
  const add = (usage: LiveCells, method: string, minute: number, location = 'fra'): void => {
    const meter = usage.meterOf({ ...SCOPE, location })
    const failure = { code: -32_602 }
    meter.addCall(method, { elapsedMs: minute + 1, failure }, NOW_MS + minute * MINUTE_MS)
  }
  const read = async (minutes: number, stepMinutes: number, location = '') => {
    const times = { fromMs: NOW_MS, untilMs: NOW_MS + minutes * MINUTE_MS }
    const query = { network: '', location, ...times, stepMs: stepMinutes * MINUTE_MS }
    const { calls, methods } = await usageIn(dir, Date.now).ofRange('acc_1', query, [])
    return {
      calls: calls.map(({ startMs, requests, codes, latencies }) => [
        (startMs - NOW_MS) / MINUTE_MS,
        requests,
        codes[0]?.count,
        latencies.reduce((sum, count) => sum + count),
      ]),
      methods: methods.map(({ method, requests }) => `${method} ${requests}`),
    }
  }
  for (const minute of [0, 0, 1, 59, 61]) add(one, 'getSlot', minute)
  for (const minute of [0, 60]) add(other, 'getBlock', minute, 'nyc')
  const all = [
    ...[
      [0, 3, 3, 3],
      [1, 1, 1, 1],
      [59, 1, 1, 1],
      [60, 1, 1, 1],
    ],
    [61, 1, 1, 1],
  ]
  // What is left live is of one minute, as it is where control runs.
  one.sweep(NOW_MS + 61 * MINUTE_MS)
  other.sweep(NOW_MS + 60 * MINUTE_MS)
  for (const when of ['live', 'recorded', 'all recorded']) {
    if (when !== 'live') {
      t.strictSame((await read(62, 1)).calls, all, when)
      t.strictSame((await read(61, 60)).calls, [
        [0, 5, 5, 5],
        [60, 1, 1, 1],
      ])
      t.strictSame((await read(62, 1, 'nyc')).calls, [
        [0, 1, 1, 1],
        [60, 1, 1, 1],
      ])
    }
    t.strictSame((await read(62, 1)).methods, ['getSlot 5', 'getBlock 2'])
    if (when === 'recorded') for (const usage of [one, other]) usage.close()
    await writer.record()
  }
  t.strictSame(await readDays(dir), { 0: ['acc_1 getSlot 5 5 0', 'acc_1 getBlock 2 2 0'] })
  await writer.prune(NOW_MS + DAY_MS + 2 * HOUR_MS)
  t.strictSame((await read(120, 1)).calls, [...[[0, 5, 5, 5]], [60, 1, 1, 1], [61, 1, 1, 1]])
  await writer.prune(NOW_MS + DAY_MS + 3 * HOUR_MS)
  t.strictSame((await read(120, 60)).calls, [
    [0, 5, 5, 5],
    [60, 2, 2, 2],
  ])
  t.strictSame((await read(120, 1)).methods, ['getSlot 5', 'getBlock 2'])
  t.strictSame(await readDays(dir), { 0: ['acc_1 getSlot 5 5 0', 'acc_1 getBlock 2 2 0'] })
  await writer.prune(NOW_MS + 31 * DAY_MS)
  t.strictSame((await read(120, 60)).calls, [])
})

t.test('what is billed is by day and method, over all edges, and read at once', async t => {
  const dir = t.testdir()
  const [one, other] = [openUsage(dir), openUsage(dir, 1)]
  call(one, 'getSlot', NOW_MS - DAY_MS)
  for (const usage of [one, other, one]) call(usage, 'getSlot')
  call(one, 'getBalance')
  one.meterOf(SCOPE).addCall('getBalance', { failure: { code: -32_602 } }, NOW_MS)
  one.meterOf(SCOPE).addCall(NO_METHOD, {}, NOW_MS)
  one.meterOf(SCOPE).addRateLimited(NO_METHOD, NOW_MS)
  call(one, 'getSlot', NOW_MS, scopeOf('acc_0'))
  const today = ['acc_1 (none) 1 0 1', 'acc_1 getBalance 2 1 0', 'acc_1 getSlot 3 0 0']
  const writer = new UsageWriter(dir)
  for (const when of ['live', 'recorded']) {
    t.strictSame(
      await readDays(dir),
      { [-1]: ['acc_1 getSlot 1 0 0'], 0: ['acc_0 getSlot 1 0 0', ...today] },
      when,
    )
    t.strictSame(await readDays(dir, { from: DAY, accessId: 'acc_1' }), { 0: today })
    t.strictSame(await readDays(dir, { until: DAY }), { [-1]: ['acc_1 getSlot 1 0 0'] })
    await writer.record()
  }
  t.strictSame(await readDays(join(dir, 'nowhere')), {})
  // Nothing was closed: this is the state after a kill.
  call(openUsage(dir), 'getSlot')
  t.match(await readDays(dir, { accessId: 'acc_1' }), {
    0: [/none/, /getBalance 2/, 'acc_1 getSlot 4 0 0'],
  })
})

t.test('a day of more rows than one answer has is whole, over machines', async t => {
  const dirs = [t.testdir({ one: {}, other: {} })].flatMap(dir => [`${dir}/one`, `${dir}/other`])
  const accesses = 1_800
  for (const dir of dirs) {
    const usage = openUsage(dir, 0)
    for (let nth = 0; nth < accesses; nth++)
      for (const method of ['a', 'b', 'c']) call(usage, method, NOW_MS, scopeOf(`acc_${nth}`))
  }
  const [one, other] = dirs.map(askIn)
  if (one === undefined || other === undefined) return
  const read = async () => ({ answers: [], missing: [] })
  const ask = createAsk(one, { read })
  const both: typeof ask = async (name, parameters, locations) => {
    const own = await ask(name, parameters, locations)
    return { ...own, each: [...own.each, await other(name, parameters)] }
  }
  const counts: number[] = []
  for await (const { rows } of createUsageDays(both, [])({ from: 0, until: 1e9 }).days)
    counts.push(rows.length, ...new Set(rows.map(({ requests }) => requests)))
  t.strictSame(counts, [3 * accesses, 2])
})

t.test('names of methods fill no memory, and cannot be anything but names', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir)
  const names = ['=1+1', '(none)x', '-x', '@x', '', 'a b', 'x'.repeat(40), '"', 'a,b', 'é']
  for (const name of names) call(usage, name)
  for (let nth = 0; nth < 200; nth++) call(usage, `m${nth}`)
  // Ten hours later it has the same names.
  for (let nth = 0; nth < 200; nth++) call(usage, `n${nth}`, NOW_MS + 36_000_000)
  const { 0: rows } = (await readDays(dir)) as { 0: string[] }
  t.equal(rows.length, 63)
  t.ok(rows.includes('acc_1 m0 1 0 0'))
  t.ok(rows.includes(`acc_1 (other) ${names.length + 200 - 62 + 200} 0 0`))
})

t.test('buckets are those of the compiled server', t => {
  for (const [ms, bucket] of [
    [0, 0],
    [0.003_999, 0],
    [0.004, 1],
    [0.015_999, 3],
    [0.016, 4],
    [0.02, 5],
    [0.031_999, 7],
    [0.032, 8],
    [0.039_999, 8],
    [1, 27],
    [30_000, 87],
    [1e15, 87],
    [-1, 0],
  ] as const)
    t.equal(bucketOf(ms), bucket, String(ms))
  t.end()
})

t.test('percentiles differ from the exact ones by a quarter at most', t => {
  const times = fc.array(fc.double({ min: 0.02, max: 30_000, noNaN: true }), {
    minLength: 1,
    maxLength: 300,
  })
  fc.assert(
    fc.property(times, fc.constantFrom(0.5, 0.95, 0.99), (all, share) => {
      const buckets = Array<number>(LATENCY_BUCKETS).fill(0)
      for (const ms of all) buckets[bucketOf(ms)] = (buckets[bucketOf(ms)] ?? 0) + 1
      const exact = all.toSorted((a, b) => a - b)[Math.ceil(share * all.length) - 1] ?? 0
      const found = percentileMs(buckets, share) ?? 0
      return Math.abs(found - exact) <= exact / 4 + 1e-9
    }),
  )
  t.equal(percentileMs(Array<number>(LATENCY_BUCKETS).fill(0), 0.5), null)
  t.end()
})
