import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createLocalJournal } from '../../src/access/journal/local-journal.js'
import { Administration } from '../../src/cluster/administration.js'
import { EtcdError, type Etcd } from '../../src/cluster/etcd/client.js'
import { BROKEN, keysOf } from '../../src/cluster/keys.js'
import { join } from '../../src/cluster/membership.js'
import { defaults } from '../../src/cluster/options.js'
import { format, readBeat } from '../../src/cluster/values.js'
import { bootMs } from '../../src/native/os.js'
import { createLog } from '../../src/shared/log.js'
import { NEW_ACCESS, openControl } from '../fixtures/access/access.js'
import { openEtcd, withoutEtcd } from '../fixtures/cluster/etcd.js'
import { openFollowedMachine } from '../fixtures/cluster/followed-machine.js'
import { until } from '../fixtures/until.js'

const cluster = 's1'
const keys = keysOf(cluster)
const options = { ...defaults, leaseMs: 600, beatMs: 100, retryMs: 20 }

const openMachine = (t: Test, etcd: Etcd, machine: string, dir = t.testdir()) =>
  openFollowedMachine(t, etcd, { cluster, machine, options, dir })

t.test('which machines a cluster has', { skip: withoutEtcd, timeout: 60_000 }, async t => {
  const { connect, dir } = await openEtcd(t, 1)
  const root = await connect('root')
  t.teardown(() => root.close())
  const administration = new Administration(root, cluster)
  const own = await openControl(`${dir}/own`)
  const access = await own.accessManager.grant(NEW_ACCESS)
  const scope = { accessId: access.accessId, network: 'main', location: 'fra' }
  const { tokenId } = await own.tokenManager.generate(scope)
  const before = await openMachine(t, root, 'fra-1', `${dir}/before`)
  await t.rejects(join(before.parts), { message: /has no cluster s1: .*slotline cluster init$/ })
  await t.rejects(administration.add('fra-1', 'fra', true), { message: /cluster init$/ })

  const count = await administration.init(randomBytes, own.store)
  t.equal(count, 1, 'the accesses of a machine by itself are taken over')
  await t.rejects(administration.init(randomBytes, undefined), { message: /another cluster.id$/ })
  await t.rejects(join(before.parts), {
    message: /no machine fra-1; run: slotline cluster add fra-1/,
  })
  await administration.add('fra-1', 'fra', true)
  await administration.add('fra-2', 'fra', false)
  await t.rejects(administration.add('fra-2', 'nyc', false), {
    message: /already, at location fra: it needs no other command to run again/,
  })

  await t.test('a certificate changes what is its own, and nothing else', async t => {
    const stolen = await connect('fra-2')
    t.teardown(() => stolen.close())
    const put = (key: string) => stolen.transact([], [{ put: key, value: '{}' }])
    for (const key of [
      keys.access(access.accessId),
      keys.access('acc_new'),
      keys.machine('fra-2'),
      keys.machine('fra-3'),
      keys.beat('fra-1'),
      keys.beat('fra-20'),
      keys.use('fra-1'),
      keys.epoch,
      '/slotline/s2/epoch',
      '/other',
    ])
      await t.rejects(put(key), { name: 'EtcdError', isDenied: true }, key)
    await t.rejects(stolen.get('/slotline/s2/epoch'), EtcdError)
    await t.rejects(stolen.changeAuth('UserAdd', { name: 'x' }), EtcdError)
    await put(keys.use('fra-2'))
    const stranger = await connect('nyc-1')
    t.teardown(() => stranger.close())
    await t.rejects(stranger.get(keys.epoch), EtcdError, 'a machine that was not added')
    const machine = await openMachine(t, stranger, 'nyc-1')
    await t.rejects(join(machine.parts), { message: /no user nyc-1 .*slotline cluster add nyc-1$/ })
  })

  await t.test('a machine follows the cluster and proves it', async t => {
    const machine = await openMachine(t, root, 'fra-1')
    machine.start(await join(machine.parts))
    await until('it holds a lease', machine.isLeased)
    const found = machine.store.accesses.get(access.accessId)
    t.match(found, { subject: 'ada', tokens: [{ tokenId }] })
    const list = async () => {
      const logger = createLog('t', () => {})
      return (await administration.machines(options, { bootMs, logger })).machines
    }
    const running = {
      id: 'fra-1',
      location: 'fra',
      slots: [{ network: 'main', slot: 7, lag: 0 }],
      revision: Number,
      version: '9',
      state: 'ok',
    }
    /** The machines once a busy machine proves its lease of 100 ms. */
    const listLeased = async (): ReturnType<typeof list> => {
      let found = await list()
      await until('it holds its lease', async () => {
        if (found[0]?.state === 'ok') return true
        found = await list()
        return false
      })
      return found
    }
    const [listed] = await listLeased()
    t.match(listed, running)
    t.ok((listed?.leaseMs ?? 0) > 0 && (listed?.leaseMs ?? 0) <= 100, `${listed?.leaseMs} ms`)
    // As a stolen certificate of another machine could.
    for (const garbage of ['', '{', '{"instance":"i","applied":-1}', 'x'.repeat(20_000)]) {
      await root.transact([], [{ put: keys.beat('fra-2'), value: garbage }])
      t.match(await listLeased(), [running, { id: 'fra-2', state: 'not-started', revision: null }])
    }
    await root.transact([], [{ remove: keys.beat('fra-2') }])
    await sleep(options.leaseMs)
    await until('it holds its lease again and again', machine.isLeased)
    await administration.remove('fra-1', options)
    await until('its lease has ended', () => !machine.isLeased())
    t.match(machine.logged(), /machine fra-1 was removed from the cluster/)
    await t.rejects(administration.remove('fra-1', options), { message: /no machine fra-1$/ })
    await machine.stop()
    await administration.add('fra-1', 'fra', false)
  })

  await t.test('two data directories cannot run as one machine', async t => {
    const one = await openMachine(t, root, 'fra-1', `${dir}/one`)
    one.start(await join(one.parts))
    await until('it holds a lease', one.isLeased)
    const other = await openMachine(t, root, 'fra-1', `${dir}/other`)
    const message = /another data directory runs as machine fra-1: stop it/
    await t.rejects(join(other.parts), { message })
    await one.stop()
    const membership = await join(other.parts)
    t.notOk(one.isLeased(), 'it takes over once the lease of the former one has ended')
    other.start(membership)
    await until('it holds a lease', other.isLeased)
    await root.transact(
      [],
      [{ put: keys.beat('fra-1'), value: format({ instance: 'x', applied: 1 }) }],
    )
    await until('it notices another', () => other.replaced() !== '')
    t.match(other.replaced(), message.source.slice(0, 30))
  })

  await t.test('a store of another cluster, or with accesses, joins none', async t => {
    const machine = await openMachine(t, root, 'fra-2')
    const { store } = machine
    await createLocalJournal({ store, randomBytes }).propose({
      accessId: 'acc_own',
      update: () => ({
        ...access,
        accessId: 'acc_own',
        tokens: [],
        formerTokens: [],
        webhooks: [],
      }),
    })
    await t.rejects(join(machine.parts), { message: /slotline cluster init takes them/ })
    const state = { epoch: 'other', instance: 'i', lastBeat: 0, added: 0, place: '' }
    await store.transaction(() => store.setCluster(state))
    await t.rejects(join(machine.parts), { message: /etcd has another cluster s1 than access/ })
    const elsewhere = { ...machine.parts, location: 'nyc' }
    await t.rejects(join(elsewhere), { message: /at location fra, and cluster.location is nyc$/ })
  })

  await t.test('a machine without --control stops alone where etcd went back', async t => {
    const etcd = await connect('fra-2')
    t.teardown(() => etcd.close())
    const machine = await openMachine(t, etcd, 'fra-2', `${dir}/alone`)
    machine.start(await join(machine.parts))
    await until('it holds a lease', machine.isLeased)
    await root.transact([], [{ remove: keys.beat('fra-2') }])
    await until('its lease has ended', () => !machine.isLeased())
    const lost = /etcd has lost changes that were made/
    await until('it says why', () => lost.test(machine.logged()))
    t.not((await root.get(keys.epoch)).found?.value.toString(), BROKEN)
    await machine.stop()
  })

  await t.test('an etcd that went back breaks the cluster', async t => {
    const machine = await openMachine(t, root, 'fra-2')
    machine.start(await join(machine.parts))
    await until('it holds a lease', machine.isLeased)
    const { found } = await root.get(keys.beat('fra-2'))
    t.ok((readBeat(found?.value ?? Buffer.of())?.applied ?? 0) > 0)
    // As an older copy has it.
    await root.transact([], [{ remove: keys.beat('fra-2') }])
    await until('its lease has ended', () => !machine.isLeased())
    t.equal((await root.get(keys.epoch)).found?.value.toString(), BROKEN)
    t.match(machine.logged(), /etcd has lost changes that were made/)
    await machine.stop()
    await t.rejects(join(machine.parts), { message: /cluster s1 is broken/ })
  })
  await own.close()
})
