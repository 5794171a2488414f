import t from 'tap'
import { HOUR_MS } from '../../../../src/usage/scope.js'
import { UsageWriter, type EndRow } from '../../../../src/usage/store.js'
import { ADA, BEN, startDashboard } from '../../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../../fixtures/dashboard/dashboard-client.js'
import { ownDir } from '../../../fixtures/own-dir.js'

t.test('how the submissions of an access went', async t => {
  const dataDir = ownDir(t)
  const dashboard = await startDashboard(t, { dataDir })
  const { accessId } = await dashboard.grant('ada')
  const hour = Math.floor(dashboard.clock.nowMs / HOUR_MS)
  const endOf = (id: number, hoursAgo: number, lane: string, landed: boolean): EndRow => [
    ...([
      String(id),
      accessId,
      'main',
      'fra',
      '/race',
      lane,
      (hour - hoursAgo) * 60,
      0,
      70,
    ] as const),
    ...(landed ? (['landed', '{"2":1}', '{"30":1}'] as const) : (['expired', '{}', '{}'] as const)),
  ]
  await new UsageWriter(dataDir).addEnds([
    endOf(1, 0, 'fast', true),
    endOf(2, 0, '', false),
    endOf(3, 40, 'fast', true),
  ])
  const path = `/api/accesses/${accessId}/submissions/summary`
  const ada = new DashboardClient(dashboard.url)
  const day = `${path}?span=86400000&step=3600000`
  t.equal((await ada.ask(day)).status, 401)
  await ada.signIn(ADA)
  t.match((await ada.ask(day)).json, {
    fromMs: (hour - 23) * HOUR_MS,
    untilMs: (hour + 1) * HOUR_MS,
    total: { sent: 2, landed: 1, expired: 1, landingRate: 0.5, tippedLamports: 70 },
    routes: [{ name: '/race', sent: 2 }],
    locations: [{ name: 'fra', sent: 2 }],
    lanes: [
      { name: '', sent: 1, landingRate: 0, delayMs: null },
      { name: 'fast', sent: 1, delaySlots: { p50: 2 } },
    ],
    periods: [{ startMs: hour * HOUR_MS, sent: 2 }],
  })
  t.match((await ada.ask(`${path}?span=604800000&step=3600000`)).json, {
    total: { sent: 3, tippedLamports: 140 },
  })
  // The first minute of the hour, whose submissions were received then.
  const minute = `from=${hour * HOUR_MS}&until=${hour * HOUR_MS + 60_000}&step=60000`
  t.match((await ada.ask(`${path}?${minute}`)).json, {
    total: { sent: 2 },
    periods: [{ startMs: hour * HOUR_MS, sent: 2 }],
  })
  const next = `from=${hour * HOUR_MS + 60_000}&until=${hour * HOUR_MS + 120_000}&step=60000`
  t.match((await ada.ask(`${path}?${next}`)).json, { total: { sent: 0 }, periods: [] })
  for (const query of ['', '?span=1', '?step=60000', '?span=1&step=1', '?span=1e3&step=60000'])
    t.equal((await ada.ask(`${path}${query}`)).status, 400, query)

  const ben = new DashboardClient(dashboard.url)
  await ben.signIn(BEN)
  t.equal((await ben.ask(day)).status, 404, 'of another person')
})
