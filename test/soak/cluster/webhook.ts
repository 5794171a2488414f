// A webhook of an access that two machines may send to.
import { setTimeout as sleep } from 'node:timers/promises'
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { prepareMachine } from '../../fixtures/cluster/machine.js'
import { openPeople } from '../../fixtures/cluster/people.js'
import { startTwoControls } from '../../fixtures/cluster/two-controls.js'
import { ADA } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { openReceiver } from '../../fixtures/dashboard/receiver.js'
import { until } from '../../fixtures/until.js'
import { freePorts } from '../../fixtures/free-ports.js'
import { soakTest } from '../../fixtures/soak.js'

const WEBHOOKS = { allowLoopback: true, checkMs: 1_000, sendMs: 1_000, retryMs: 500 }
const DAY_MS = 86_400_000

soakTest('two controls send once', { skip: withoutEtcd, timeout: 120_000 }, async t => {
  const etcd = await openEtcd(t, 1)
  const firstPorts = [await freePorts(), await freePorts()] as const
  const dashboard = { webhooks: WEBHOOKS, identity: await openPeople(t, [ADA], firstPorts) }
  const prepare = (id: string, firstPort: number) =>
    prepareMachine(t, etcd, { id, location: 'fra', firstPort, dashboard })
  const one = await prepare('fra-1', firstPorts[0])
  const other = await prepare('fra-2', firstPorts[1])
  const service = await startTwoControls(t, etcd, [one, other])
  const { body } = await one.admin('POST', '/accesses', {
    subject: 'ada',
    product: 'node',
    kind: 'rental',
    validUntilMs: Date.now() + DAY_MS,
  })
  const path = `/api/accesses/${String(body['accessId'])}/webhooks`
  const here = new DashboardClient(one.dashboardUrl)
  const there = new DashboardClient(other.dashboardUrl)
  await here.signIn(ADA)
  await there.signIn(ADA)

  const receiver = await openReceiver(t)
  receiver.answer = response => response.writeHead(500).end()
  t.equal((await here.call('POST', path, { url: receiver.url })).status, 200)
  await until('it was tried', () => receiver.received.length > 0)
  // Whichever has tried it: the other one does it again.
  for (const pid of service.pidsOf('control')) process.kill(pid, 'SIGKILL')
  receiver.answer = response => response.writeHead(204).end()
  const state = async (): Promise<unknown> => {
    const { webhooks } = Object((await there.ask(path)).json)
    return webhooks?.[0]?.deliveries[0]?.state
  }
  await until('it is delivered', async () => (await state()) === 'delivered')
  const count = receiver.received.length
  await sleep(5 * WEBHOOKS.checkMs)
  t.equal(receiver.received.length, count, 'neither sends it again')
  t.equal(new Set(receiver.received.map(({ id }) => id)).size, 1)
  t.match((await there.ask(path)).json, {
    webhooks: [{ url: receiver.url, deliveries: [{ kind: 'rental-ending', attempts: count }] }],
  })
})
