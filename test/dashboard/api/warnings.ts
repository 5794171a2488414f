import t from 'tap'
import type { EvidenceQuery } from '../../../src/dashboard/api/usage.js'
import {
  ADA,
  BEN,
  NO_EVIDENCE,
  NO_ACCESS_USAGE,
  NO_PLACE_USAGE,
  startDashboard,
} from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'

t.test('warnings are those of the rules of an active access of the person', async t => {
  const asked: EvidenceQuery[] = []
  const dashboard = await startDashboard(t, {
    usage: {
      ...NO_PLACE_USAGE,
      ofAccess: () => NO_ACCESS_USAGE,
      evidence: (_accessId, query) => {
        asked.push(query)
        return { ...NO_EVIDENCE, means: { ...NO_EVIDENCE.means, sockets: 4 }, missing: ['b'] }
      },
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
        rule: 'limit-near',
        kind: 'limit-near',
        network: null,
        location: null,
        values: { limit: 'socketsMax', used: 4, max: 4, percent: 100, windowMs: 60_000 },
      },
    ],
    missing: ['b'],
  })
  t.strictSame(asked, [
    { locations: ['fra', 'nyc'], needsMeans: true, minutes: 65, calls: [], landings: [] },
  ])
  t.match(await ben.ask(path), { status: 404, json: { error: { code: 'noSuchAccess' } } })

  const kinds = ['p99-high', 'landing-rate-low'] as const
  const rules = kinds.flatMap(kind =>
    [60, 60, 360].map(windowMinutes => ({
      ...{ kind, isOn: true, threshold: 50, countMin: 1 },
      windowMinutes: kind === 'p99-high' ? Math.min(windowMinutes, 60) : windowMinutes,
    })),
  )
  await ada.call('PUT', `/api/accesses/${accessId}/alerts`, { rules })
  t.strictSame((await ada.ask(path)).json, { warnings: [], missing: ['b'] })
  const query = { needsMeans: false, minutes: 0, calls: [60], landings: [60, 360] }
  t.match(asked.at(-1), query, 'each time once, and nothing that no rule needs')
  await dashboard.accessService.end(accessId)
  t.strictSame((await ada.ask(path)).json, { warnings: [] }, 'nothing of one that has ended')
})

t.test('incidents of the own locations are warnings', async t => {
  const incident = (location: string) => ({
    ...{ id: location, location, machine: null, reasons: ['behind'], detail: '' },
    ...{ startedAtMs: 5, endedAtMs: null },
  })
  let reads = 0
  const dashboard = await startDashboard(t, {
    incidents: () => {
      reads++
      return [incident('fra'), incident('ams')]
    },
  })
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/warnings`
  for (let index = 0; index < 20; index++)
    t.match((await ada.ask(path)).json, {
      warnings: [
        {
          rule: 'location-behind',
          location: 'fra',
          values: { states: 'behind', startedAtMs: 5 },
        },
      ],
    })
  t.ok(reads < 20, `${reads} reads of all incidents`)
})
