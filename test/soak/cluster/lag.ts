// A location that is behind the others by slots, as its machine really is.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { childPids, startDeployment } from '../../fixtures/processes/deployment.js'
import { soakTest } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

const THRESHOLD = 3

type Machine = { readonly id: string; readonly dataDir: string }
type Warning = { readonly location: string; readonly values: { readonly slotsBehind?: number } }

/** All processes below one with this title. */
const descendants = (pid: number, title: string): number[] => [
  ...childPids(pid, title),
  ...childPids(pid).flatMap(child => descendants(child, title)),
]

soakTest('a location behind by slots', { skip: withoutEtcd, timeout: 180_000 }, async t => {
  const deployment = await startDeployment(t, { args: ['--machines', '3'] })
  const { dashboardUrl, identity } = deployment.description
  const file = readFileSync(join(deployment.dataDir, 'sandbox.json'), 'utf8')
  const machines = JSON.parse(file).machines as readonly Machine[]
  const { dataDir = '' } = machines.find(({ id }) => id === 'nyc-1') ?? {}
  const client = new DashboardClient(dashboardUrl)
  await client.signIn(identity.users[0])
  const { accesses } = Object((await client.ask('/api/accesses')).json)
  const access = `/api/accesses/${accesses[0].accessId}`
  const rule = {
    ...{ kind: 'location-behind', isOn: true, threshold: THRESHOLD, windowMinutes: 0, countMin: 0 },
    ...{ method: '', onlyRising: false, sendsResolved: true, webhooks: null },
  }
  t.equal((await client.call('PUT', `${access}/alerts`, { rules: [rule] })).status, 200)
  const read = async (): Promise<readonly Warning[]> =>
    Object((await client.ask(`${access}/warnings`)).json).warnings
  await until('all are at the tip', async () => (await read()).length === 0)

  const indexers = descendants(deployment.supervisor.pid ?? 0, 'slotline indexer').filter(pid =>
    readFileSync(`/proc/${pid}/maps`, 'utf8').includes(`${dataDir}/`),
  )
  const [indexer = 0] = indexers
  t.equal(indexers.length, 1, 'the index of New York')
  process.kill(indexer, 'SIGSTOP')
  // Until the supervisor replaces it.
  let found: readonly Warning[] = []
  await until('its lag is twice the threshold', async () => {
    found = await read()
    return found.some(({ values }) => (values.slotsBehind ?? 0) >= 2 * THRESHOLD)
  })
  t.match(found, [{ kind: 'location-behind', location: 'nyc', values: { threshold: THRESHOLD } }])
  t.equal(found.length, 1, 'of this location alone')
  await until('it has caught up', async () => (await read()).length === 0)
  t.not(descendants(deployment.supervisor.pid ?? 0, 'slotline indexer').includes(indexer), true)
  t.equal(await deployment.stop(), 0)
})
