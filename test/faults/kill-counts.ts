// kill -9 of any process of a machine at any instant: the usage is what a load generator counted.
// test/usage/kills.ts kills an edge and the recorder alone, and far more often.
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { dayOf, DAY_MS } from '../../src/usage/scope.js'
import { openEtcd, withoutEtcd } from '../fixtures/cluster/etcd.js'
import {
  operate,
  prepareMachine,
  tokenPath,
  type TestMachine,
} from '../fixtures/cluster/machine.js'
import { childPids, type Service } from '../fixtures/processes/deployment.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { isSoak } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'
import { usageIn } from '../fixtures/usage/usage.js'

const ROLES = ['follower', 'indexer', 'control', 'edge', 'supervisor'] as const
const KILLS = isSoak ? 200 : ROLES.length
const LANES = 4
const PAUSE_MS = 8
/** A kill comes at any instant of this time: before, within or after that cells are settled. */
const INSTANT_MS = 1_000
const LIMITS = { requestsPerSecondMax: 1_000_000, requestsBurstMax: 1_000_000 }
const GRANT = { subject: 'ada', product: 'node', kind: 'pass', limits: LIMITS }

/** Sends requests over some connections, one at a time each, and counts their replies. */
class Load {
  answered = 0
  /** Requests whose connection broke: an edge may have counted them. */
  broken = 0
  readonly statuses = new Set<number>()
  #isPaused = false
  #isOver = false
  #waiting = 0
  readonly #lanes: Promise<unknown>

  constructor(machine: TestMachine, token: string) {
    const send = async (): Promise<void> => {
      try {
        const status = await machine.status(token)
        if (status === 200) this.answered++
        else this.statuses.add(status)
      } catch (error) {
        if (Object(error).code !== 'ECONNREFUSED') this.broken++
      }
      await sleep(PAUSE_MS)
    }
    const lane = async (): Promise<void> => {
      while (!this.#isOver) {
        if (!this.#isPaused) await send()
        else {
          this.#waiting++
          while (this.#isPaused && !this.#isOver) await sleep(PAUSE_MS)
          this.#waiting--
        }
      }
    }
    this.#lanes = Promise.all(Array.from({ length: LANES }, lane))
  }

  /** Resolves when no request is in flight. */
  async pause(): Promise<void> {
    this.#isPaused = true
    await until('no request is in flight', () => this.#waiting === LANES)
  }

  resume(): void {
    this.#isPaused = false
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#lanes
  }
}

/** Requests in the usage of a machine, by minutes and by methods. */
const countedBy = async (machine: TestMachine, accessId: string) => {
  const usage = usageIn(machine.dataDir, Date.now)
  const place = { accessId, network: 'main', location: machine.location }
  const today = dayOf(Date.now())
  const range = { fromMs: (today - 1) * DAY_MS, untilMs: (today + 1) * DAY_MS }
  const [{ periods }, { methods }] = await Promise.all([
    usage.ofPeriods(place, { grain: 'day', ...range }),
    usage.ofMethods(place, { from: today - 1, until: today + 1 }),
  ])
  const sum = (rows: readonly { readonly requests: number }[]): number =>
    rows.reduce((total, { requests }) => total + requests, 0)
  return { minutes: sum(periods), methods: sum(methods) }
}

const openMachine = async (t: Test) => {
  const etcd = await openEtcd(t, 1)
  const machine = await prepareMachine(t, etcd, { id: 'fra-1', location: 'fra' })
  for (const command of [['init'], ['add', 'fra-1', '--location', 'fra', '--control']])
    t.match(await operate(t, etcd, machine.configFile, ...command), { code: 0 })
  const service = await machine.start()
  await until('it holds a lease', async () => (await machine.health()) === 'unknown')
  const { body } = await machine.admin('POST', '/accesses', GRANT)
  const accessId = String(body['accessId'])
  const made = await machine.admin('POST', tokenPath(accessId, 'fra'))
  return { machine, service, accessId, token: String(made.body['token']) }
}

/** Kills a process, and resolves with the service when another one is there. */
const kill = async (
  { machine, service }: { readonly machine: TestMachine; readonly service: Service },
  role: (typeof ROLES)[number],
): Promise<Service> => {
  const supervisor = requirePid(service.supervisor.pid)
  if (role !== 'supervisor') {
    const killed = requirePid(service.pidsOf(role)[0])
    process.kill(killed, 'SIGKILL')
    await until(`another ${role} runs`, () => service.pidsOf(role).some(pid => pid !== killed))
    return service
  }
  const children = childPids(supervisor)
  process.kill(supervisor, 'SIGKILL')
  await until('its children have ended', () => !children.some(pid => existsSync(`/proc/${pid}`)))
  return machine.start()
}

t.test(
  'kill -9 of any process loses no counted call and doubles none',
  { skip: withoutEtcd, timeout: 60_000 + KILLS * 30_000 },
  async t => {
    const opened = await openMachine(t)
    const { machine, accessId, token } = opened
    let { service } = opened
    const load = new Load(machine, token)
    t.teardown(() => load.stop())
    /**
     * Requests that were counted, and whose connection broke. An edge that is killed between two
     * additions has one of the minute and none of the method.
     */
    let unanswered = { minutes: 0, methods: 0 }
    for (let nth = 0; nth < KILLS; nth++) {
      const role = ROLES[nth % ROLES.length] ?? 'edge'
      const { answered, broken } = load
      load.resume()
      await until('it is answered', () => load.answered > answered + LANES)
      await sleep(Math.random() * INSTANT_MS)
      service = await kill({ machine, service }, role)
      const after = load.answered
      await until('it is answered again', () => load.answered > after + LANES)
      await load.pause()
      const found = await countedBy(machine, accessId)
      for (const name of ['minutes', 'methods'] as const) {
        const [count, least] = [found[name], load.answered + unanswered[name]]
        const most = least + load.broken - broken
        t.ok(count >= least && count <= most, `${role}, ${name}: ${count} of ${least} to ${most}`)
        unanswered = { ...unanswered, [name]: count - load.answered }
      }
    }
    const counted = unanswered.methods
    t.comment(`${load.answered} answers, ${load.broken} broken, ${counted} of them counted`)
    t.strictSame(
      [...load.statuses].filter(status => status !== 503),
      [],
      'none was refused',
    )
    t.equal(await service.stop(), 0)
    t.strictSame(await countedBy(machine, accessId), {
      minutes: load.answered + unanswered.minutes,
      methods: load.answered + unanswered.methods,
    })
  },
)
