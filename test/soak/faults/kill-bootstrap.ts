import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { readStatus } from '../../../src/storage/status-file.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { startTraffic } from '../../../src/sandbox/chain/traffic.js'
import { examineStore, trackChain } from '../../fixtures/sandbox/chain-state.js'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { untilFirstBlock } from '../../fixtures/processes/first-block.js'
import { conservationQuestions, startPoller } from '../../fixtures/processes/poller.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { recordChain } from '../../fixtures/ingest/snapshot-archive.js'
import { isSoak } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

const BOOTSTRAPS = isSoak ? 20 : 1
/** Kills of the indexer in one bootstrap, if it takes long enough. */
const KILLS_MAX = 5
/** Approximate duration of a start and the load. */
const INSTANT_MS = 1_500
const SLOT_MS = 60
const BOOTSTRAP = {
  // A kill may hit an attempt twice, and a busy machine may time one out.
  attemptsMax: 2 * KILLS_MAX,
  pollMs: 50,
  firstBlockMs: 20_000,
  snapshotPollMs: 100,
  snapshotWaitMs: 20_000,
}

t.test('kill -9 of the indexer at random times during bootstraps', async t => {
  const sandbox = await startSandboxChain({ seed: 'boot', firstSlot: 1, slotMs: 0 })
  t.teardown(() => sandbox.close())
  const { chain, sampleAccounts, samples } = sandbox
  const state = trackChain(chain)
  const record = await recordChain(sandbox)
  t.teardown(() => record.close())
  const clock = setInterval(() => chain.tick(), SLOT_MS)
  const stopTraffic = startTraffic(chain, sampleAccounts, { perSecond: 100 })
  const stopChain = (): void => {
    clearInterval(clock)
    stopTraffic()
  }
  t.teardown(stopChain)
  const prepared = await prepareServe(
    t,
    { dev: { endpoint: sandbox.geyserUrl, startSlot: 1 } },
    {
      processes: { edgeCount: 1, restartFirstMs: 20, restartMaxMs: 100, restartReadyMaxMs: 100 },
      bootstrap: BOOTSTRAP,
      // A command finds a killed indexer running until its status is stale, on a slow machine too.
      status: { writeMs: 50, staleMs: 60_000 },
    },
  )
  const archives = join(prepared.dataDir, '..', 'archives')
  mkdirSync(archives)
  const stores = join(prepared.dataDir, 'accounts', 'dev')
  const service = await prepared.start()
  const url = prepared.urlOf('dev')
  await untilFirstBlock(url)
  const poller = startPoller(url, conservationQuestions(samples), 2)
  t.teardown(() => poller.stop())
  let kills = 0
  const ends = new Map<string, number>()
  for (let round = 0; round < BOOTSTRAPS; round += 1) {
    const { slot } = poller
    await until('it follows the chain', () => poller.slot > slot + 5)
    const full = await record.writeRecent(archives)
    const args = ['--config', prepared.configFile, '--network', 'dev']
    let isOver = false
    const loading = runToEnd(t, ['snapshot', 'load', full, ...args]).finally(() => (isOver = true))
    for (let kill = 0; kill < KILLS_MAX && !isOver; kill += 1) {
      await sleep(Math.random() * INSTANT_MS)
      const pid = service.pidsOf('indexer')[0] ?? 0
      if (pid <= 0) continue
      process.kill(pid, 'SIGKILL')
      kills += 1
    }
    const { code, output } = await loading
    const { bootstrap } = readStatus(stores) ?? {}
    const end = `exit code ${code}, ${bootstrap?.state}`
    ends.set(end, (ends.get(end) ?? 0) + 1)
    if (code !== 0) t.comment(output.slice(-300))
  }
  t.comment(`${kills} kills; ${[...ends].map(entry => entry.join(': ')).join('; ')}`)
  t.strictSame([...ends.keys()], ['exit code 0, done'], 'each bootstrap completes')
  stopChain()
  await until('the tip is the chain’s', () => poller.slot === chain.tip.slot)
  await poller.stop()
  t.strictSame(poller.faults.slice(0, 5), [], 'no wrong answer and no decreasing slot')
  t.strictSame(await state.wrongAt(url), [], 'every account equals the chain’s')
  t.equal(await service.stop(), 0)
  const { differences, tip } = examineStore(prepared, 'dev')
  t.strictSame(differences, [], 'every index equals a recomputation')
  t.match(tip, { slot: chain.tip.slot, blockhash: chain.tip.blockhash })
})
