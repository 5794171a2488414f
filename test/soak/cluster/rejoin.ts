// A machine is removed and added again, and comes back with its data directory as it was: one that
// slept meanwhile, and one that was stopped. Nobody else notices.
import { join } from 'node:path'
import { existsSync } from 'node:fs'
import { signalMachine } from '../../fixtures/cluster/balancer.js'
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import {
  operate,
  prepareMachine,
  tokenPath,
  type TestMachine,
} from '../../fixtures/cluster/machine.js'
import { repeat } from '../../fixtures/repeat.js'
import { until } from '../../fixtures/until.js'
import { soakTest } from '../../fixtures/soak.js'

const LIMITS = { requestsPerSecondMax: 100_000, requestsBurstMax: 100_000 }
const GRANT = { subject: 'ada', product: 'node', kind: 'pass', limits: LIMITS }
const AGAIN = /machine fra-2 was removed and added again: it joins as a new one/

const makeToken = async (machine: TestMachine) => {
  const { body } = await machine.admin('POST', '/accesses', GRANT)
  const path = tokenPath(String(body['accessId']), 'fra')
  const { body: made } = await machine.admin('POST', path)
  return { path, text: String(made['token']) }
}

const untilLeased = (machine: TestMachine): Promise<void> =>
  until(`${machine.id} holds a lease`, async () => (await machine.health()) === 'unknown')

soakTest('a machine is added again', { skip: withoutEtcd, timeout: 180_000 }, async t => {
  const etcd = await openEtcd(t, 1)
  const one = await prepareMachine(t, etcd, { id: 'fra-1', location: 'fra' })
  const other = await prepareMachine(t, etcd, { id: 'fra-2', location: 'fra' })
  const run = async (...args: readonly string[]): Promise<void> =>
    void t.match(await operate(t, etcd, one.configFile, ...args), { code: 0 }, args.join(' '))
  await run('init')
  await run('add', 'fra-1', '--location', 'fra', '--control')
  await run('add', 'fra-2', '--location', 'fra', '--control')
  await one.start()
  const service = await other.start()
  for (const machine of [one, other]) await untilLeased(machine)
  const [kept, revoked, late] = [await makeToken(one), await makeToken(one), await makeToken(one)]
  const bystander = repeat(200, () => one.status(kept.text))

  await t.test('that slept meanwhile', async t => {
    t.equal(await other.status(revoked.text), 200)
    signalMachine(service, 'SIGSTOP')
    await run('remove', 'fra-2')
    await run('add', 'fra-2', '--location', 'fra')
    const { status, body } = await one.admin('DELETE', revoked.path)
    t.match(
      { status, body },
      { status: 200, body: { machines: [{ id: 'fra-1' }, { by: 'lease' }] } },
    )
    // It was queued while the machine slept.
    const queued = other.status(revoked.text)
    signalMachine(service, 'SIGCONT')
    t.not(await queued, 200)
    const after = repeat(401, () => other.status(revoked.text))
    await untilLeased(other)
    t.equal(await other.status(kept.text), 200)
    const { others } = await after.stop()
    t.strictSame(
      others.filter(status => status === 200),
      [],
    )
    t.match(service.output(), AGAIN)
    t.ok(existsSync(join(other.dataDir, 'access.former')))
  })

  await t.test('that was stopped, and may change accesses later', async t => {
    t.equal(await service.stop(), 0)
    await run('remove', 'fra-2')
    await run('add', 'fra-2', '--location', 'fra')
    t.equal((await one.admin('DELETE', late.path)).status, 200)
    const again = await other.start()
    await untilLeased(other)
    t.match(again.output(), AGAIN)
    t.equal(await other.status(late.text), 401)
    t.equal(await other.status(kept.text), 200)
    const { body } = await other.admin('POST', '/accesses', GRANT)
    t.match(body, { error: { code: 'changeDenied' } })
    await run('control', 'fra-2')
    t.equal((await other.admin('POST', '/accesses', GRANT)).status, 201)
    await run('control', 'fra-2', '--off')
    t.match(await other.admin('POST', '/accesses', GRANT), { status: 503 })
  })

  const { count, others } = await bystander.stop()
  t.strictSame(others, [], `of ${count} requests at the other machine`)
})
