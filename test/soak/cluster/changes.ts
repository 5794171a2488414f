// A machine of a cluster is reloaded and upgraded: nobody notices, neither clients nor machines.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'smol-toml'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { openEtcd, withoutEtcd, type TestEtcd } from '../../fixtures/cluster/etcd.js'
import {
  operate,
  prepareMachine,
  tokenPath,
  type TestMachine,
} from '../../fixtures/cluster/machine.js'
import { childPids, runToEnd } from '../../fixtures/processes/deployment.js'
import { requirePid } from '../../fixtures/processes/require-pid.js'
import { repeat } from '../../fixtures/repeat.js'
import { isSoak } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

const LIMITS = { requestsPerSecondMax: 100_000, requestsBurstMax: 100_000 }
const GRANT = { subject: 'ada', product: 'node', kind: 'pass', limits: LIMITS }

/** Asks a machine as another one, over a connection for each call. */
const peerStatus = (t: Test, { dir }: TestEtcd, { peerUrl }: TestMachine, from: string) => {
  const read = (name: string): string => readFileSync(join(dir, name), 'utf8')
  const connect = { ca: read('ca.pem'), cert: read(`${from}.pem`), key: read(`${from}.key`) }
  const dispatcher = new Agent({
    pipelining: 0,
    connect: { ...connect, checkServerIdentity: () => undefined },
  })
  t.teardown(() => dispatcher.destroy())
  return async (): Promise<number> => {
    const { statusCode, body } = await request(`${peerUrl}/none`, { dispatcher })
    await body.dump()
    return statusCode
  }
}

t.test('a machine of a cluster', { skip: withoutEtcd, timeout: 120_000 }, async t => {
  const etcd = await openEtcd(t, 1)
  const machine = await prepareMachine(t, etcd, { id: 'fra-1', location: 'fra' })
  const other = await prepareMachine(t, etcd, { id: 'fra-2', location: 'fra' })
  for (const command of [
    ['init'],
    ['add', 'fra-1', '--location', 'fra', '--control'],
    ['add', 'fra-2', '--location', 'fra', '--control'],
  ])
    t.match(await operate(t, etcd, machine.configFile, ...command), { code: 0 })
  const service = await machine.start()
  await other.start()
  for (const one of [machine, other])
    await until(`${one.id} holds a lease`, async () => (await one.health()) === 'unknown')
  const { body } = await other.admin('POST', '/accesses', GRANT)
  const path = tokenPath(String(body['accessId']), 'fra')
  const token = String((await other.admin('POST', path)).body['token'])
  const former = requirePid(service.supervisor.pid)
  const before = childPids(former)
  t.equal(before.length, 5, 'a follower, control, an indexer, the sender, an edge')

  const clients = [
    repeat(200, () => machine.status(token)),
    repeat('unknown', () => machine.health()),
    repeat(404, peerStatus(t, etcd, machine, 'fra-2')),
  ]
  const config = parse(readFileSync(machine.configFile, 'utf8'))
  const text = stringify({
    ...config,
    cluster: { ...(config['cluster'] as object), beatMs: 600 },
    rpc: { readTimeoutMs: 29_000 },
    submissionStore: { forwardedMax: 99_999 },
  })
  writeFileSync(machine.configFile, text)
  const reloaded = await runToEnd(t, ['reload', '--data-dir', machine.dataDir])
  t.match(reloaded, { code: 0, output: /replaced follower, control, indexer main, sender, edge 0/ })
  t.strictSame(
    childPids(former).filter(pid => before.includes(pid)),
    [],
  )

  // test/service/upgrade.ts upgrades a service without a cluster.
  if (isSoak) {
    const upgraded = await runToEnd(t, ['upgrade', '--data-dir', machine.dataDir])
    t.equal(upgraded.code, 0, upgraded.output)
    const successor = Number(/process (\d+) has the service/.exec(upgraded.output)?.[1])
    t.teardown(() => process.kill(successor, 'SIGKILL'))
    t.equal(childPids(successor).length, 5)
  }
  for (const client of clients) {
    const { count, others } = await client.stop()
    t.strictSame(others, [], `${count} calls`)
    t.ok(count > 20)
  }

  const revoked = await other.admin('DELETE', path)
  t.match(revoked, { status: 200, body: { machines: [{ by: 'confirmed' }, { by: 'confirmed' }] } })
  t.equal(await machine.status(token), 401)
})
