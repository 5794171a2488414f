import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Administration } from '../../src/cluster/administration.js'
import type { Known } from '../../src/cluster/etcd-journal.js'
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

type Given = {
  readonly known?: Known
  readonly clock?: () => number
  /** How long this process takes to read what it has changed. */
  readonly followMs?: number
}

t.test('how a change is known to be in effect', { skip: withoutEtcd, timeout: 60_000 }, async t => {
  const { connect, kill } = await openEtcd(t, 1)
  const etcd = await connect('root')
  t.teardown(() => etcd.close())
  const administration = new Administration(etcd, 's1')
  await administration.init(randomBytes, undefined)
  for (const id of ['fra-1', 'fra-2']) await administration.add(id, 'fra', false)
  await administration.add('nyc-1', 'nyc', false)

  const openNotifier = (
    waitMs: number,
    { known = { revision: 0, atMs: 0 }, clock = bootMs, followMs = 0 }: Given = {},
  ): MachineNotifier => {
    const options = { ...defaults, leaseMs: LEASE_MS, callMs: 500, retryMs: 20, waitMs }
    const journal = { known, prove: () => etcd.prove(keys.epoch) }
    const logger = createLog('notifier', () => {})
    const untilFollowed = async (): Promise<void> => void (await sleep(followMs))
    const clocks = { bootMs: clock, now: Date.now }
    return new MachineNotifier({ etcd, keys, journal, options, untilFollowed, ...clocks, logger })
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
  const early = await openNotifier(60_000, { clock: slowClock }).awaitAcknowledged(['fra'])
  t.match(early, { isPending: false, machines })

  const waiting = timed(patient.awaitAcknowledged(['fra']))
  await beat('fra-2')
  const { found: confirmed } = await waiting
  t.match(confirmed, {
    isPending: false,
    machines: [machines[0], { id: 'fra-2', by: 'confirmed' }],
  })
  t.match(await patient.awaitAcknowledged(['ams']), { isPending: false, machines: [] })

  const { revision } = confirmed
  await etcd.transact([], [{ remove: keys.beat('fra-2') }])
  const changedBefore = (agoMs: number, waitMs = 60_000, followMs = 0): MachineNotifier =>
    openNotifier(waitMs, { known: { revision, atMs: bootMs() - agoMs }, followMs })
  // Before the time of the change is taken, of which the rest is what is left.
  const changedMs = performance.now()
  const changed = changedBefore(LEASE_MS / 2, 60_000, LEASE_MS / 2)
  const rest = await changed.awaitAcknowledged(['fra'])
  const restMs = performance.now() - changedMs
  t.match(rest, { revision, isPending: false, machines }, 'the lease began with the change')
  t.ok(restMs >= LEASE_MS * 0.51 - 5 && restMs < LEASE_MS * 0.9, `${restMs.toFixed(0)} ms`)
  await etcd.compact((await etcd.get(keys.epoch)).revision)
  for (const waitMs of [WAIT_MS, 60_000]) {
    const { tookMs, found } = await timed(
      changedBefore(LEASE_MS * 2, waitMs).awaitAcknowledged(['fra']),
    )
    t.match(found, { revision, isPending: false, machines }, 'one made long ago is in effect')
    t.ok(tookMs < LEASE_MS / 2, `${tookMs.toFixed(0)} ms`)
  }
  const { tookMs: againMs, found: again } = await timed(
    changedBefore(WAIT_MS * 2, WAIT_MS).awaitAcknowledged(['fra']),
  )
  t.match(again, { isPending: true, machines }, 'asked again, it waits again')
  t.ok(againMs >= WAIT_MS - 5, `${againMs.toFixed(0)} ms`)

  await kill(0)
  await t.rejects(changedBefore(0, WAIT_MS).awaitAcknowledged(['fra']), { name: 'notConfirmed' })
})
