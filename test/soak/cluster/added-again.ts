// Data directories that come back: of a machine that was removed and added again, of one that was
// copied, and of one that has seen more than etcd has.
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, readdirSync } from 'node:fs'
import { join as joinPath } from 'node:path'
import type { Test } from 'tap'
import { openReaderAt } from '../../../src/access/store/store.js'
import { defaults as storeOptions } from '../../../src/access/store/options.js'
import type { AccessDocument, ClusterState } from '../../../src/access/store/tables.js'
import { Administration } from '../../../src/cluster/administration.js'
import { EtcdJournal } from '../../../src/cluster/etcd-journal.js'
import type { Etcd } from '../../../src/cluster/etcd/client.js'
import { BROKEN, keysOf } from '../../../src/cluster/keys.js'
import { join } from '../../../src/cluster/membership.js'
import { defaults } from '../../../src/cluster/options.js'
import { bootMs } from '../../../src/native/os.js'
import { NEW_ACCESS, LIMITS, NOW_MS } from '../../fixtures/access/access.js'
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { openFollowedMachine } from '../../fixtures/cluster/followed-machine.js'
import { until } from '../../fixtures/until.js'
import { soakTest } from '../../fixtures/soak.js'

const cluster = 's1'
const keys = keysOf(cluster)
const options = { ...defaults, leaseMs: 600, beatMs: 100, retryMs: 20 }
const LOST = /etcd has lost changes that were made/
const AGAIN = /machine fra-\d was removed and added again/

const access = (accessId: string): AccessDocument => ({
  ...NEW_ACCESS,
  accessId,
  networks: ['main'],
  locations: ['fra'],
  label: '',
  limits: LIMITS,
  createdAtMs: NOW_MS,
  endedAtMs: null,
  tokens: [],
  formerTokens: [],
  webhooks: [],
})

const openCluster = async (t: Test) => {
  const { connect, dir } = await openEtcd(t, 1)
  const root = await connect('root')
  const administration = new Administration(root, cluster)
  await administration.init(randomBytes, undefined)
  const epoch = (await root.get(keys.epoch)).found?.value.toString() ?? ''
  const journal = new EtcdJournal({
    etcd: root,
    keys,
    epoch: () => epoch,
    options,
    randomBytes,
    bootMs,
  })
  const grant = (accessId: string) => journal.propose({ accessId, update: () => access(accessId) })
  const open = (machine: string, folder: string, etcd: Etcd = root) =>
    openFollowedMachine(t, etcd, { cluster, machine, options, dir: joinPath(dir, folder) })
  const run = async (machine: string, folder: string, etcd: Etcd = root) => {
    const opened = await open(machine, folder, etcd)
    opened.start(await join(opened.parts))
    await until(`${machine} holds a lease`, opened.isLeased)
    return opened
  }
  const addAgain = async (machine: string, isControl: boolean): Promise<void> => {
    await administration.remove(machine, options)
    await administration.add(machine, 'fra', isControl)
  }
  const currentEpoch = async () => (await root.get(keys.epoch)).found?.value.toString()
  t.teardown(() => root.close())
  return { addAgain, administration, connect, currentEpoch, dir, epoch, grant, open, root, run }
}

type Machine = Awaited<ReturnType<typeof openFollowedMachine>>

const setState = ({ store }: Machine, change: Partial<ClusterState>): Promise<void> =>
  store.transaction(() => {
    const { cluster: state } = store
    if (state !== undefined) store.setCluster({ ...state, ...change })
  })

soakTest('machines that were added again', { skip: withoutEtcd, timeout: 60_000 }, async t => {
  const of = await openCluster(t)
  const { addAgain, administration, currentEpoch, dir, epoch, grant, open, run } = of
  const former = joinPath(dir, 'two', 'access.former')
  for (const id of ['fra-1', 'fra-2', 'fra-3']) await administration.add(id, 'fra', true)
  const bystander = await run('fra-1', 'one')

  for (const isControl of [true, false])
    await t.test(`stopped, and started as it was; control: ${isControl}`, async t => {
      const { store, stop } = await run('fra-2', 'two')
      await grant('acc_kept')
      await until('it has the access', () => store.accesses.get('acc_kept') !== undefined)
      await stop()
      // What nobody else has: as a change that was lost, or made in the file by hand.
      await store.transaction(() =>
        store.putAccess({ ...access('acc_own'), changeId: 'c', revision: store.revision }),
      )
      await store.close()
      await addAgain('fra-2', isControl)
      const etcd = await of.connect('fra-2')
      t.teardown(() => etcd.close())
      const refused = await open('fra-2', 'two')
      await t.rejects(administration.rebuild(randomBytes, refused.store, 'fra-2'), {
        message: /has lost nothing of cluster s1/,
      })
      await refused.store.close()
      const again = await run('fra-2', 'two', etcd)
      t.match(again.logged(), AGAIN)
      t.notOk(again.store.accesses.get('acc_own'), 'what it had is not trusted')
      t.ok(again.store.accesses.get('acc_kept'))
      const copy = await openReaderAt(former, storeOptions)
      t.ok(copy.accesses.get('acc_own'), 'but kept')
      await copy.close()
      t.equal(await currentEpoch(), epoch)
      t.ok(bystander.isLeased())
      await again.stop()
      await again.store.close()
      const once = await open('fra-2', 'two')
      await join(once.parts)
      t.notMatch(once.logged(), AGAIN, 'it is told once')
      await once.store.close()
      const names = readdirSync(joinPath(dir, 'two')).filter(name => name.startsWith('access.'))
      t.strictSame(names, ['access.former'], 'one copy')
    })

  await t.test('while it runs', async t => {
    const running = await run('fra-3', 'three')
    await administration.remove('fra-3', options)
    await until('its lease has ended', () => !running.isLeased())
    t.match(running.logged(), /machine fra-3 was removed from the cluster/)
    await administration.add('fra-3', 'fra', true)
    await until('it is told', () => AGAIN.test(running.replaced()))
    t.notOk(running.isLeased())
    // Its watch of etcd goes on: it has applied what is newer than the new machine.
    await grant('acc_late')
    await until('it follows', () => running.store.accesses.get('acc_late') !== undefined)
    await running.stop()
    running.start(await join(running.parts))
    await until('it holds a lease', running.isLeased)
    t.equal(await currentEpoch(), epoch)
    await running.stop()
    await running.store.close()
  })

  await t.test('a former one, where another data directory has its place', async t => {
    const old = await run('fra-3', 'three')
    await administration.remove('fra-3', options)
    await administration.add('fra-3', 'fra', true)
    const fresh = await run('fra-3', 'new')
    await until('the old one is told', () => AGAIN.test(old.replaced()))
    await old.stop()
    await t.rejects(join(old.parts), { message: /another data directory runs as machine fra-3/ })
    t.ok(old.store.accesses.get('acc_kept'), 'nothing of it was set aside')
    t.ok(fresh.isLeased())
    t.equal(fresh.replaced(), '')
    await fresh.stop()
    await fresh.store.close()
    await old.store.close()
  })

  await t.test('a copy of a data directory, and another boot', async t => {
    const original = await run('fra-2', 'two')
    await original.stop()
    await original.store.close()
    cpSync(joinPath(dir, 'two'), joinPath(dir, 'copy'), { recursive: true })
    const again = await run('fra-2', 'two')
    const copy = await open('fra-2', 'copy')
    await t.rejects(join(copy.parts), { message: /another data directory runs as machine fra-2/ })
    t.equal(again.replaced(), '')
    t.ok(again.isLeased())
    await again.stop()
    const startedMs = performance.now()
    copy.start(await join(copy.parts))
    const waitedMs = performance.now() - startedMs
    t.ok(waitedMs >= options.leaseMs - 5, `it has waited ${waitedMs.toFixed(0)} ms`)
    t.notOk(again.isLeased(), 'for the lease of the former one')
    await until('the copy holds a lease', copy.isLeased)
    again.start(again.store.cluster as ClusterState)
    await until('the former one is told', () => again.replaced() !== '')
    await copy.stop()
    await again.stop()
    const sameMs = performance.now()
    await join(copy.parts)
    t.ok(performance.now() - sameMs < options.leaseMs, 'a restart at one place waits for nothing')
    await setState(copy, { place: 'before the boot' })
    const bootMs = performance.now()
    await join(copy.parts)
    t.ok(performance.now() - bootMs >= options.leaseMs - 5)
    await copy.store.close()
    await again.store.close()
  })
  t.ok(bystander.isLeased())
})

soakTest('a real loss', { skip: withoutEtcd, timeout: 60_000 }, async t => {
  const of = await openCluster(t)
  const { addAgain, administration, currentEpoch, dir, epoch, grant, open, root, run } = of
  for (const id of ['fra-1', 'fra-2']) await administration.add(id, 'fra', true)
  const bystander = await run('fra-1', 'one')
  const machine = await run('fra-2', 'two')
  await machine.stop()

  await t.test('is for a machine that joins to notice for itself only', async t => {
    await addAgain('fra-2', true)
    const { revision } = await grant('acc_1')
    // As if it had proved something after the machine was added that etcd has now.
    await setState(machine, { lastBeat: revision })
    await t.rejects(join(machine.parts), { message: LOST })
    await machine.store.transaction(() => machine.store.replaceAll([], revision + 1_000))
    await setState(machine, { lastBeat: 1 })
    await t.rejects(join(machine.parts), { message: LOST })
    t.notOk(existsSync(joinPath(dir, 'two', 'access.former')))
    await administration.remove('fra-2', options)
    await t.rejects(join(machine.parts), { message: LOST }, 'of a machine that is not there')
    t.equal(await currentEpoch(), epoch)
    t.ok(bystander.isLeased())
    await administration.add('fra-2', 'fra', false)
    await machine.store.transaction(() => machine.store.replaceAll([], 0))
    machine.start(await join(machine.parts))
    await until('it holds a lease', machine.isLeased)
    await machine.stop()
  })

  await t.test('stops a machine without --control alone', async t => {
    const etcd = await of.connect('fra-2')
    t.teardown(() => etcd.close())
    const alone = { ...machine.parts, etcd }
    const { revision } = machine.store
    await machine.store.transaction(() => machine.store.replaceAll([], revision + 1_000))
    await t.rejects(join(alone), { message: LOST })
    await machine.store.transaction(() => machine.store.replaceAll([], revision))
    await root.transact([], [{ remove: keys.beat('fra-2') }])
    await t.rejects(join(alone), { message: LOST })
    t.equal(await currentEpoch(), epoch)
  })

  await t.test('of what a running machine has applied breaks the cluster', async t => {
    const late = await open('fra-1', 'late')
    await bystander.stop()
    const state = await join(late.parts)
    await late.store.transaction(() => late.store.replaceAll([], 1_000_000))
    late.start(state)
    await until('it is noticed', () => LOST.test(late.logged()))
    t.notOk(late.isLeased())
    t.equal(await currentEpoch(), BROKEN)
    await late.stop()
    await root.transact([], [{ put: keys.epoch, value: epoch }])
  })

  await t.test('of a proof breaks the cluster when its machine comes back', async t => {
    await administration.setControl('fra-2', true)
    const etcd = await of.connect('fra-2')
    t.teardown(() => etcd.close())
    await t.rejects(join({ ...machine.parts, etcd }), { message: LOST })
    t.equal(await currentEpoch(), BROKEN)
  })
})
