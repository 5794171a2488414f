// Two machines of a location behind HAProxy, as docs/cluster.md configures it: one that lags, is
// stopped or is killed is left, and no client sees its slot go back by more than documented.
import { defaults } from '../../../src/cluster/options.js'
import { signalMachine, withoutHaproxy } from '../../fixtures/cluster/balancer.js'
import { withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { LEFT_MS, openBalancedLocation, slotsBackMax } from '../../fixtures/cluster/location.js'
import { CLUSTER, operate } from '../../fixtures/cluster/machine.js'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { requirePid } from '../../fixtures/processes/require-pid.js'
import { until } from '../../fixtures/until.js'
import { soakTest } from '../../fixtures/soak.js'

const SLOT_MS = 100
const { lagMs, lagMaxMs } = defaults
/** From being too far behind to failing: a beat, `lagMs`, and what polls on a busy computer. */
const FAILS_MS = CLUSTER.beatMs + lagMs + 1_000

soakTest('a location', { skip: withoutEtcd || withoutHaproxy, timeout: 120_000 }, async t => {
  const location = await openBalancedLocation(t, SLOT_MS)
  const { etcd, machines } = location
  const [first, second, far] = machines
  const status = () => runToEnd(t, ['status', '--config', second.configFile])

  await t.test('a machine that lags is left', async t => {
    t.match(await status(), {
      code: 0,
      output:
        /^machine fra-2 of cluster s1 at fra: healthy\n {2}lease +\d+ s\n {2}lag +main [0-5] slots\n/,
    })
    const indexer = requirePid(second.service.pidsOf('indexer')[0])
    process.kill(indexer, 'SIGSTOP')
    const behindMs = performance.now() + lagMaxMs + SLOT_MS
    await until('it is behind', async () => (await second.health()) === 'behind')
    const tookMs = performance.now() - behindMs
    t.ok(tookMs > lagMs - SLOT_MS && tookMs < FAILS_MS, `failed after ${tookMs.toFixed(0)} ms`)
    const leftMs = await location.untilLeft(second.id, behindMs)
    t.ok(leftMs < LEFT_MS, `left after ${leftMs.toFixed(0)} ms`)
    t.equal(await first.health(), 'ok', 'the other one serves')
    t.equal(await far.health(), 'ok')
    let shown = await status()
    await until('its status says it', async () => (shown = await status()).code === 1)
    t.match(shown.output, /^machine fra-2 .*: not healthy: main is \d+ slots behind fra\n/)
    const { output } = await operate(t, etcd, first.configFile, 'machines')
    t.match(output, /\nfra-1 .* ok\nfra-2 +fra +\d+ +\d+ .* behind\nnyc-1 .* ok\n$/)
    process.kill(indexer, 'SIGCONT')
    await until('it is healthy again', async () => (await second.health()) === 'ok')
    await location.untilShared()
  })

  const faults: [name: string, signal: NodeJS.Signals][] = [
    ['stopped', 'SIGSTOP'],
    ['killed', 'SIGKILL'],
  ]
  for (const [name, signal] of faults)
    await t.test(`a machine that is ${name} is left`, async t => {
      t.ok(location.clientsOf(second.id).length > 0)
      const failedMs = performance.now()
      signalMachine(second.service, signal)
      const leftMs = await location.untilLeft(second.id, failedMs)
      t.ok(leftMs < LEFT_MS, `left after ${leftMs.toFixed(0)} ms`)
      if (signal !== 'SIGSTOP') return
      signalMachine(second.service, 'SIGCONT')
      await location.untilShared()
    })

  await t.test('no slot goes back by more than documented', async t => {
    const { clients } = location
    const back = Math.max(...clients.map(({ slotsBack }) => slotsBack))
    t.ok(back <= slotsBackMax(SLOT_MS), `${back} of at most ${slotsBackMax(SLOT_MS)} slots`)
    const failures = clients.reduce((sum, one) => sum + one.failures, 0)
    t.comment(`${failures} calls of ${clients.length} clients failed`)
  })
})
