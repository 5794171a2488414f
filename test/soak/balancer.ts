// Machines of a location behind HAProxy fail in turn, in each way, under clients that call without
// a pause, at the slots of mainnet.
import { signalMachine, withoutHaproxy } from '../fixtures/cluster/balancer.js'
import { withoutEtcd } from '../fixtures/cluster/etcd.js'
import {
  LEFT_MS,
  openBalancedLocation,
  slotsBackMax,
  type RunningMachine,
} from '../fixtures/cluster/location.js'
import { defaults } from '../../src/cluster/options.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { soakTest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

const ROUNDS = Number(process.env['SLOTLINE_ROUNDS'] ?? 10)
const SLOT_MS = 200
const { lagMaxMs } = defaults

/** Each breaks a machine and returns when it did, and what repairs it. */
type Fault = (machine: RunningMachine) => { readonly atMs: number; repair(): Promise<void> }

const FAULTS: Readonly<Record<string, Fault>> = {
  lags: ({ service }) => {
    const indexer = requirePid(service.pidsOf('indexer')[0])
    process.kill(indexer, 'SIGSTOP')
    return {
      atMs: performance.now() + lagMaxMs + SLOT_MS,
      repair: async () => void process.kill(indexer, 'SIGCONT'),
    }
  },
  'is stopped': ({ service }) => {
    signalMachine(service, 'SIGSTOP')
    return {
      atMs: performance.now(),
      repair: async () => signalMachine(service, 'SIGCONT'),
    }
  },
  'is killed': machine => {
    signalMachine(machine.service, 'SIGKILL')
    return {
      atMs: performance.now(),
      repair: async () => void (machine.service = await machine.start()),
    }
  },
}

soakTest('a machine that fails is left', { skip: withoutEtcd || withoutHaproxy }, async t => {
  t.setTimeout(1_800_000)
  const location = await openBalancedLocation(t, SLOT_MS)
  const slowest = new Map<string, number>()
  for (let round = 0; round < ROUNDS; round++)
    for (const machine of location.machines.slice(0, 2))
      for (const [name, fault] of Object.entries(FAULTS)) {
        const { atMs, repair } = fault(machine)
        const leftMs = await location.untilLeft(machine.id, atMs)
        slowest.set(name, Math.max(leftMs, slowest.get(name) ?? 0))
        await repair()
        await until(`${machine.id} is back`, async () => (await machine.health()) === 'ok')
        await location.untilShared()
      }
  for (const [name, leftMs] of slowest)
    t.ok(leftMs < LEFT_MS, `one that ${name} is left after at most ${leftMs.toFixed(0)} ms`)
  const back = Math.max(...location.clients.map(({ slotsBack }) => slotsBack))
  t.ok(back <= slotsBackMax(SLOT_MS), `${back} of at most ${slotsBackMax(SLOT_MS)} slots back`)
})
