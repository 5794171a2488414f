// Two machines of a location whose processes are killed, whose token is replaced and whose clients
// move between them: over all of it each client has each event of the chain once.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { startSandboxChain, type SandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { signalMachine } from '../../fixtures/cluster/balancer.js'
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import {
  operate,
  prepareMachine,
  tokenPath,
  type TestMachine,
} from '../../fixtures/cluster/machine.js'
import { followChain, type ChainRecord } from '../../fixtures/processes/chain-recorder.js'
import type { Service } from '../../fixtures/processes/deployment.js'
import { toSpecs } from '../../fixtures/processes/expected-notifications.js'
import {
  followBySocket,
  followByStream,
  TRANSACTIONS,
  type ResumingClient,
} from '../../fixtures/pubsub/resuming-clients.js'
import { soakTest } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

/** `SLOTLINE_RESUME_MINUTES`: how long faults go on. */
const MINUTES = Number(process.env['SLOTLINE_RESUME_MINUTES'] ?? 3)
const SLOT_MS = 200
const TRAFFIC_PER_SECOND = 20
/** Between two faults, beside what each takes to be over. */
const PAUSE_MS = 6_000
/** Slots that are compared this long after a client has them: what comes late is seen. */
const LATE_SLOTS = 50
const GRANT = { subject: 'ada', product: 'node', kind: 'pass' }
const LIMITS = { requestsPerSecondMax: 1_000_000, requestsBurstMax: 1_000_000 }

type Running = { readonly machine: TestMachine; service: Service }

const openLocation = async (t: Test, { geyserUrl }: SandboxChain) => {
  const etcd = await openEtcd(t, 1)
  const network = { feed: { endpoint: geyserUrl, startSlot: 1, transactions: 'full' } }
  const prepare = (id: string): Promise<TestMachine> =>
    prepareMachine(t, etcd, { id, location: 'fra', network, hasGrpc: true })
  const prepared = [await prepare('fra-1'), await prepare('fra-2')] as const
  const [control] = prepared
  for (const command of [
    ['init'],
    ['add', 'fra-1', '--location', 'fra', '--control'],
    ['add', 'fra-2', '--location', 'fra'],
  ]) {
    const { code, output } = await operate(t, etcd, control.configFile, ...command)
    t.equal(code, 0, output)
  }
  const machines: Running[] = []
  for (const machine of prepared) machines.push({ machine, service: await machine.start() })
  const untilHealthy = async (): Promise<void> => {
    for (const { machine } of machines)
      await until(`${machine.id} is healthy`, async () => {
        const health = await machine.health().catch(() => '')
        return health === 'ok'
      })
  }
  await untilHealthy()
  const { body } = await control.admin('POST', '/accesses', { ...GRANT, limits: LIMITS })
  const path = tokenPath(String(body['accessId']), 'fra')
  const made = await control.admin('POST', path)
  const state = { token: String(made.body['token']) }
  const regenerate = async (): Promise<void> => {
    const again = await control.admin('POST', `${path}/regenerate`)
    if (typeof again.body['token'] !== 'string') throw new Error(JSON.stringify(again))
    state.token = again.body['token']
  }
  return { machines, untilHealthy, regenerate, token: () => state.token }
}

type Location = Awaited<ReturnType<typeof openLocation>>
type Client = ResumingClient & { at: number }

/** Two clients over WebSockets and two over gRPC, one of each at each machine first. */
const openClients = (t: Test, { machines, token }: Location, record: ChainRecord, mint: string) => {
  const specs = [...toSpecs(record, mint), TRANSACTIONS]
  return [0, 1, 2, 3].map((index): Client => {
    const client: { at: number } = { at: index % machines.length }
    const machineOf = () => machines[client.at]?.machine
    const opened =
      index < 2
        ? followBySocket(specs, () => ({
            url: `http://127.0.0.1:${machineOf()?.port}`,
            token: token(),
          }))
        : followByStream(() => ({ url: machineOf()?.grpcUrl ?? '', token: token() }))
    t.teardown(() => opened.stop())
    return Object.assign(client, opened)
  })
}

const kill =
  (role: string) =>
  async ({ service }: Running) => {
    const [pid] = service.pidsOf(role)
    if (pid === undefined) throw new Error(`there is no ${role}`)
    process.kill(pid, 'SIGKILL')
    await until(`another ${role}`, () => {
      const [now] = service.pidsOf(role)
      return now !== undefined && now !== pid
    })
  }

const stopEdge = async ({ service }: Running) => {
  const [pid = 0] = service.pidsOf('edge')
  process.kill(pid, 'SIGSTOP')
  await sleep(1_000)
  process.kill(pid, 'SIGCONT')
}

const killMachine = async (running: Running) => {
  const { supervisor } = running.service
  const ended = new Promise(resolve => supervisor.once('close', resolve))
  signalMachine(running.service, 'SIGKILL')
  await ended
  running.service = await running.machine.start()
}

soakTest(
  'clients that resume',
  { skip: withoutEtcd, timeout: MINUTES * 60_000 + 300_000 },
  async t => {
    const chain = await startSandboxChain({ slotMs: SLOT_MS, trafficPerSecond: TRAFFIC_PER_SECOND })
    t.teardown(() => chain.close())
    const record = followChain(chain.geyserUrl)
    t.teardown(() => record.close())
    const location = await openLocation(t, chain)
    const { machines, untilHealthy, regenerate } = location
    await until('traffic', () => record.slots.size > 50)
    const clients = openClients(t, location, record, chain.samples['mint'] ?? '')
    const head = (): number => Math.max(...record.slots.keys())
    const untilAt = (slot: number): Promise<void> =>
      until(`every client has slot ${slot}`, () => clients.every(one => one.progress() >= slot))
    const check = (toSlot: number): void => {
      for (const client of clients) client.check(record, toSlot)
      for (const slot of record.slots.keys()) if (slot <= toSlot) record.slots.delete(slot)
    }
    await untilAt(head() + 1)

    const any = <T>(all: readonly T[]): T => all[Math.floor(Math.random() * all.length)] as T
    const faults: Readonly<Record<string, (running: Running) => Promise<void>>> = {
      'an edge is killed': kill('edge'),
      'the process of gRPC is killed': kill('geyser'),
      'an indexer is killed': kill('indexer'),
      'an edge is stopped for a second': stopEdge,
      'a machine is killed, and starts again': killMachine,
      'the token is replaced': () => regenerate(),
      'a client reconnects': () => Promise.resolve(any(clients).reconnect()),
      'a client moves to the other machine': () => {
        const client = any(clients)
        client.at = 1 - client.at
        return Promise.resolve(client.reconnect())
      },
    }
    const counts = new Map<string, number>()
    const report = (): void => {
      const sum = (of: (client: Client) => number) => clients.reduce((all, one) => all + of(one), 0)
      t.comment(
        `${sum(one => one.comparison.events)} events: ${sum(one => one.comparison.lost)} lost, ` +
          `${sum(one => one.comparison.doubled)} doubled; ${JSON.stringify(Object.fromEntries(counts))}`,
      )
    }
    let reportMs = performance.now() + 60_000
    const endMs = performance.now() + MINUTES * 60_000
    while (performance.now() < endMs) {
      const name = any(Object.keys(faults))
      await faults[name]?.(any(machines))
      counts.set(name, (counts.get(name) ?? 0) + 1)
      await untilHealthy()
      await untilAt(head() + 1)
      await sleep(Math.random() * PAUSE_MS)
      check(Math.min(...clients.map(one => one.progress())) - LATE_SLOTS)
      if (performance.now() < reportMs) continue
      report()
      reportMs += 60_000
    }
    const last = head()
    await untilAt(last + LATE_SLOTS)
    check(last)
    report()
    for (const { comparison, ends } of clients) {
      t.comment(JSON.stringify(Object.fromEntries(ends)))
      t.strictSame(comparison.faults, [])
      t.strictSame([comparison.lost, comparison.doubled], [0, 0])
      t.ok(comparison.events > MINUTES * 1_000, `${comparison.events} events were compared`)
    }
  },
)
