import { join } from 'node:path'
import bs58 from 'bs58'
import type { Plan } from '../../../src/ingest/feed/geyser.js'
import { toMapKey } from '../../../src/sandbox/solana/addresses.js'
import { injectFeedFault, startFeedHarness } from '../../fixtures/ingest/feed-harness.js'
import { inEachLane } from '../../fixtures/sandbox/lanes.js'

const PLANS: readonly Plan[] = ['blocks', 'accounts']

inEachLane('the index follows the chain, its roots and what landed', async (t, lane) => {
  const { chain, feeds, slots, churn, follow } = await startFeedHarness(t, [{}], lane)
  const [feed] = feeds
  if (feed === undefined) throw new Error('no feed')
  const dir = t.testdir()
  const followers = PLANS.map(plan =>
    follow(join(dir, plan), { options: { plan, transactions: 'logs' } }),
  )
  const check = async (what: string): Promise<void> => {
    for (const [index, { untilStored, findDifferences, reads }] of followers.entries()) {
      const name = `${PLANS[index]}: ${what}`
      await untilStored()
      t.strictSame(await findDifferences(), [], name)
      const [tip, root] = [reads.block('confirmed'), reads.block('finalized')]
      t.equal(tip?.blockhash, chain.tip.blockhash, name)
      t.equal(tip?.blockTime, chain.tip.blockTime)
      // A block that was final at once is known as a root with the next one at the latest.
      const behind = chain.finalizedSlot - (root?.slot ?? 0)
      t.ok(behind >= 0 && behind <= 1, `${name}: the root is ${behind} slots behind`)
      t.equal(root?.blockhash, chain.blockhashOf(root?.slot ?? 0))
    }
  }
  slots(40)
  await check('at the start')
  const faults = [
    { fault: 'double', slot: chain.slot },
    { fault: 'swap', slot: chain.slot + 1 },
    { fault: 'fork', slot: chain.slot + 3 },
  ]
  for (const fault of faults) t.equal(await injectFeedFault(feed.url, fault), 200)
  slots(8)
  await check('after slots that were sent twice, out of order, and of another fork')
  feed.omitSlot(chain.slot, 'live')
  slots(3)
  feed.dropStreams()
  slots(2)
  await check('after a replay')

  churn()
  const { transactions } = chain.tick()
  await check('at the last block')
  const [landed] = transactions
  const awaited = [landed?.signature, new Uint8Array(64)].map(signature => ({
    signature: toMapKey(signature ?? new Uint8Array(64)),
    blockhash: toMapKey(bs58.decode(chain.tip.blockhash)),
    nonce: undefined,
    sinceSlot: chain.tip.slot - 1,
  }))
  for (const { reader } of followers) {
    const outcomes = await reader.outcomes(awaited, 5_000)
    const { slot, blockHeight } = chain.tip
    t.match(outcomes, { slot, blockHeight })
    t.strictSame(outcomes?.transactions[0], { index: 0, slot, position: 0, error: null })
    t.match(outcomes?.transactions[1], {
      index: 1,
      blockhashSlot: slot,
      lastValidBlockHeight: blockHeight + 150,
    })
  }
})

inEachLane('the next provider repairs a gap', async (t, lane) => {
  const { chain, feeds, slots, follow } = await startFeedHarness(t, [{}, {}], lane)
  const [bad, good] = feeds
  if (bad === undefined || good === undefined) throw new Error('two feeds')
  const sources = [{ endpoint: bad.url }, { endpoint: good.url }] as const
  const options = { silenceMs: 60_000, blockSilenceMs: 60_000 }
  const { untilStored, findDifferences, feed, logged } = follow(t.testdir(), { sources, options })
  slots(3)
  await untilStored()
  bad.omitSlot(chain.slot + 1)
  slots(8)
  await untilStored()
  t.strictSame(await findDifferences(), [])
  t.equal(feed.sourceIndex(), 1)
  const mode = lane.geyser?.hasBanks === false ? 'by slot: the server' : 'by slot and bank'
  t.ok(logged.some(text => text.startsWith(`blocks are assembled ${mode}`)))
})
