import t from 'tap'
import { bucketOf, LATENCY_BUCKETS, startOf } from '../../../src/usage/latency.js'
import {
  ADA,
  BEN,
  NO_ACCESS_USAGE,
  NO_PLACE_USAGE,
  startDashboard,
} from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { NO_FIGURES } from '../../fixtures/usage/usage.js'

const PERIOD = { startMs: 0, requests: 3, errors: 1, rateLimited: 1, refused: 0 }

t.test('usage by period is that of the place, of up to 1,500 periods', async t => {
  const queried: unknown[] = []
  const dashboard = await startDashboard(t, {
    usage: {
      ...NO_PLACE_USAGE,
      ofPeriods: (place, query) => {
        queried.push([place, query])
        return { periods: [PERIOD], minutesFromMs: 7, missing: ['fra-2'] }
      },
      ofAccess: () => NO_ACCESS_USAGE,
    },
  })
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const { accessId } = await dashboard.grant('ada')
  const place = { accessId, network: 'main', location: 'fra' }
  const path = `/api/accesses/${accessId}/networks/main/locations/fra/usage/periods`
  for (const [grain, untilMs] of [
    ['minute', 90_000_000],
    ['hour', 5_400_000_000],
    ['day', 129_600_000_000],
  ] as const) {
    queried.length = 0
    t.match(await ada.ask(`${path}?grain=${grain}&from=0&until=${untilMs}`), {
      status: 200,
      json: { periods: [PERIOD], minutesFromMs: 7, missing: ['fra-2'] },
    })
    t.strictSame(queried, [[place, { grain, fromMs: 0, untilMs }]])
    t.match(
      await ada.ask(`${path}?grain=${grain}&from=0&until=${untilMs + 1}`),
      { status: 400, json: { error: { message: /must be at most 1500 periods/ } } },
      grain,
    )
  }
  for (const query of ['', 'grain=week&from=0&until=1', 'grain=day&from=-1&until=1', 'grain=day'])
    t.match(await ada.ask(`${path}?${query}`), { status: 400 }, query)
})

t.test('usage by method is that of days until today, with percentiles', async t => {
  const queried: unknown[] = []
  const codes = [{ code: -32_602, count: 1 }]
  const counts = { ...NO_FIGURES, requests: 3, errors: 1, codes }
  const latencies = Array.from({ length: LATENCY_BUCKETS }, (_, bucket) =>
    bucket === bucketOf(1) ? 2 : 0,
  )
  const dashboard = await startDashboard(t, {
    usage: {
      ...NO_PLACE_USAGE,
      ofMethods: (place, days) => {
        queried.push([place, days])
        const unused = latencies.map(() => 0)
        return {
          methods: [
            { method: 'getSlot', ...counts, latencies },
            { method: '(none)', ...counts, latencies: unused },
          ],
          missing: ['fra-2'],
        }
      },
      ofAccess: () => NO_ACCESS_USAGE,
    },
  })
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const { accessId } = await dashboard.grant('ada')
  const place = { accessId, network: 'main', location: 'fra' }
  const path = `/api/accesses/${accessId}/networks/main/locations/fra/usage/methods`
  const [first, second] = [startOf(bucketOf(1)), startOf(bucketOf(1) + 1)]
  const at = (share: number): number => first + (second - first) * share
  t.strictSame((await ada.ask(path)).json, {
    methods: [
      { method: 'getSlot', ...counts, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) },
      { method: '(none)', ...counts, p50Ms: null, p95Ms: null, p99Ms: null },
    ],
    missing: ['fra-2'],
  })
  await ada.ask(`${path}?days=30`)
  const until = Math.floor(dashboard.clock.nowMs / 86_400_000) + 1
  t.strictSame(queried, [
    [place, { from: until - 1, until }],
    [place, { from: until - 30, until }],
  ])
  for (const days of ['0', '31', '1.5', '', 'x'])
    t.match(await ada.ask(`${path}?days=${days}`), { status: 400 }, days)
})

t.test('usage in a time is that of a place or of the whole access, with percentiles', async t => {
  const queried: unknown[] = []
  const latencies = Array.from({ length: LATENCY_BUCKETS }, (_, bucket) =>
    bucket === bucketOf(1) ? 2 : 0,
  )
  const counts = { ...NO_FIGURES, requests: 3, codes: [{ code: 1, count: 2 }] }
  const overLimit = NO_ACCESS_USAGE.refused
  const dashboard = await startDashboard(t, {
    usage: {
      ...NO_PLACE_USAGE,
      ofRange: (...all) => {
        queried.push(all)
        return {
          ...{ periods: [PERIOD], minutesFromMs: 7, missing: ['fra-2'], overLimit },
          calls: [{ startMs: 60_000, ...counts, latencies }],
          methods: [{ method: 'getSlot', ...counts, latencies }],
        }
      },
      ofAccess: () => NO_ACCESS_USAGE,
    },
  })
  const [ada, ben] = [new DashboardClient(dashboard.url), new DashboardClient(dashboard.url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/usage/range`
  const at = (share: number): number =>
    startOf(bucketOf(1)) * (1 - share) + startOf(bucketOf(1) + 1) * share
  const shares = { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) }
  const { json } = await ada.ask(`${path}?from=0&until=60000&step=60000`)
  t.match(json, {
    ...{ periods: [PERIOD], minutesFromMs: 7, missing: ['fra-2'], overLimit },
    calls: [{ startMs: 60_000, ...counts }],
    methods: [{ method: 'getSlot', ...counts }],
  })
  const { calls, methods } = json as Record<'calls' | 'methods', (typeof shares)[]>
  for (const found of [calls[0], methods[0]])
    for (const [name, ms] of Object.entries(shares))
      t.ok(Math.abs((found?.[name as 'p50Ms'] ?? 0) - ms) < 1e-9, name)
  await ada.ask(`${path}?from=0&until=90000000&step=60000&network=main&location=fra`)
  const times = { fromMs: 0, stepMs: 60_000 }
  const own = ['fra', 'nyc']
  t.strictSame(queried.slice(0, 2), [
    [accessId, { network: '', location: '', ...times, untilMs: 60_000 }, own],
    [accessId, { network: 'main', location: 'fra', ...times, untilMs: 90_000_000 }, own],
  ])
  const { nowMs } = dashboard.clock
  const endMs = (Math.floor(nowMs / 60_000) + 1) * 60_000
  t.match((await ada.ask(`${path}?span=120000&step=60000`)).json, {
    ...{ fromMs: endMs - 120_000, untilMs: endMs },
  })
  t.match((await ada.ask(`${path}?span=120000&until=180000&step=60000`)).json, {
    ...{ fromMs: 60_000, untilMs: 180_000 },
  })
  t.equal((await ben.ask(`${path}?from=0&until=1&step=60000`)).status, 404)
  for (const query of [
    ...['', 'from=0&until=1', 'from=0&until=1&step=0', 'from=0&until=1&step=1'],
    ...['span=90000001&step=60000', 'until=1&step=60000', 'from=0&step=60000'],
    ...['from=0&until=90000001&step=60000', 'from=-1&until=1&step=60000'],
    `from=0&until=1&step=60000&location=${'x'.repeat(65)}`,
  ])
    t.match(await ada.ask(`${path}?${query}`), { status: 400 }, query)
  t.equal(queried.length, 4)
})
