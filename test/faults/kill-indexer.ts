import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import bs58 from 'bs58'
import t from 'tap'
import { parseConfig } from '../../src/config.js'
import { toStoreOptions } from '../../src/processes/native-options.js'
import type { AccountUpdate } from '../../src/sandbox/block.js'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { startTraffic } from '../../src/sandbox/traffic.js'
import { openIndexer } from '../../src/shared/native.js'
import { call } from '../fixtures/deployment.js'
import { toBigInt } from '../fixtures/exact-json.js'
import { conservationQuestions, startPoller } from '../fixtures/poller.js'
import { prepareServe } from '../fixtures/serve.js'
import { until } from '../fixtures/until.js'

const ROUNDS = process.env['SLOTLINE_SOAK'] === 'full' ? 200 : 20
const SLOT_MS = 30
const TRANSFERS_PER_SECOND = 200
/** Every other kill falls into a start, which takes about this long; the others among commits. */
const START_MS = 800
const COMMITS_MS = 5 * SLOT_MS
/** Keys of one comparison with the chain. */
const KEYS_MAX = 50

type Held = {
  readonly lamports: unknown
  readonly owner: string
  readonly data: readonly [string, string]
}

t.test(`kill -9 of the indexer at ${ROUNDS} random instants`, async t => {
  // The clock is the test's own, so that it can end while the feed goes on.
  const sandbox = await startSandboxChain({ seed: 'kill', firstSlot: 1, slotMs: 0 })
  t.teardown(() => sandbox.close())
  const { chain, world, samples } = sandbox
  const closed = new Map<string, AccountUpdate>()
  const open: AccountUpdate[] = []
  chain.on('account', update => open.push(update))
  chain.on('block', ({ slot }) => {
    while (open[0] !== undefined && open[0].slot <= slot) {
      const { pubkey } = open[0]
      closed.set(bs58.encode(pubkey), open[0])
      open.shift()
    }
  })
  const clock = setInterval(() => chain.tick(), SLOT_MS)
  const stopTraffic = startTraffic(chain, world, { perSecond: TRANSFERS_PER_SECOND })
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
  // Before the first block there is nothing to be right about.
  await until('the first block', () =>
    call(prepared.urlOf('dev'), 'getLatestBlockhash', []).then(
      () => true,
      () => false,
    ),
  )
  const poller = startPoller(prepared.urlOf('dev'), conservationQuestions(samples), 3)
  try {
    await until('the first blocks', () => poller.slot > 5)
    let killed = 0
    let atCommit = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      await until('an indexer runs', () => service.pidsOf('indexer').some(pid => pid !== killed))
      if (round % 2 === 0) {
        const { slot } = poller
        await until('it commits', () => poller.slot > slot)
        atCommit += 1
      }
      await sleep(Math.random() * (round % 2 === 0 ? COMMITS_MS : START_MS))
      killed = service.pidsOf('indexer')[0] ?? 0
      // It may be just now that the last one has not been started again.
      if (killed > 0) process.kill(killed, 'SIGKILL')
    }
    t.comment(`${atCommit} kills among commits, ${poller.answerCount} answers, slot ${poller.slot}`)
    stopChain()
    await until('the tip is the chain’s', () => poller.slot === chain.tip.slot)
  } finally {
    await poller.stop()
  }
  t.strictSame(poller.faults.slice(0, 5), [], 'no wrong answer, and no slot went back')
  t.equal(poller.brokenCount, 0, 'reads never noticed')

  const keys = [...closed.keys()]
  const wrong: string[] = []
  for (let at = 0; at < keys.length; at += KEYS_MAX) {
    const part = keys.slice(at, at + KEYS_MAX)
    const options = { encoding: 'base64' }
    const { value } = (await call(prepared.urlOf('dev'), 'getMultipleAccounts', [
      part,
      options,
    ])) as { value: (Held | null)[] }
    for (const [index, key] of part.entries()) {
      const state = closed.get(key)
      const held = value[index] ?? undefined
      const isSame =
        state === undefined || held === undefined
          ? state?.lamports === 0n && held === undefined
          : toBigInt(held.lamports) === state.lamports &&
            held.owner === bs58.encode(state.owner) &&
            Buffer.from(held.data[0], 'base64').equals(state.data)
      if (!isSame) wrong.push(key)
    }
  }
  t.ok(keys.length > 30, `${keys.length} accounts changed`)
  t.strictSame(wrong, [], 'each is as the chain has it')
  t.equal(await service.stop(), 0)

  const config = parseConfig(readFileSync(prepared.configFile, 'utf8'), prepared.configFile)
  const stores = join(prepared.dataDir, 'accounts', 'dev')
  const generation = readFileSync(join(stores, 'CURRENT'), 'utf8').trim()
  const indexer = openIndexer(join(stores, generation), toStoreOptions(config, 'dev'))
  t.strictSame(indexer.check(), [], 'every index equals a recomputation')
  t.match(indexer.tip(), { slot: chain.tip.slot, blockhash: chain.tip.blockhash })
  indexer.close()
})
