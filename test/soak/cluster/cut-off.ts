// A machine that loses its network for longer than etcd keeps what was changed comes back by itself
// with everything that was changed meanwhile. An hour is a compaction here, or two minutes of
// `npm run soak`: each outlasts the lease, and the soak test the connections as well.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { keysOf } from '../../../src/cluster/keys.js'
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { CLUSTER, operate, prepareMachine, tokenPath } from '../../fixtures/cluster/machine.js'
import {
  BRIDGE_ADDRESS,
  openNamespaces,
  withoutNamespaces,
} from '../../fixtures/cluster/namespaces.js'
import { isSoak } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

const OUTAGE_MS = isSoak ? 120_000 : CLUSTER.leaseMs + 1_000
/** Attempts to connect are up to 8 s apart after an outage: the system doubles its waits. */
const BACK_MS = 30_000
const CHANGES = 50
const GRANT = { subject: 'ada', product: 'node', kind: 'pass' }

const skip = withoutEtcd || withoutNamespaces

t.test('a machine that was cut off', { skip, timeout: OUTAGE_MS + 120_000 }, async t => {
  const [namespace] = openNamespaces(t, 1)
  if (namespace === undefined) throw new Error('no namespace')
  const etcd = await openEtcd(t, 1, BRIDGE_ADDRESS)
  const control = await prepareMachine(t, etcd, { id: 'fra-1', location: 'fra' })
  const far = await prepareMachine(t, etcd, { id: 'fra-2', location: 'fra', namespace })
  for (const command of [
    ['init'],
    ['add', 'fra-1', '--location', 'fra', '--control'],
    ['add', 'fra-2', '--location', 'fra'],
  ])
    t.match(await operate(t, etcd, control.configFile, ...command), { code: 0 })
  await control.start()
  const service = await far.start()
  for (const machine of [control, far])
    await until(`${machine.id} holds a lease`, async () => (await machine.health()) === 'unknown')
  const makeToken = async (): Promise<{ readonly path: string; readonly text: string }> => {
    const { body } = await control.admin('POST', '/accesses', GRANT)
    const path = tokenPath(String(body['accessId']), 'fra')
    const made = await control.admin('POST', path)
    return { path, text: String(made.body['token']) }
  }
  const [revoked, kept] = [await makeToken(), await makeToken()]
  for (const { text } of [revoked, kept]) t.equal(await far.status(text), 200)

  namespace.disconnect()
  const startedMs = performance.now()
  const answer = await control.admin('DELETE', revoked.path)
  t.match(answer, { status: 200, body: { machines: [{ by: 'confirmed' }, { by: 'lease' }] } })
  const made = await makeToken()
  for (let count = 0; count < CHANGES; count++) await control.admin('POST', '/accesses', GRANT)
  const root = await etcd.connect('root')
  t.teardown(() => root.close())
  const { revision } = await root.get(keysOf('s1').epoch)
  await root.compact(revision)
  await sleep(Math.max(0, OUTAGE_MS - (performance.now() - startedMs)))
  namespace.connect()
  const connectedMs = performance.now()
  await until('it is back', async () => (await far.health().catch(() => '')) === 'unknown', BACK_MS)
  t.comment(`back ${(performance.now() - connectedMs).toFixed(0)} ms after its link`)
  t.equal(await far.status(revoked.text), 401, 'what was revoked')
  t.equal(await far.status(kept.text), 200, 'what was there')
  t.equal(await far.status(made.text), 200, 'what was made')
  t.match(service.output(), /the accesses cannot be proved to be current/)
  await until('it says so', () =>
    service.output().includes('the accesses are proved to be current again'),
  )
  t.equal(service.supervisor.exitCode, null, 'no process of it was restarted by hand')
})
