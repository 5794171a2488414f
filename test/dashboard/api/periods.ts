import t from 'tap'
import { ADA, NO_ACCESS_USAGE, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'

const PERIOD = { startMs: 0, requests: 3, errors: 1, rateLimited: 1, refused: 0 }
const EMPTY = { minutes: [], refused: [], replaced: [], clients: [] }

t.test('usage by period is that of the place, of up to 1,500 periods', async t => {
  const queried: unknown[] = []
  const dashboard = await startDashboard(t, {
    usage: {
      ofPlace: () => EMPTY,
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
