// An API key that is made on one machine of a cluster, used on another and revoked on the first.
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { prepareMachine } from '../../fixtures/cluster/machine.js'
import { openPeople } from '../../fixtures/cluster/people.js'
import { startTwoControls } from '../../fixtures/cluster/two-controls.js'
import { ADA } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { until } from '../../fixtures/until.js'
import { freePorts } from '../../fixtures/free-ports.js'
import { soakTest } from '../../fixtures/soak.js'

const DAY_MS = 86_400_000
const ROUNDS = 10
/** Limits that the requests of this test do not reach. */
const WIDE = {
  ...{ keyRequestsBurstMax: 1_000_000, keyRequestsPerMinuteMax: 1_000_000 },
  failuresBurstMax: 1_000_000,
}

soakTest('a key ends on every machine', { skip: withoutEtcd, timeout: 120_000 }, async t => {
  const etcd = await openEtcd(t, 1)
  const firstPorts = [await freePorts(), await freePorts()] as const
  const dashboard = { ...WIDE, identity: await openPeople(t, [ADA], firstPorts) }
  const prepare = (id: string, firstPort: number) =>
    prepareMachine(t, etcd, { id, location: 'fra', firstPort, dashboard })
  const one = await prepare('fra-1', firstPorts[0])
  const other = await prepare('fra-2', firstPorts[1])
  await startTwoControls(t, etcd, [one, other])
  const { body } = await one.admin('POST', '/accesses', {
    ...{ subject: 'ada', product: 'node', kind: 'rental', validUntilMs: Date.now() + DAY_MS },
  })
  const path = `/api/accesses/${String(body['accessId'])}`
  const ada = new DashboardClient(one.dashboardUrl)
  await ada.signIn(ADA)
  const near = new DashboardClient(one.dashboardUrl)
  const far = new DashboardClient(other.dashboardUrl)

  for (let round = 0; round < ROUNDS; round++) {
    const made = await ada.call('POST', `${path}/keys`, {
      ...{ label: 'bot', scopes: ['usage:read'], validUntilMs: Date.now() + DAY_MS },
    })
    const { key, secret } = Object(made.json)
    const headers = { authorization: `Bearer ${secret}` }
    const ask = async (client: DashboardClient): Promise<number> =>
      (await client.ask(`${path}/usage`, { headers })).status
    t.equal(await ask(near), 200, 'at once on the machine that made it')
    await until('it is on the other', async () => (await ask(far)) === 200)
    // Requests on the other machine all the time: when those that succeed were sent.
    const load = { isOn: true }
    const sent: number[] = []
    const asking = (async () => {
      while (load.isOn) {
        const sentMs = performance.now()
        if ((await ask(far)) === 200) sent.push(sentMs)
      }
    })()
    await until('they succeed', () => sent.length > 3)
    const revoked = await ada.call('DELETE', `${path}/keys/${key.keyId}`)
    const answeredMs = performance.now()
    t.match(revoked, { status: 200, json: { machines: [{}, {}] } })
    t.strictSame([await ask(near), await ask(far)], [401, 401], 'when it is answered')
    load.isOn = false
    await asking
    t.ok(
      sent.every(sentMs => sentMs < answeredMs),
      'nor does a request that was sent then',
    )
  }
})
