import t from 'tap'
import {
  ADA,
  BEN,
  NO_ACCESS_USAGE,
  NO_PLACE_USAGE,
  startDashboard,
} from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'

t.test('warnings are those of all places of an active access of the person', async t => {
  const asked: string[] = []
  const dashboard = await startDashboard(t, {
    usage: {
      ...NO_PLACE_USAGE,
      ofPlace: ({ network, location }) => {
        asked.push(`${network} ${location}`)
        return { minutes: [], refused: [], clients: [], replaced: [], missing: ['b', 'a'] }
      },
      ofAccess: () => ({
        ...NO_ACCESS_USAGE,
        means: { ...NO_ACCESS_USAGE.means, sockets: 4 },
        missing: ['b'],
      }),
    },
  })
  const [ada, ben] = [new DashboardClient(dashboard.url), new DashboardClient(dashboard.url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/warnings`
  t.strictSame((await ada.ask(path)).json, {
    warnings: [
      {
        kind: 'limit-near',
        network: null,
        location: null,
        values: { limit: 'socketsMax', used: 4, max: 4, percent: 100, windowMs: 60_000 },
      },
    ],
    missing: ['a', 'b'],
  })
  t.strictSame(asked, ['main fra', 'main nyc'])
  t.match(await ben.ask(path), { status: 404, json: { error: { code: 'noSuchAccess' } } })
  await dashboard.accessService.end(accessId)
  t.strictSame((await ada.ask(path)).json, { warnings: [] }, 'nothing of one that has ended')
})
