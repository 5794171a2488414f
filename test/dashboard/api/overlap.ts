import t from 'tap'
import { openAuditLog } from '../../../src/access/audit/audit-log.js'
import { defaults } from '../../../src/access/audit/options.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { ADA, BEN, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { ownDir } from '../../fixtures/own-dir.js'

t.test('a former token works as long as its holder asks, and ends on request', async t => {
  const dataDir = ownDir(t)
  const dashboard = await startDashboard(t, { dataDir })
  const [ada, ben] = [new DashboardClient(dashboard.url), new DashboardClient(dashboard.url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  const { accessId } = await dashboard.grant('ada')
  const scope = { accessId, network: 'main', location: 'fra' }
  const { tail, token } = await dashboard.accessService.generate(scope)
  const path = `/api/accesses/${accessId}/networks/main/locations/fra/token`
  const regenerate = (body: unknown, client = ada) =>
    client.call('POST', `${path}/regenerate`, body)
  const problem = 'must be an integer from 0 to 3600'
  for (const overlapSeconds of [-1, 1.5, 3_601, '60', null])
    t.match(
      await regenerate({ overlapSeconds }),
      {
        status: 400,
        json: { error: { code: 'wrongInput', message: `body.overlapSeconds ${problem}` } },
      },
      String(overlapSeconds),
    )
  t.equal((await regenerate({ overlapSeconds: 60 }, ben)).status, 404)
  t.match(dashboard.accessService.list(accessId), [{ tail }], 'nothing was changed')

  const kept = await regenerate({ overlapSeconds: 60 })
  const endsAtMs = dashboard.clock.nowMs + 60_000
  t.match(kept, { status: 200, json: { token: { former: { tail, endsAtMs } } } })
  t.notMatch(kept.text, token.reveal())
  t.equal((await ben.call('DELETE', `${path}/former`)).status, 404)
  t.equal((await ada.ask(`${path}/former`, { method: 'DELETE' })).status, 403, 'of another site')
  t.match((await ada.ask(path.replace(/\/token$/, ''))).json, { token: { former: { tail } } })
  t.match(await ada.call('DELETE', `${path}/former`), {
    status: 200,
    json: { token: { former: null } },
  })
  t.equal((await ada.call('DELETE', `${path}/former`)).status, 404)
  t.match(await regenerate(undefined), { json: { token: { former: null } } }, 'none by default')

  const log = openAuditLog(dataDir, defaults, Date.now)
  const entries = await log.read({ beforeMs: Infinity, limit: 9 })
  t.match(
    entries.slice(0, 3).map(({ action, request }) => [action, request]),
    [['regenerate'], ['end-former'], ['regenerate', { overlapSeconds: 60 }]],
  )
})
