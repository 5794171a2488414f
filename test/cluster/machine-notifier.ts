import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Administration } from '../../src/cluster/administration.js'
import { EtcdLog } from '../../src/cluster/etcd-log.js'
import { keysOf } from '../../src/cluster/keys.js'
import { MachineNotifier } from '../../src/cluster/machine-notifier.js'
import { defaults } from '../../src/cluster/options.js'
import { format } from '../../src/cluster/values.js'
import { bootMs } from '../../src/native/os.js'
import { createLog } from '../../src/shared/log.js'
import { openEtcd, withoutEtcd } from '../fixtures/cluster/etcd.js'

const keys = keysOf('s1')
const LEASE_MS = 2_000
const WAIT_MS = 150

t.test('how a change is known to be in effect', { skip: withoutEtcd, timeout: 60_000 }, async t => {
  const { connect, kill } = await openEtcd(t, 1)
  const etcd = await connect('root')
  t.teardown(() => etcd.close())
  const administration = new Administration(etcd, 's1')
  await administration.init(randomBytes, undefined)
  for (const id of ['fra-1', 'fra-2']) await administration.add(id, 'fra', false)
  await administration.add('nyc-1', 'nyc', false)

  const openNotifier = (waitMs: number, proposed = 0, clock = bootMs): MachineNotifier => {
    const options = { ...defaults, leaseMs: LEASE_MS, callMs: 500, retryMs: 20, waitMs }
    const log = new EtcdLog({ etcd, keys, epoch: () => '', options, randomBytes })
    log.knownRevision = proposed
    const logger = createLog('notifier', () => {})
    const clocks = { bootMs: clock, now: Date.now }
    return new MachineNotifier({ etcd, keys, log, options, ...clocks, logger })
  }
  const [patient, hasty] = [openNotifier(60_000), openNotifier(WAIT_MS)]
  const beat = async (id: string): Promise<void> => {
    const { revision } = await etcd.get(keys.epoch)
    const value = format({ instance: id, applied: revision + 100 })
    await etcd.transact([], [{ put: keys.beat(id), value }])
  }
  const timed = async <T>(call: Promise<T>) => {
    const startedMs = performance.now()
    return { found: await call, tookMs: performance.now() - startedMs }
  }
  await beat('fra-1')

  const { found: pending, tookMs: shortMs } = await timed(hasty.awaitAcknowledged(['fra']))
  t.ok(shortMs >= WAIT_MS - 5 && shortMs < LEASE_MS, `${shortMs.toFixed(0)} ms`)
  const machines = [
    { id: 'fra-1', by: 'confirmed' },
    { id: 'fra-2', by: 'lease' },
  ]
  t.match(pending, { isPending: true, machines })
  const leftMs = pending.atMs - Date.now()
  t.ok(leftMs > 0 && leftMs <= LEASE_MS * 1.01 - WAIT_MS + 5, `dead in ${leftMs} ms`)

  const { found: leased, tookMs: leaseMs } = await timed(patient.awaitAcknowledged(['fra']))
  t.match(leased, { isPending: false, machines })
  t.ok(leaseMs >= LEASE_MS * 1.01 - 5, `${leaseMs.toFixed(0)} ms: the whole lease`)
  t.ok(Math.abs(leased.atMs - Date.now()) < 500)

  // By this clock every timer is early.
  const slowClock = (): number => bootMs() * 0.99
  const early = await openNotifier(60_000, 0, slowClock).awaitAcknowledged(['fra'])
  t.match(early, { isPending: false, machines })

  const waiting = timed(patient.awaitAcknowledged(['fra']))
  await beat('fra-2')
  const { found: confirmed } = await waiting
  t.match(confirmed, {
    isPending: false,
    machines: [machines[0], { id: 'fra-2', by: 'confirmed' }],
  })
  t.match(await patient.awaitAcknowledged(['ams']), { isPending: false, machines: [] })

  const before = openNotifier(WAIT_MS, confirmed.revision)
  await kill(0)
  await t.rejects(before.awaitAcknowledged(['fra']), { name: 'notConfirmed' })
})
