// What a cluster of 20 machines with 10,000 accesses costs: writes, bytes and memory of etcd, and
// memory of the follower of a machine. The machines are followers and leases without edges, in one
// process; etcd and the last machine are real.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { Agent, request } from 'undici'
import { limitedAccess } from '../../src/access/limiter/limit-table.js'
import { mapLimitTable } from '../../src/native/access/limits.js'
import type { StoredAccess } from '../../src/access/store/tables.js'
import { Administration } from '../../src/cluster/administration.js'
import { join as joinCluster } from '../../src/cluster/membership.js'
import { defaults } from '../../src/cluster/options.js'
import { NEW_ACCESS, openControl } from '../fixtures/access/access.js'
import { grantOf } from '../fixtures/access/grant.js'
import { openEtcd, withoutEtcd, type TestEtcd } from '../fixtures/cluster/etcd.js'
import { openFollowedMachine } from '../fixtures/cluster/followed-machine.js'
import { prepareMachine } from '../fixtures/cluster/machine.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { soakTest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

const MACHINES = 20
const ACCESSES = 10_000
/** Accesses of each machine that are used every second. */
const USED = 500
const MEASURED_MS = 30_000
const MIB = 1024 ** 2

/** Bounds of docs/cluster.md. */
const PUTS_PER_SECOND_MAX = MACHINES * 2 * 1.1
const ETCD_BYTES_MAX = 300 * MIB
const FOLLOWER_BYTES_MAX = 80 * MIB

const unshared = (name: string): Buffer => Buffer.from(name.padEnd(32, '.'))

/** Accesses like one that was granted, each with two tokens of its own. */
const copiesOf = (access: StoredAccess): readonly StoredAccess[] =>
  Array.from({ length: ACCESSES }, (_, index) => ({
    ...access,
    accessId: `acc_${index}`,
    subject: `user-${index}`,
    tokens: access.tokens.map((token, at) => ({
      ...token,
      tokenId: `tok_${index}_${at}`,
      digest: unshared(`${index} ${at}`),
    })),
  }))

/** Memory of a process: `VmRSS` is all of it, `RssAnon` without the files that others map, too. */
const memoryOf = (pid: number | undefined, name: 'VmRSS' | 'RssAnon'): number => {
  const status = readFileSync(`/proc/${requirePid(pid)}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024
}

type Counted = { readonly revision: number; readonly received: number; readonly sent: number }

/** Counters of all members, and the revision. */
const count = async (etcd: TestEtcd): Promise<Counted> => {
  const read = (name: string): Buffer => readFileSync(join(etcd.dir, name))
  const connect = { ca: read('ca.pem'), cert: read('root.pem'), key: read('root.key') }
  const dispatcher = new Agent({ connect })
  let [received, sent] = [0, 0]
  for (const endpoint of etcd.endpoints) {
    const { body } = await request(`${endpoint}/metrics`, { dispatcher })
    const text = await body.text()
    const valueOf = (name: string): number =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
    received += valueOf('etcd_network_client_grpc_received_bytes_total')
    sent += valueOf('etcd_network_client_grpc_sent_bytes_total')
  }
  await dispatcher.close()
  const root = await etcd.connect('root')
  const { revision } = await root.get('/')
  root.close()
  return { revision, received, sent }
}

/** Limits of a machine of which this many accesses are used each second. */
const openUse = (t: Test, file: string) => {
  const table = mapLimitTable(file, { edgeCount: 1, rowCount: 2 * USED })
  const accesses = Array.from({ length: USED }, (_, index) =>
    limitedAccess(table, grantOf({}, `acc_${index}`), 0),
  )
  let isUsing = false
  const timer = setInterval(() => {
    if (!isUsing) return
    for (const access of accesses) if (access.acquire(Date.now) === undefined) access.release(1)
  }, 1_000)
  t.teardown(() => clearInterval(timer))
  return { table, use: (): boolean => (isUsing = true) }
}

soakTest('20 machines with 10,000 accesses', { skip: withoutEtcd }, async t => {
  t.setTimeout(600_000)
  const etcd = await openEtcd(t, 3)
  const root = await etcd.connect('root')
  t.teardown(() => root.close())
  const own = await openControl(join(etcd.dir, 'own'))
  const { accessId } = await own.accessManager.grant(NEW_ACCESS)
  for (const location of ['fra', 'nyc'])
    await own.tokenManager.generate({ accessId, network: 'main', location })
  const access = own.store.accesses.get(accessId)
  if (access === undefined) throw new Error('no access')
  await own.store.transaction(() => own.store.replaceAll(copiesOf(access), own.store.revision + 1))
  const administration = new Administration(root, 's1')
  const initMs = performance.now()
  t.equal(await administration.init(randomBytes, own.store), ACCESSES)
  t.comment(`init with ${ACCESSES} accesses: ${(performance.now() - initMs).toFixed(0)} ms`)
  await own.close()

  const uses: (() => boolean)[] = []
  for (let index = 0; index < MACHINES - 1; index++) {
    const machine = `sim-${index}`
    await administration.add(machine, index % 2 === 0 ? 'fra' : 'nyc', false)
    const { table, use } = openUse(t, join(etcd.dir, `use-${index}`))
    uses.push(use)
    const simulated = await openFollowedMachine(t, await etcd.connect('root'), {
      cluster: 's1',
      machine,
      options: defaults,
      dir: join(etcd.dir, machine),
      table,
      location: index % 2 === 0 ? 'fra' : 'nyc',
    })
    simulated.start(await joinCluster(simulated.parts))
    await until(`${machine} holds a lease`, simulated.isLeased, 60_000)
  }
  await administration.add('fra-1', 'fra', true)
  const prepared = await prepareMachine(t, etcd, {
    id: 'fra-1',
    location: 'fra',
    cluster: { leaseMs: defaults.leaseMs, beatMs: defaults.beatMs },
  })
  const service = await prepared.start()
  await until('it holds a lease', async () => (await prepared.health()) === 'unknown', 60_000)

  for (const [name, isUsed] of [
    ['without use', false],
    [`${USED} accesses of each machine in use`, true],
  ] as const) {
    if (isUsed) for (const use of uses) use()
    await sleep(5_000)
    const [before, startedMs] = [await count(etcd), performance.now()]
    await sleep(MEASURED_MS)
    const [after, seconds] = [await count(etcd), (performance.now() - startedMs) / 1_000]
    const puts = (after.revision - before.revision) / seconds
    const kibOf = (key: 'received' | 'sent'): string =>
      ((after[key] - before[key]) / seconds / 1024).toFixed(0)
    t.ok(puts <= PUTS_PER_SECOND_MAX, `${name}: ${puts.toFixed(1)} puts/s`)
    t.ok(puts > MACHINES * 0.8, 'every machine sends beats')
    t.comment(
      `${name}: ${kibOf('received')} KiB/s received, ${kibOf('sent')} KiB/s sent by clients`,
    )
    for (const member of etcd.members) {
      const bytes = memoryOf(member.pid, 'VmRSS')
      t.ok(bytes < ETCD_BYTES_MAX, `${name}: a member of etcd has ${(bytes / MIB).toFixed(0)} MiB`)
    }
    const [follower] = service.pidsOf('follower')
    const [whole, anonymous] = [memoryOf(follower, 'VmRSS'), memoryOf(follower, 'RssAnon')]
    t.comment(`${name}: the follower has ${(whole / MIB).toFixed(0)} MiB with what others map, too`)
    t.ok(
      anonymous < FOLLOWER_BYTES_MAX,
      `${name}: the follower adds ${(anonymous / MIB).toFixed(0)} MiB`,
    )
  }
})
