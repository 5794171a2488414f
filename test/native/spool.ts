import { join } from 'node:path'
import t, { type Test } from 'tap'
import { defaults as feedDefaults } from '../../src/ingest/feed/geyser.js'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { openIndexer, type FeedEvent } from '../../src/native/indexer.js'
import { openSpool } from '../../src/native/spool.js'
import { defaults as storeDefaults } from '../../src/native/store-options.js'
import { until } from '../fixtures/until.js'

const STORE = { ...storeDefaults, mapBytes: 2 ** 30, diskReserveBytes: 0 }
const SPOOL = {
  bytesMax: 2 ** 30,
  msMax: 600_000,
  segmentBytesMax: 2 ** 20,
  groupBlocksMax: 4,
  groupBytesMax: 2 ** 20,
}

/** A chain, and a store of it as of a slot, like one from a snapshot. */
const openBehind = async (t: Test, slot: number) => {
  const chain = await startSandboxChain({ slotMs: 0 })
  t.teardown(() => chain.close())
  const dir = t.testdir()
  const store = join(dir, 'store')
  const feed = (startSlot?: number) => ({
    ...feedDefaults,
    endpoint: chain.geyserUrl,
    ...(startSlot === undefined ? {} : { startSlot }),
  })
  const indexer = openIndexer(store, STORE)
  indexer.startFeed(feed(1), () => {})
  while (chain.chain.tip.slot < slot) chain.chain.tick()
  await until('the store is there', () => indexer.tip()?.slot === slot)
  indexer.close()
  return { chain, feed, dir, store, spoolDir: join(dir, 'spool') }
}

t.test('a feed is spooled, replayed over a store, and continued into it', async t => {
  const { chain, dir, feed, spoolDir, store } = await openBehind(t, 3)
  const first = openSpool(spoolDir, SPOOL, STORE)
  first.startFeed(feed(2), () => {})
  chain.chain.tick()
  await until('blocks are spooled', () => first.stats().lastSlot === 4)
  t.match(first.stats(), { first: { slot: 2, parentSlot: 1 }, blocks: 3, failure: undefined })
  first.close()
  t.throws(() => first.stats(), { message: /closed/ })

  chain.chain.tick()
  const spool = openSpool(spoolDir, SPOOL, STORE)
  t.teardown(() => spool.close())
  t.equal(spool.stats().lastSlot, 4, 'it is as it was left')
  t.throws(() => spool.handOver(), { message: /nothing was replayed/ })
  const events: FeedEvent[] = []
  spool.startFeed(feed(), event => events.push(event))
  await until('it resumed at its last block', () => spool.stats().lastSlot === 5)
  const replayed = await spool.replay({ dir: store, baseSlot: 3 })
  t.strictSame(replayed, { slot: 5, blocks: 2 })
  const connections = events.filter(({ kind }) => kind === 'connected').length

  const indexer = spool.handOver()
  t.teardown(() => indexer.close())
  const later: FeedEvent[] = []
  indexer.startFeed({ ...feed(), endpoint: feed().endpoint }, event => later.push(event))
  chain.chain.tick()
  await until('the block is in the store', () => indexer.tip()?.slot === 6)
  t.equal(indexer.tip()?.blockhash, chain.chain.tip.blockhash)
  await until('and its commits are reported', () => later.some(({ kind }) => kind === 'committed'))
  t.equal(later[0]?.kind, 'healthy', 'the feed stays healthy')
  const all = [...events, ...later].filter(({ kind }) => kind === 'connected').length
  t.equal(all, connections, 'by the same subscription')
  t.strictSame(indexer.check(), [])
  t.ok(dir)
})

t.test(
  'a store that the feed does not continue is refused, and a replay can be cancelled',
  async t => {
    const { chain, feed, spoolDir, store } = await openBehind(t, 2)
    chain.chain.tick()
    chain.chain.tick()
    const spool = openSpool(spoolDir, SPOOL, STORE)
    t.teardown(() => spool.close())
    // The subscription starts at the live head, so slots 3 and 4 are missing.
    spool.startFeed(feed(), () => {})
    await until('the feed is open', () => {
      chain.chain.tick()
      return spool.stats().first !== undefined
    })
    await t.rejects(spool.replay({ dir: store, baseSlot: 2 }), {
      message: /as of slot 2, but the feed was read from slot \d+ on.*what lies between is missing/,
    })
    const later = spool.replay({ dir: join(spoolDir, '..', 'none'), baseSlot: 2 })
    await t.rejects(later, { message: /has no block/ })
  },
)
