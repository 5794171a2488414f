// The drill of docs/cluster.md: etcd comes back with an older copy of its data, and the cluster is
// made again with the accesses of a machine. Then everything is lost but an export.
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import {
  operate,
  prepareMachine,
  tokenPath,
  type TestMachine,
} from '../../fixtures/cluster/machine.js'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { until } from '../../fixtures/until.js'
import { soakTest } from '../../fixtures/soak.js'

const GRANT = { subject: 'ada', product: 'node', kind: 'pass' }

/** Grants an access, and generates its token of `fra`. */
const makeToken = async (machine: TestMachine) => {
  const { body } = await machine.admin('POST', '/accesses', GRANT)
  const path = tokenPath(String(body['accessId']), 'fra')
  const generated = await machine.admin('POST', path)
  return { path, text: String(generated.body['token']) }
}

const untilLeased = (machine: TestMachine): Promise<void> =>
  until(`${machine.id} holds a lease`, async () => (await machine.health()) === 'unknown')

soakTest('a cluster is made again', { skip: withoutEtcd, timeout: 180_000 }, async t => {
  const etcd = await openEtcd(t, 1)
  const one = await prepareMachine(t, etcd, { id: 'fra-1', location: 'fra' })
  const other = await prepareMachine(t, etcd, { id: 'fra-2', location: 'fra' })
  const run = async (expected: RegExp, ...args: readonly string[]): Promise<void> => {
    const { output } = await operate(t, etcd, one.configFile, ...args)
    t.match(output, expected, args.join(' '))
  }
  const removeAccesses = ({ dataDir }: TestMachine): void =>
    rmSync(join(dataDir, 'access'), { recursive: true })
  await run(/0 accesses/, 'init')
  await run(/added/, 'add', 'fra-1', '--location', 'fra', '--control')
  await run(/added/, 'add', 'fra-2', '--location', 'fra')
  const services = [await one.start(), await other.start()] as const
  await untilLeased(one)
  const [revoked, kept] = [await makeToken(one), await makeToken(one)]
  await run(/stop it, so that its accesses can be taken over/, 'rebuild')

  const data = join(etcd.dir, 'm0')
  await etcd.kill(0)
  cpSync(data, `${data}.older`, { recursive: true })
  etcd.start(0)
  await etcd.untilServing()
  await until('the token is revoked', async () => {
    const { status } = await one.admin('DELETE', revoked.path)
    return status === 200
  })
  const late = await makeToken(one)

  await t.test('from a machine, where etcd has an older copy', async t => {
    await etcd.kill(0)
    rmSync(data, { recursive: true })
    cpSync(`${data}.older`, data, { recursive: true })
    etcd.start(0)
    await etcd.untilServing()
    for (const machine of [one, other])
      await until(`${machine.id} refuses`, async () => (await machine.health()) === 'lease-expired')
    await run(
      /fra-1 .* broken\nfra-2 .* broken\ncluster s1 is broken: .*cluster rebuild/,
      'machines',
    )
    const refused = await one.admin('DELETE', kept.path)
    t.match(refused, { status: 503, body: { error: { code: 'clusterBroken' } } })
    for (const { stop } of services) t.equal(await stop(), 0)
    await run(/made again with 3 accesses/, 'rebuild')
    await run(/has lost nothing of cluster s1/, 'rebuild')
    removeAccesses(other)
    const again = [await one.start(), await other.start()] as const
    for (const machine of [one, other]) {
      await untilLeased(machine)
      t.equal(await machine.status(revoked.text), 401, 'what was revoked stays revoked')
      t.equal(await machine.status(kept.text), 200)
      t.equal(await machine.status(late.text), 200)
    }
    const { text } = await makeToken(one)
    t.equal(await other.status(text), 200, 'changes are followed')
    for (const { stop } of again) t.equal(await stop(), 0)
  })

  await t.test('from an export, where etcd and every machine lost their data', async t => {
    const target = join(etcd.dir, 'export')
    await run(/: 4 accesses as of revision \d+, \d+ bytes\n$/, 'export', '--to', target)
    await run(/exists: name a folder that does not/, 'export', '--to', target)
    t.match(JSON.parse(readFileSync(join(target, 'backup.json'), 'utf8')), { kind: 'access' })
    await etcd.kill(0)
    rmSync(data, { recursive: true })
    etcd.start(0)
    await etcd.untilServing()
    for (const machine of [one, other]) removeAccesses(machine)
    await run(/access\/ has followed no cluster; run: slotline cluster init/, 'rebuild')
    const from = ['--access', '--from', target, '--config', one.configFile]
    const restored = await runToEnd(t, ['restore', ...from])
    t.equal(restored.code, 0, restored.output)
    await run(/use another data directory, or, .* cluster rebuild/, 'init')
    await run(/made again with 4 accesses/, 'rebuild')
    await run(/added/, 'add', 'fra-1', '--location', 'fra', '--control')
    await run(/added/, 'add', 'fra-2', '--location', 'fra')
    await one.start()
    await other.start()
    for (const machine of [one, other]) {
      await untilLeased(machine)
      t.equal(await machine.status(revoked.text), 401)
      t.equal(await machine.status(kept.text), 200)
    }
  })
})
