// The certificate of a machine ends while it runs: what the machine says, and that a new one helps.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeEndingCertificate, openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { operate, prepareMachine } from '../../fixtures/cluster/machine.js'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { requirePid } from '../../fixtures/processes/require-pid.js'
import { until } from '../../fixtures/until.js'
import { soakTest } from '../../fixtures/soak.js'

/** Time for the machine to be added and to start. */
const VALID_MS = 12_000
const EXPIRED = /[^ "]+fra-1\.pem expired on .* GMT; make a new one and restart/

soakTest('a certificate that ends', { skip: withoutEtcd, timeout: 90_000 }, async t => {
  const etcd = await openEtcd(t, 1)
  const machine = await prepareMachine(t, etcd, { id: 'fra-1', location: 'fra' })
  for (const command of [['init'], ['add', 'fra-1', '--location', 'fra', '--control']])
    t.match(await operate(t, etcd, machine.configFile, ...command), { code: 0 })
  const renewed = readFileSync(join(etcd.dir, 'fra-1.pem'))
  // Certificates have whole seconds.
  const endMs = Math.ceil((Date.now() + VALID_MS) / 1_000) * 1_000
  makeEndingCertificate(etcd.dir, 'fra-1', endMs)
  const service = await machine.start()
  await until('it holds a lease', async () => (await machine.health()) === 'unknown')
  const status = async (): Promise<string> =>
    (await runToEnd(t, ['status', '--config', machine.configFile])).output

  await sleep(Math.max(0, endMs + 1_000 - Date.now()))
  t.equal(await machine.health(), 'unknown', 'a connection outlives the certificate')
  await etcd.kill(0)
  etcd.start(0)
  await etcd.untilServing()
  await until('its lease has ended', async () => (await machine.health()) === 'lease-expired')
  await until('the log says why', () => EXPIRED.test(service.output()))
  await until('status says why', async () => EXPIRED.test(await status()))
  process.kill(requirePid(service.pidsOf('follower')[0]), 'SIGKILL')
  await until('a follower that starts says why', async () =>
    /not healthy: no follower runs: .*fra-1\.pem expired on/.test(await status()),
  )

  writeFileSync(join(etcd.dir, 'fra-1.pem'), renewed)
  await until('the next follower uses the new one', async () =>
    (await status()).startsWith('machine fra-1 of cluster s1 at fra: healthy\n'),
  )
  t.equal(await machine.health(), 'unknown')
})
