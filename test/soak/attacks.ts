import { ATTACKS } from '../fixtures/attacks/attacks.js'
import { DASHBOARD_ATTACKS } from '../fixtures/attacks/dashboard-attacks.js'
import { makeLargeAccounts } from '../fixtures/attacks/large-accounts.js'
import { QUIC_ATTACKS } from '../fixtures/attacks/quic-attacks.js'
import { SLOW_READERS } from '../fixtures/attacks/slow-readers.js'
import { SOCKET_ATTACKS } from '../fixtures/attacks/socket-attacks.js'
import { SUBMISSION_ATTACKS } from '../fixtures/attacks/submission-attacks.js'
import { runTrial } from '../fixtures/attacks/trial.js'
import { askAdmin, grantScope } from '../fixtures/dashboard/admin.js'
import { startDeployment } from '../fixtures/processes/deployment.js'
import { soakTest } from '../fixtures/soak.js'

soakTest('a bystander does not notice what another access sends', {}, async t => {
  t.setTimeout(1_500_000)
  const args = ['--edges', '1', '--traffic', '0', '--account-dir', makeLargeAccounts(t)]
  const deployment = await startDeployment(t, { args })
  const { port, description } = deployment
  const { samples, metricsUrl, dashboardUrl, identity } = description
  const dashboard = { url: dashboardUrl, person: identity.users[0] }
  const createToken = async (limits?: Readonly<Record<string, number>>): Promise<string> => {
    const { tokenPath } = await grantScope(deployment, 'fra', limits)
    const { body } = await askAdmin(deployment, 'POST', tokenPath)
    return String(body['token'])
  }
  const all = [
    ...ATTACKS,
    ...SOCKET_ATTACKS,
    ...SUBMISSION_ATTACKS,
    ...QUIC_ATTACKS,
    ...SLOW_READERS,
    ...DASHBOARD_ATTACKS,
  ]
  const names = all.map(({ name }) => name)
  await runTrial(t, { port, samples, metricsUrl, dashboard, createToken }, names)
})
