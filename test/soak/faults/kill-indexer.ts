import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { startTraffic } from '../../../src/sandbox/chain/traffic.js'
import { examineStore, recomputeBeside, trackChain } from '../../fixtures/sandbox/chain-state.js'
import { untilFirstBlock } from '../../fixtures/processes/first-block.js'
import { conservationQuestions, startPoller } from '../../fixtures/processes/poller.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { until } from '../../fixtures/until.js'
import { isSoak } from '../../fixtures/soak.js'

const ROUNDS = isSoak ? 700 : 3
// A round takes one second, or several on a busy machine.
t.setTimeout(ROUNDS * 5_000 + 60_000)
const SLOT_MS = 30
const TRANSFERS_PER_SECOND = 200
/** Every second kill hits a start, which takes about this long; the others hit commits. */
const START_MS = 800
const COMMITS_MS = 5 * SLOT_MS
t.test(`kill -9 of the indexer at ${ROUNDS} random instants`, async t => {
  // The test controls the clock, so that it can end while the feed continues.
  const sandbox = await startSandboxChain({ seed: 'kill', firstSlot: 1, slotMs: 0 })
  t.teardown(() => sandbox.close())
  const { chain, sampleAccounts, samples } = sandbox
  const state = trackChain(chain)
  const clock = setInterval(() => chain.tick(), SLOT_MS)
  const stopTraffic = startTraffic(chain, sampleAccounts, { perSecond: TRANSFERS_PER_SECOND })
  const stopChain = (): void => {
    clearInterval(clock)
    stopTraffic()
  }
  t.teardown(stopChain)

  const feeds = { dev: { endpoint: sandbox.geyserUrl, startSlot: 1 } }
  const prepared = await prepareServe(t, feeds, {
    processes: { edgeCount: 1, restartFirstMs: 20, restartMaxMs: 20, restartReadyMaxMs: 20 },
    log: { level: 'info' },
  })
  const service = await prepared.start()
  await untilFirstBlock(prepared.urlOf('dev'))
  const poller = startPoller(prepared.urlOf('dev'), conservationQuestions(samples), 3)
  try {
    await until('the first blocks', () => poller.slot > 5)
    let killed = 0
    let atCommit = 0
    const differences: string[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      await until('an indexer runs', () => service.pidsOf('indexer').some(pid => pid !== killed))
      if (round % 2 === 0) {
        const { slot } = poller
        await until('it commits', () => poller.slot > slot)
        atCommit += 1
      }
      await sleep(Math.random() * (round % 2 === 0 ? COMMITS_MS : START_MS))
      killed = service.pidsOf('indexer')[0] ?? 0
      // The last indexer may not have been restarted yet.
      if (killed > 0) process.kill(killed, 'SIGKILL')
      differences.push(...recomputeBeside(prepared, 'dev'))
    }
    t.strictSame(differences.slice(0, 5), [], 'after each kill every index equals a recomputation')
    t.comment(`${atCommit} kills among commits, ${poller.answerCount} answers, slot ${poller.slot}`)
    stopChain()
    await until('the tip is the chain’s', () => poller.slot === chain.tip.slot)
  } finally {
    await poller.stop()
  }
  t.strictSame(poller.faults.slice(0, 5), [], 'no wrong answer and no decreasing slot')
  t.equal(poller.brokenCount, 0, 'no connection was broken')

  const wrong = await state.wrongAt(prepared.urlOf('dev'))
  const { length } = state.keys()
  t.ok(length > 30, `${length} accounts changed`)
  t.strictSame(wrong, [], 'every account equals the chain’s')
  t.equal(await service.stop(), 0)

  const { tip, differences } = examineStore(prepared, 'dev')
  t.strictSame(differences, [], 'every index equals a recomputation')
  t.match(tip, { slot: chain.tip.slot, blockhash: chain.tip.blockhash })
})
