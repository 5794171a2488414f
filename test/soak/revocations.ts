// 1,000 revocations, regenerations and restrictions on three machines in network namespaces, under
// load and faults. A token must not work at any machine once the call that took it away has
// returned; a run without leases shows that the checker sees where one does.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { openSharedMemory } from '../../src/supervision/shared-memory.js'
import { openEtcd, withoutEtcd, type TestEtcd } from '../fixtures/cluster/etcd.js'
import {
  operate,
  prepareMachine,
  tokenPath,
  type TestMachine,
} from '../fixtures/cluster/machine.js'
import {
  BRIDGE_ADDRESS,
  openNamespaces,
  withoutNamespaces,
  type Namespace,
} from '../fixtures/cluster/namespaces.js'
import { childPids, type Service } from '../fixtures/processes/deployment.js'
import { openSocket, type SocketClient } from '../fixtures/server/socket.js'
import { soakTest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

const CHANGES = Number(process.env['SLOTLINE_CHANGES'] ?? 1_000)
/** Changes at a time, each of an access of its own. */
const WORKERS = 8
/** Pause of each loop that sends requests: 8 workers on 2 machines make about 500 a second. */
const PROBE_MS = 30
/** How long requests are sent after a token was taken away. */
const AFTER_MS = 300
const SOCKETS = 1_000
const NAIVE_CHANGES = 4
const GRANT = { subject: 'ada', product: 'node', kind: 'pass' }
const LIMITS = {
  requestsPerSecondMax: 1_000_000,
  requestsBurstMax: 1_000_000,
  requestsInFlightMax: 10_000,
  socketsMax: 20_000,
}
/** How long a fault lasts: longer than a lease. */
const FAULT_MS = 8_000
const CALM_MS = 5_000

type Machine = TestMachine & { readonly namespace: Namespace; service: Service }

class Cluster {
  readonly t: Test
  readonly etcd: TestEtcd
  readonly machines: readonly [Machine, Machine, Machine]
  /** What is wrong at this moment. */
  fault = 'none'
  private readonly stopped: number[] = []

  constructor(t: Test, etcd: TestEtcd, machines: readonly [Machine, Machine, Machine]) {
    this.t = t
    this.etcd = etcd
    this.machines = machines
  }

  get control(): Machine {
    return this.machines[0]
  }

  at(location: string): readonly Machine[] {
    return this.machines.filter(machine => machine.location === location)
  }

  async operate(...args: readonly string[]): Promise<void> {
    const { code, output } = await operate(this.t, this.etcd, this.control.configFile, ...args)
    if (code !== 0) throw new Error(`${args.join(' ')}: ${output}`)
  }

  /** Stops processes of a machine, by their role; the whole machine without one. */
  stop({ service }: Machine, role?: string): void {
    const { pid = 0 } = service.supervisor
    for (const one of role === undefined ? [pid, ...childPids(pid)] : service.pidsOf(role)) {
      process.kill(one, 'SIGSTOP')
      this.stopped.push(one)
    }
  }

  resume(): void {
    for (const pid of this.stopped.splice(0))
      try {
        process.kill(pid, 'SIGCONT')
      } catch {
        // Its supervisor has replaced it.
      }
  }

  kill({ service }: Machine, role: string): void {
    for (const pid of service.pidsOf(role)) process.kill(pid, 'SIGKILL')
  }

  /** A machine is removed, added again and started as it was. */
  async replace(machine: Machine): Promise<void> {
    await this.operate('remove', machine.id)
    await machine.service.stop()
    await this.operate('add', machine.id, '--location', machine.location)
    machine.service = await machine.start()
  }
}

const openCluster = async (t: Test): Promise<Cluster> => {
  const namespaces = openNamespaces(t, 2)
  const etcd = await openEtcd(t, 3, BRIDGE_ADDRESS)
  const prepare = async (id: string, namespace?: Namespace) =>
    prepareMachine(t, etcd, {
      id,
      location: id.slice(0, 3),
      ...(namespace === undefined ? {} : { namespace }),
    })
  const own: Namespace = { name: '', address: '127.0.0.1', disconnect() {}, connect() {} }
  const places = [own, namespaces[0] ?? own, namespaces[1] ?? own]
  const prepared = [
    await prepare('fra-1'),
    await prepare('fra-2', places[1]),
    await prepare('nyc-1', places[2]),
  ]
  const run = (...args: readonly string[]) =>
    operate(t, etcd, prepared[0]?.configFile ?? '', ...args)
  await run('init')
  await run('add', 'fra-1', '--location', 'fra', '--control')
  await run('add', 'fra-2', '--location', 'fra')
  await run('add', 'nyc-1', '--location', 'nyc')
  const machines: Machine[] = []
  for (const [index, machine] of prepared.entries())
    machines.push({
      ...machine,
      namespace: places[index] ?? own,
      service: await machine.start(),
    })
  for (const machine of machines)
    await until(`${machine.id} holds a lease`, async () => (await machine.health()) === 'unknown')
  return new Cluster(t, etcd, machines as [Machine, Machine, Machine])
}

/** Repeats a call until it is answered with success. */
const insist = async (
  machine: TestMachine,
  method: 'POST' | 'PUT' | 'DELETE',
  ...[path, body]: readonly [path: string, body?: unknown]
): Promise<Record<string, unknown>> => {
  for (const endMs = performance.now() + 120_000; ; await sleep(100)) {
    const answer = await machine.admin(method, path, body).catch(() => undefined)
    if (answer !== undefined && answer.status < 300) return answer.body
    // An earlier attempt did it, and its answer was lost.
    if (method === 'DELETE' && answer?.status === 404) return {}
    if (performance.now() > endMs) throw new Error(`${path}: ${JSON.stringify(answer)}`)
  }
}

/** Uses one token at every machine of its location. */
class Probe {
  successes = 0
  successesAfter = 0
  openSocketsAfter = 0
  private readonly machines: readonly TestMachine[]
  private readonly text: string
  private readonly sockets: SocketClient[] = []
  private deadMs = Infinity
  private isOver = false
  private readonly loops: Promise<void>[]

  constructor(machines: readonly TestMachine[], text: string) {
    this.machines = machines
    this.text = text
    this.loops = machines.map(machine => this.ask(machine))
  }

  async openSockets(): Promise<void> {
    const path = `/${this.text}`
    const opened = await Promise.allSettled(
      this.machines.map(({ host, port }) => openSocket(port, { host, path })),
    )
    for (const one of opened) if (one.status === 'fulfilled') this.sockets.push(one.value)
  }

  /** From now on nothing may succeed. */
  async end(): Promise<void> {
    this.deadMs = performance.now()
    const calls = this.sockets.map(socket =>
      Promise.race([
        socket.call('getLatestBlockhash', []).then(
          () => this.openSocketsAfter++,
          () => {},
        ),
        sleep(500),
      ]),
    )
    await Promise.all([...calls, sleep(AFTER_MS)])
    this.isOver = true
    await Promise.all(this.loops)
    for (const socket of this.sockets) socket.destroy()
  }

  private async ask(machine: TestMachine): Promise<void> {
    while (!this.isOver) {
      const sentMs = performance.now()
      const answer = machine.status(this.text).catch(() => 0)
      const status = await Promise.race([answer, sleep(2_000, 0)])
      if (status === 200) this.successes++
      if (status === 200 && sentMs > this.deadMs) this.successesAfter++
      await sleep(PROBE_MS)
    }
  }
}

type Change = { readonly fault: string; readonly tookMs: number }

/** Takes tokens away, one after the other, until `isOver`. */
class Changer {
  successesAfter = 0
  openSocketsAfter = 0
  requests = 0
  /** Changes after which something succeeded: the fault, and what was changed. */
  readonly broken: string[] = []
  readonly changes: Change[] = []
  private readonly cluster: Cluster
  private readonly beforeEach: () => void

  constructor(cluster: Cluster, beforeEach = (): void => {}) {
    this.cluster = cluster
    this.beforeEach = beforeEach
  }

  async run(location: string, isOver: () => boolean): Promise<void> {
    const { control } = this.cluster
    const { accessId } = await insist(control, 'POST', '/accesses', { ...GRANT, limits: LIMITS })
    const path = tokenPath(String(accessId), location)
    for (let count = 0; !isOver(); count++) {
      const token = await this.makeToken(path)
      await this.takeAway(location, path, String(token), count % 3)
    }
  }

  /** Where the answer to a generation was lost, there is a token that nobody knows. */
  private async makeToken(path: string): Promise<unknown> {
    const { admin } = this.cluster.control
    const answer = await admin('POST', path).catch(() => undefined)
    if (answer?.status === 201) return answer.body['token']
    await insist(this.cluster.control, 'DELETE', path)
    return this.makeToken(path)
  }

  private async takeAway(
    location: string,
    path: string,
    text: string,
    kind: number,
  ): Promise<void> {
    const { cluster } = this
    const probe = new Probe(cluster.at(location), text)
    await Promise.race([
      until('the token works', () => probe.successes > 0).catch(() => {}),
      sleep(10_000),
    ])
    await probe.openSockets()
    this.beforeEach()
    const [startedMs, fault] = [performance.now(), cluster.fault]
    if (kind === 0) await insist(cluster.control, 'DELETE', path)
    else if (kind === 1) await insist(cluster.control, 'POST', `${path}/regenerate`)
    else await insist(cluster.control, 'PUT', `${path}/restriction`, { address: '8.8.8.8' })
    const tookMs = performance.now() - startedMs
    await probe.end()
    this.changes.push({ fault: fault === cluster.fault ? fault : 'changing', tookMs })
    if (probe.successesAfter + probe.openSocketsAfter > 0) this.broken.push(`${fault}: ${kind}`)
    this.successesAfter += probe.successesAfter
    this.openSocketsAfter += probe.openSocketsAfter
    this.requests += probe.successes
    if (kind !== 0) await insist(cluster.control, 'DELETE', path)
  }
}

const FAULTS: Readonly<Record<string, (cluster: Cluster) => Promise<void>>> = {
  'a follower is killed': async cluster => cluster.kill(cluster.machines[1], 'follower'),
  'a follower is stopped': async cluster => {
    cluster.stop(cluster.machines[1], 'follower')
    await sleep(FAULT_MS)
    cluster.resume()
  },
  'an edge is killed': async cluster => cluster.kill(cluster.machines[1], 'edge'),
  'an edge is stopped': async cluster => {
    cluster.stop(cluster.machines[2], 'edge')
    await sleep(FAULT_MS)
    cluster.resume()
  },
  'a machine is stopped': async cluster => {
    cluster.stop(cluster.machines[1])
    await sleep(FAULT_MS)
    cluster.resume()
  },
  'a link is down': async ({ machines }) => {
    machines[1].namespace.disconnect()
    await sleep(FAULT_MS)
    machines[1].namespace.connect()
  },
  'control is killed': async cluster => cluster.kill(cluster.control, 'control'),
  'a member is killed': async ({ etcd }) => {
    // Each in turn: one of them is the leader.
    for (const index of [0, 1, 2]) {
      await etcd.kill(index)
      await sleep(FAULT_MS / 2)
      etcd.start(index)
      await sleep(FAULT_MS / 4)
    }
  },
  'two members are killed': async ({ etcd }) => {
    await Promise.all([etcd.kill(0), etcd.kill(1)])
    await sleep(FAULT_MS)
    etcd.start(0)
    etcd.start(1)
  },
  'every member is restarted': async ({ etcd }) => {
    await Promise.all([0, 1, 2].map(index => etcd.kill(index)))
    for (const index of [0, 1, 2]) etcd.start(index)
  },
  'a machine is removed and added again': async cluster => cluster.replace(cluster.machines[1]),
}

const describe = (changes: readonly Change[], fault: string): string => {
  const took = changes
    .filter(change => change.fault === fault)
    .map(({ tookMs }) => tookMs)
    .toSorted((a, b) => a - b)
  const [middle = 0, last = 0] = [took[Math.floor(took.length / 2)], took.at(-1)]
  return `${fault}: ${took.length} changes, p50 ${middle.toFixed(0)} ms, at most ${last.toFixed(0)} ms`
}

/** WebSockets of a token that stays; how many are still open is a figure, not a condition. */
const openBystanders = async (t: Test, cluster: Cluster): Promise<SocketClient[]> => {
  const { accessId } = await insist(cluster.control, 'POST', '/accesses', {
    ...GRANT,
    limits: LIMITS,
  })
  const path = tokenPath(String(accessId), 'fra')
  const { token } = await insist(cluster.control, 'POST', path)
  const sockets: SocketClient[] = []
  const machines = cluster.at('fra')
  while (sockets.length < SOCKETS) {
    const { host, port } = machines[sockets.length % machines.length] ?? cluster.control
    sockets.push(await openSocket(port, { host, path: `/${String(token)}` }))
  }
  t.teardown(() => sockets.forEach(socket => socket.destroy()))
  return sockets
}

const skip = withoutEtcd !== false ? withoutEtcd : withoutNamespaces

soakTest('what is taken away is dead on every machine', { skip }, async t => {
  t.setTimeout(3_600_000)
  const cluster = await openCluster(t)
  const sockets = await openBystanders(t, cluster)
  const changer = new Changer(cluster)
  let isOver = false
  const workers = Array.from({ length: WORKERS }, (_, index) =>
    changer.run(index % 4 === 3 ? 'nyc' : 'fra', () => isOver),
  )
  while (changer.changes.length < CHANGES / 10) await sleep(500)
  while (changer.changes.length < CHANGES)
    for (const [name, run] of Object.entries(FAULTS)) {
      cluster.fault = name
      await run(cluster)
      await sleep(CALM_MS / 2)
      cluster.fault = 'none'
      await sleep(CALM_MS)
    }
  isOver = true
  await Promise.all(workers)
  const { changes, requests } = changer
  for (const fault of ['none', ...Object.keys(FAULTS), 'changing'])
    t.comment(describe(changes, fault))
  const open = sockets.filter(({ socket }) => !socket.destroyed).length
  t.comment(`${requests} requests succeeded before; ${open} of ${sockets.length} sockets are open`)
  t.strictSame(changer.broken, [], `of ${changes.length} changes`)
  for (const machine of cluster.machines)
    await until(`${machine.id} is back`, async () => (await machine.health()) === 'unknown')
})

soakTest('without leases a token works after it was taken away', { skip }, async t => {
  t.setTimeout(300_000)
  const cluster = await openCluster(t)
  const [, other] = cluster.machines
  const shared = openSharedMemory(other.dataDir)
  const naive = setInterval(() => shared.setLeaseEnd(Infinity), 20)
  const changer = new Changer(cluster, () => cluster.stop(other, 'follower'))
  let count = 0
  await changer.run('fra', () => {
    cluster.resume()
    return count++ === NAIVE_CHANGES
  })
  clearInterval(naive)
  t.ok(changer.successesAfter > 0, `${changer.successesAfter} successes after the answers`)
  t.ok(changer.openSocketsAfter > 0, `${changer.openSocketsAfter} sockets were answered after`)
})
