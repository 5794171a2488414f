import t from 'tap'
import type { Incident } from '../../../src/control/incidents/incident-store.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { startDeployment } from '../../fixtures/processes/deployment.js'

t.test('a process that is killed is an incident of its locations', async t => {
  const deployment = await startDeployment(t, { args: ['--edges', '1'] })
  const { dashboardUrl, identity } = deployment.description
  const ada = new DashboardClient(dashboardUrl)
  const [person] = identity.users
  if (person === undefined) throw new Error('no user')
  t.equal(await ada.signIn(person), '/')
  const [access] = Object((await ada.ask('/api/accesses')).json).accesses
  const incidentsOf = async (): Promise<readonly Incident[]> =>
    Object((await ada.ask(`/api/accesses/${access.accessId}/incidents`)).json).incidents
  t.strictSame(await incidentsOf(), [], 'the start was none')

  const [edge = 0] = deployment.pidsOf('edge')
  process.kill(edge, 'SIGKILL')
  const restarts = async () =>
    (await incidentsOf()).filter(({ reasons }) => reasons.includes('process-restarted'))
  while ((await restarts()).length < 2) await new Promise(resolve => setTimeout(resolve, 50))
  const found = await restarts()
  t.strictSame(found.map(({ location }) => location).toSorted(), ['fra', 'nyc'])
  for (const { detail, startedAtMs, endedAtMs } of found) {
    t.match(detail, /^edge.*: ended with SIGKILL/)
    t.equal(startedAtMs, endedAtMs)
    t.ok(Math.abs(Date.now() - startedAtMs) < 60_000)
  }
})
