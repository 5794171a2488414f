// A machine that lags behind its location fails its health, and is healthy again when it keeps up.
import t from 'tap'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { defaults } from '../../../src/cluster/options.js'
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { CLUSTER, operate, prepareMachine } from '../../fixtures/cluster/machine.js'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { requirePid } from '../../fixtures/processes/require-pid.js'
import { until } from '../../fixtures/until.js'

const SLOT_MS = 100
const { lagMs, lagSlotsMax } = defaults
/** From being too far behind to failing: a beat, `lagMs`, and what polls on a busy computer. */
const FAILS_MS = CLUSTER.beatMs + lagMs + 1_000

t.test('three machines of two locations', { skip: withoutEtcd, timeout: 120_000 }, async t => {
  const etcd = await openEtcd(t, 1)
  const chain = await startSandboxChain({ slotMs: SLOT_MS, trafficPerSecond: 0 })
  t.teardown(() => chain.close())
  const network = { feed: { endpoint: chain.geyserUrl, startSlot: 1 } }
  const prepare = (id: string) => prepareMachine(t, etcd, { id, location: id.slice(0, 3), network })
  const [first, second, far] = [
    await prepare('fra-1'),
    await prepare('fra-2'),
    await prepare('nyc-1'),
  ]
  for (const command of [
    ['init'],
    ['add', 'fra-1', '--location', 'fra', '--control'],
    ['add', 'fra-2', '--location', 'fra'],
    ['add', 'nyc-1', '--location', 'nyc'],
  ])
    t.match(await operate(t, etcd, first.configFile, ...command), { code: 0 })
  const status = () => runToEnd(t, ['status', '--config', second.configFile])
  t.match(await status(), { code: 1, output: /^machine fra-2 .* not healthy: no follower runs\n/ })
  await first.start()
  const behind = await second.start()
  await far.start()
  for (const machine of [first, second, far])
    await until(`${machine.id} is healthy`, async () => (await machine.health()) === 'ok')
  t.match(await status(), {
    code: 0,
    output:
      /^machine fra-2 of cluster s1 at fra: healthy\n {2}lease +\d+ s\n {2}lag +main [0-5] slots\n/,
  })

  const indexer = requirePid(behind.pidsOf('indexer')[0])
  process.kill(indexer, 'SIGSTOP')
  const stoppedMs = performance.now()
  await until('it is behind', async () => (await second.health()) === 'behind')
  const tookMs = performance.now() - stoppedMs - (lagSlotsMax + 1) * SLOT_MS
  t.ok(tookMs > lagMs - SLOT_MS && tookMs < FAILS_MS, `failed after ${tookMs.toFixed(0)} ms`)
  t.equal(await first.health(), 'ok', 'the other one serves')
  t.equal(await far.health(), 'ok')
  let shown = await status()
  await until('its status says it', async () => (shown = await status()).code === 1)
  t.match(shown.output, /^machine fra-2 .*: not healthy: main is \d+ slots behind fra\n/)
  const listed = async (): Promise<string> =>
    (await operate(t, etcd, first.configFile, 'machines')).output
  await until('its beat says it', async () => /\nfra-2 .* behind\n/.test(await listed()))
  t.match(await listed(), /\nfra-1 .* ok\nfra-2 +fra +\d+ +\d+ .* behind\nnyc-1 .* ok\n$/)

  process.kill(indexer, 'SIGCONT')
  await until('it is healthy again', async () => (await second.health()) === 'ok')
})
