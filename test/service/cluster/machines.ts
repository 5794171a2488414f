// Three machines at two locations over three members of etcd, as docs/cluster.md starts them.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openSharedMemory } from '../../../src/supervision/shared-memory.js'
import {
  makeCertificates,
  openEtcd,
  withoutEtcd,
  type TestEtcd,
} from '../../fixtures/cluster/etcd.js'
import { Load, PAUSE_MS } from '../../fixtures/cluster/load.js'
import {
  CLUSTER,
  operate,
  prepareMachine,
  tokenPath,
  type TestMachine,
} from '../../fixtures/cluster/machine.js'
import { openPeople } from '../../fixtures/cluster/people.js'
import { ADA, BEN } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient, type DashboardReply } from '../../fixtures/dashboard/dashboard-client.js'
import { openStream, watchOf } from '../../fixtures/dashboard/event-page.js'
import { freePorts } from '../../fixtures/free-ports.js'
import { runToEnd, type Service } from '../../fixtures/processes/deployment.js'
import { requirePid } from '../../fixtures/processes/require-pid.js'
import { openSocket } from '../../fixtures/server/socket.js'
import { isSoak, latencyMax, soakSubtest } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

type Running = TestMachine & { readonly service: Service }
type Token = { readonly accessId: string; readonly location: string; readonly text: string }

/** Longest wait of a revocation for a machine that says nothing. */
const LEASE_WAIT_MS = CLUSTER.leaseMs * 1.01
const REVOCATIONS = isSoak ? 12 : 4
const HOUR_MS = 3_600_000
const UNLIMITED = { requestsPerSecondMax: 1_000_000, requestsBurstMax: 1_000_000 }
const GRANT = { subject: 'ada', product: 'node', kind: 'pass' }

/** Grants an access at a machine, with a token of one location. */
const makeToken = async (
  machine: TestMachine,
  location = 'fra',
  limits: object = UNLIMITED,
): Promise<Token> => {
  const granted = await machine.admin('POST', '/accesses', { ...GRANT, limits })
  const accessId = String(granted.body['accessId'])
  const { status, body } = await machine.admin('POST', tokenPath(accessId, location))
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`)
  return { accessId, location, text: String(body['token']) }
}

type Revoked = {
  readonly tookMs: number
  readonly after: number
  readonly status: number
  /** Each with how it is known. */
  readonly confirmations: readonly string[]
}

/** Revokes a token under load; returns the time that it took and the successes afterwards. */
const revokeUnderLoad = async (
  control: TestMachine,
  machines: readonly TestMachine[],
  token: Token,
): Promise<Revoked> => {
  const load = new Load(machines.map(machine => () => machine.status(token.text)))
  await until('the token works', () => load.successes > 3)
  const startedMs = performance.now()
  const path = tokenPath(token.accessId, token.location)
  const { status, body } = await control.admin('DELETE', path)
  load.isDead()
  const tookMs = performance.now() - startedMs
  await sleep(100)
  await load.stop()
  const found = (body['machines'] ?? []) as readonly { readonly id: string; readonly by: string }[]
  const confirmations = found.map(({ id, by }) => `${id} ${by}`)
  return { tookMs, after: load.successesAfter, status, confirmations }
}

const pidOf = ({ service }: Running, role: string): number => requirePid(service.pidsOf(role)[0])

const openCluster = async (
  t: Test,
): Promise<{ etcd: TestEtcd; machines: readonly [Running, Running, Running] }> => {
  const etcd = await openEtcd(t)
  const [fra, nyc] = [await freePorts(), await freePorts()]
  const dashboard = { identity: await openPeople(t, [ADA, BEN], [fra, nyc]) }
  const prepared = [
    await prepareMachine(t, etcd, { id: 'fra-1', location: 'fra', firstPort: fra, dashboard }),
    // Everything on this page holds whatever the clocks say.
    await prepareMachine(t, etcd, { id: 'fra-2', location: 'fra', clockAheadMs: 2 * HOUR_MS }),
    await prepareMachine(t, etcd, { id: 'nyc-1', location: 'nyc', firstPort: nyc, dashboard }),
  ] as const
  const [first] = prepared
  const commands = [
    ['init'],
    ['add', 'fra-1', '--location', 'fra', '--control'],
    ['add', 'fra-2', '--location', 'fra'],
    ['add', 'nyc-1', '--location', 'nyc'],
  ]
  for (const command of commands) {
    const { code, output } = await operate(t, etcd, first.configFile, ...command)
    t.equal(code, 0, output)
  }
  const start = async (machine: TestMachine): Promise<Running> => ({
    ...machine,
    service: await machine.start(),
  })
  const machines = await Promise.all([start(prepared[0]), start(prepared[1]), start(prepared[2])])
  for (const machine of machines)
    await until(`${machine.id} holds a lease`, async () => (await machine.health()) === 'unknown')
  return { etcd, machines }
}

t.test('three machines', { skip: withoutEtcd, timeout: 240_000 }, async t => {
  const { etcd, machines } = await openCluster(t)
  const [control, other, far] = machines
  const near = [control, other]

  await t.test('a token works on every machine of its location at once', async t => {
    const { text } = await makeToken(control)
    t.equal(await control.status(text), 200)
    t.equal(await other.status(text), 200)
    t.equal(await far.status(text), 401, 'it is of another location')
    const { text: distant } = await makeToken(control, 'nyc')
    t.equal(await far.status(distant), 200)
    const denied = await other.admin('POST', '/accesses', GRANT)
    t.equal(denied.status, 503, 'a machine without --control changes nothing')
    t.match(denied.body, { error: { message: /added without --control/ } })
  })

  await t.test('clocks that differ are reported, and what to do', async t => {
    const status = async (): Promise<string> =>
      (await runToEnd(t, ['status', '--config', control.configFile])).output
    const said = 'the clock of fra-2 is 7200 s ahead of that of this machine: synchronise both'
    await until('the log says it', () => control.service.output().includes(said))
    await until('status says it', async () => (await status()).includes(`clocks     ${said}`))
    await until('the other one says it, too', () =>
      other.service.output().includes('the clock of fra-1 is 7200 s behind that of this machine'),
    )
    t.notMatch(control.service.output(), /the clock of nyc-1/)
  })

  await t.test('limits hold over all machines', async t => {
    const [rate, burst, seconds] = [50, 10, isSoak ? 6 : 4]
    const limits = { requestsPerSecondMax: rate, requestsBurstMax: burst }
    const { text } = await makeToken(control, 'fra', limits)
    const loads = near.map(machine => new Load([() => machine.status(text)], 2 * PAUSE_MS))
    await sleep(seconds * 1_000)
    await Promise.all(loads.map(load => load.stop()))
    const counts = loads.map(({ successes }) => successes)
    t.ok(
      counts.every(count => count > burst),
      `${counts.join(' and ')} requests`,
    )
    const sum = counts.reduce((total, count) => total + count)
    // docs/cluster.md; a beat of this cluster and what a busy computer adds to it.
    const bound = rate * (seconds + 0.5) + 2 * burst + rate * (CLUSTER.beatMs / 1_000 + 1)
    t.ok(sum <= bound, `${sum} of at most ${bound}`)
    // A busy computer may send fewer.
    const requests = loads.reduce((total, load) => total + load.requests, 0)
    const wanted = Math.min(rate * seconds, requests)
    t.ok(sum > wanted * 0.6, `and most of the rate is used: ${sum} of ${requests} requests`)
  })

  await t.test('a revoked token is dead on all machines when the call returns', async t => {
    const took: number[] = []
    for (let count = 0; count < REVOCATIONS; count++) {
      const result = await revokeUnderLoad(control, near, await makeToken(control))
      t.match(result, {
        after: 0,
        status: 200,
        confirmations: ['fra-1 confirmed', 'fra-2 confirmed'],
      })
      took.push(result.tookMs)
    }
    took.sort((a, b) => a - b)
    const [p50 = 0, max = 0] = [took[REVOCATIONS / 2], took.at(-1)]
    t.comment(`revocation: p50 ${p50.toFixed(0)} ms, at most ${max.toFixed(0)} ms`)
    t.ok(max < LEASE_WAIT_MS, 'no lease was waited for')
  })

  await t.test('a location that an access loses is dead when the call returns', async t => {
    const token = await makeToken(control, 'nyc')
    const { status } = await control.admin('POST', tokenPath(token.accessId, 'fra'))
    t.equal(status, 201)
    t.equal(await far.status(token.text), 200)
    const load = new Load([() => far.status(token.text)])
    await until('the token works', () => load.successes > 3)
    const amended = await control.admin('POST', `/accesses/${token.accessId}/amend`, {
      locations: ['fra'],
    })
    load.isDead()
    t.match(amended, { status: 200, body: { tokens: [{ location: 'fra' }] } })
    await sleep(100)
    await load.stop()
    t.equal(load.successesAfter, 0)
    t.equal(await far.status(token.text), 401)
  })

  await t.test('what is taken away from a member is refused by every dashboard', async t => {
    const open = async ({ dashboardUrl }: TestMachine, person: typeof ADA) => {
      const client = new DashboardClient(dashboardUrl)
      await client.signIn(person)
      return client
    }
    const people = [open(control, ADA), open(control, BEN), open(far, BEN)] as const
    const [ada, ben, distant] = await Promise.all(people)
    const { email } = BEN
    // Each with what it takes away, and how that is answered then.
    const changes: [
      role: string,
      part: string,
      status: number,
      (members: string) => Promise<DashboardReply>,
    ][] = [
      ['manage', 'webhooks', 403, path => ada.call('PUT', path, { email, role: 'view' })],
      ['view', 'usage', 404, path => ada.call('POST', `${path}/remove`, { email })],
      ['view', 'members', 404, path => ben.call('POST', `${path}/leave`, {})],
    ]
    const run = async ([role, part, status, change]: (typeof changes)[number]): Promise<void> => {
      const path = `/api/accesses/${(await makeToken(control)).accessId}`
      const watched = `${path}/${part}`
      const ask = async (): Promise<number> => (await distant.ask(watched)).status
      t.equal(await ask(), 404)
      t.match(await ada.call('POST', `${path}/members`, { email, role }), { status: 201 })
      const load = new Load([ask])
      await until('the member is answered', () => load.successes > 3)
      const { page } = await openStream(t, { url: far.dashboardUrl }, distant, watchOf([watched]))
      const changed = await change(`${path}/members`)
      load.isDead()
      t.equal(changed.status, 200)
      const { effect, machines } = Object(changed.json)
      t.equal((effect?.machines ?? machines).length, 3)
      t.equal(await ask(), status)
      // Webhooks are sent each 5 s, the others each 2 s.
      if (isSoak || status === 404)
        await until('an open page is sent no more', () => /watching\ndata: \[\]/.test(page.text()))
      await load.stop()
      t.equal(load.successesAfter, 0, `${load.successes} successes before`)
      const { accesses } = Object((await distant.ask('/api/accesses')).json)
      const isListed = JSON.stringify(accesses).includes(path.slice('/api/accesses/'.length))
      t.equal(isListed, status === 403)
    }
    await Promise.all(changes.map(run))
  })

  await t.test(
    'a machine whose follower is stopped refuses everything within its lease',
    async t => {
      const token = await makeToken(control)
      const socket = await openSocket(other.port, { path: `/${token.text}` })
      const follower = pidOf(other, 'follower')
      process.kill(follower, 'SIGSTOP')
      const result = await revokeUnderLoad(control, near, token)
      t.match(result, { after: 0, status: 200, confirmations: ['fra-1 confirmed', 'fra-2 lease'] })
      t.ok(
        result.tookMs >= CLUSTER.leaseMs / 2,
        `waited ${result.tookMs.toFixed(0)} ms for its lease`,
      )
      t.ok(result.tookMs < LEASE_WAIT_MS + latencyMax(1_500))
      t.match(await socket.closed, { code: 1012, reason: 'lease expired' })
      t.equal(await other.health(), 'lease-expired')
      t.equal(await other.status(token.text), 503, 'not 401: it does not know')
      t.equal(await control.health(), 'unknown', 'the others go on')
      process.kill(follower, 'SIGCONT')
      await until('it is back', async () => (await other.health()) === 'unknown')
      t.equal(await other.status(token.text), 401)
    },
  )

  await soakSubtest(t, 'without a lease the same fault lets a revoked token succeed', async t => {
    const token = await makeToken(control)
    const follower = pidOf(other, 'follower')
    process.kill(follower, 'SIGSTOP')
    openSharedMemory(other.dataDir).setLeaseEnd(Infinity)
    const { after } = await revokeUnderLoad(control, near, token)
    t.ok(after > 0, `${after} successes after the answer: the checker sees them`)
    process.kill(follower, 'SIGCONT')
    await until('the token is dead', async () => (await other.status(token.text)) === 401)
  })

  await soakSubtest(t, 'a follower that is killed is back before the lease ends', async t => {
    const { text } = await makeToken(control)
    const before = pidOf(other, 'follower')
    process.kill(before, 'SIGKILL')
    const statuses = new Set<number>()
    const endMs = performance.now() + CLUSTER.leaseMs
    while (performance.now() < endMs) {
      statuses.add(await other.status(text))
      await sleep(PAUSE_MS)
    }
    t.strictSame([...statuses], [200])
    t.not(pidOf(other, 'follower'), before)
  })

  await t.test(
    'with one member of etcd lost nothing changes, with two nothing is served',
    async t => {
      await etcd.kill(0)
      const token = await makeToken(control)
      t.match(await revokeUnderLoad(control, near, token), { after: 0, status: 200 })
      const { accessId, location, text } = await makeToken(control)
      await etcd.kill(1)
      for (const machine of near) {
        await until(`${machine.id} refuses`, async () => (await machine.status(text)) === 503)
        t.equal(await machine.health(), 'lease-expired')
      }
      const refused = await control.admin('DELETE', tokenPath(accessId, location))
      t.match(refused, {
        status: 503,
        body: { error: { message: /etcd does not answer; nothing was changed/ } },
      })
      etcd.start(0)
      etcd.start(1)
      await etcd.untilServing()
      for (const machine of machines)
        await until(`${machine.id} is back`, async () => (await machine.health()) === 'unknown')
      t.equal((await control.admin('DELETE', tokenPath(accessId, location))).status, 200)
      t.equal(await other.status(text), 401)
    },
  )

  await soakSubtest(
    t,
    'what is taken away while a machine is removed is dead at it too',
    async t => {
      const [during, after] = [await makeToken(control, 'nyc'), await makeToken(control, 'nyc')]
      await until('it works', async () => (await far.status(after.text)) === 200)
      const [{ code, output }, revoked] = await Promise.all([
        operate(t, etcd, control.configFile, 'remove', 'nyc-1'),
        revokeUnderLoad(control, [far], during),
      ])
      t.equal(code, 0, output)
      t.equal(revoked.after, 0)
      t.equal((await control.admin('DELETE', tokenPath(after.accessId, 'nyc'))).status, 200)
      t.not(await far.status(after.text), 200)
      t.equal(await far.health(), 'lease-expired')
      const row = (id: string) =>
        `${id} +fra +- +- +\\d\\.\\d s +\\d+ +\\d+\\.\\d+\\.\\d+ +unknown\n`
      const rows = new RegExp(`^machine .* state\n${row('fra-1')}${row('fra-2')}$`)
      // The lease of a machine whose beat does not arrive within two intervals is not shown.
      await until('the others are listed', async () =>
        rows.test((await operate(t, etcd, control.configFile, 'machines')).output),
      )
    },
  )

  await soakSubtest(t, 'a machine that may not join says why in one line, and ends', async t => {
    const foreign = t.testdir()
    makeCertificates(foreign)
    const certificate = (name: string) => ({
      caFile: join(foreign, 'ca.pem'),
      certFile: join(foreign, `${name}.pem`),
      keyFile: join(foreign, `${name}.key`),
    })
    const cases: [name: string, id: string, cluster: object, message: RegExp][] = [
      ['removed', 'nyc-1', {}, /no user nyc-1 for cluster s1; run: slotline cluster add nyc-1$/],
      ['another cluster', 'fra-2', { id: 's2' }, /no user fra-2 for cluster s2; run: /],
      [
        'a certificate of another machine',
        'nyc-1',
        { machine: 'fra-1' },
        /is of nyc-1, not of fra-1$/,
      ],
      [
        'another authority',
        'nyc-1',
        certificate('nyc-1'),
        /etcd at .* is not trusted: .*; check caFile/,
      ],
      [
        'a short lease',
        'nyc-1',
        { leaseMs: 1_000 },
        /leaseMs must be at least three times .*1500$/,
      ],
    ]
    for (const [name, id, cluster, message] of cases) {
      const location = id.slice(0, 3)
      const { configFile } = await prepareMachine(t, etcd, {
        id,
        location,
        cluster,
        folder: name,
      })
      const { code, output } = await runToEnd(t, ['serve', '--config', configFile])
      t.equal(code, 1, name)
      t.match(output.trimEnd(), message, name)
      t.equal(output.trimEnd().split('\n').length, 1, `${name}: ${output}`)
    }
    const used = await operate(t, etcd, control.configFile, 'add', 'fra-2', '--location', 'fra')
    t.match(used, {
      code: 1,
      output: /^slotline: cluster s1 has a machine fra-2 already, at location fra/,
    })
  })
})
