// Where the follower of a machine ends again and again, a change waits for the lease of the machine
// from the change on, and not longer; asked again, it says what is in effect.
import { setTimeout as sleep } from 'node:timers/promises'
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { CLUSTER, operate, prepareMachine, tokenPath } from '../../fixtures/cluster/machine.js'
import { until } from '../../fixtures/until.js'
import { soakTest } from '../../fixtures/soak.js'

const GRANT = { subject: 'ada', product: 'node', kind: 'pass' }
const LEASE_MS = CLUSTER.leaseMs * 1.01
/** A wait for the follower of the own machine, were it added to that for the lease. */
const ANNOUNCE_MS = 3_500

soakTest('a follower in a crash loop', { skip: withoutEtcd, timeout: 120_000 }, async t => {
  const etcd = await openEtcd(t, 1)
  const cluster = { announceMs: ANNOUNCE_MS }
  const machine = await prepareMachine(t, etcd, { id: 'fra-1', location: 'fra', cluster })
  for (const command of [['init'], ['add', 'fra-1', '--location', 'fra', '--control']])
    t.match(await operate(t, etcd, machine.configFile, ...command), { code: 0 })
  const service = await machine.start()
  await until('it holds a lease', async () => (await machine.health()) === 'unknown')
  const { body } = await machine.admin('POST', '/accesses', GRANT)
  const accessId = String(body['accessId'])
  const path = tokenPath(accessId, 'fra')
  await machine.admin('POST', path)

  let isOver = false
  const killing = (async () => {
    while (!isOver) {
      for (const pid of service.pidsOf('follower')) process.kill(pid, 'SIGKILL')
      await sleep(20)
    }
  })()
  await until('no follower runs', () => service.pidsOf('follower').length === 0)
  const startedMs = performance.now()
  const ended = await machine.admin('POST', `/accesses/${accessId}/end`)
  const tookMs = performance.now() - startedMs
  t.match(ended, { status: 200, body: { effect: { machines: [{ id: 'fra-1', by: 'lease' }] } } })
  // Work of this computer beside it takes less than the other wait would.
  t.ok(tookMs < LEASE_MS + ANNOUNCE_MS * 0.7, `${tookMs.toFixed(0)} ms`)
  t.comment(`${tookMs.toFixed(0)} ms, of a lease of ${LEASE_MS} ms`)
  isOver = true
  await killing

  const revoked = await machine.admin('DELETE', path)
  t.equal(revoked.status, 200)
  const againMs = performance.now()
  const again = await machine.admin('DELETE', path)
  t.match(again, {
    status: 404,
    body: {
      error: { code: 'noToken' },
      effect: { revision: revoked.body['revision'], machines: revoked.body['machines'] },
    },
  })
  const { deadAtMs } = again.body['effect'] as { readonly deadAtMs: number }
  t.ok(deadAtMs <= Date.now() && deadAtMs >= Number(revoked.body['deadAtMs']))
  t.ok(performance.now() - againMs < LEASE_MS, 'nothing is waited for twice')
})
