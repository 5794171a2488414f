import { join } from 'node:path'
import t from 'tap'
import { defaults as feedDefaults } from '../../../src/ingest/feed/geyser.js'
import { loadScope } from '../../../src/ingest/bootstrap/load-scope.js'
import { defaults } from '../../../src/ingest/accounts-rpc/options.js'
import { openRpc } from '../../../src/sandbox/rpc/rpc.js'
import { decodePubkey } from '../../../src/native/encoding.js'
import { openSpool } from '../../../src/native/spool.js'
import { openStoreLoader } from '../../../src/native/loader.js'
import { startFeedHarness } from '../../fixtures/ingest/feed-harness.js'
import { STORE } from '../../fixtures/rpc/store.js'
import { until } from '../../fixtures/until.js'

const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'
const MIB = 1024 ** 2
const SPOOL = {
  bytesMax: 256 * MIB,
  msMax: 600_000,
  segmentBytesMax: MIB,
  groupBlocksMax: 4,
  groupBytesMax: MIB,
}
const LOADER = {
  sortMemoryBytes: 16 * MIB,
  transactionBytes: MIB,
  diskReserveBytes: 0,
}

const POOL = {
  scanThreads: 1,
  scanNiceness: 0,
  streamThreads: 1,
  queueMax: 16,
  replyBytesInFlightMax: 64 * MIB,
  streamBytesMax: MIB,
}
const LIMITS = {
  readTimeoutMs: 1_000,
  scanMs: 1_000,
  pageReplyBytesMax: MIB,
  recentResultsMax: 0,
}

for (const isPaged of [false, true])
  t.test(
    `a scope read during new blocks equals the chain’s state: ${isPaged ? 'pages' : 'whole programs'}`,
    async t => {
      const { chain, feeds, slots } = await startFeedHarness(t)
      const rpc = await openRpc(chain)
      t.teardown(() => rpc.close())
      // Each slot changes, creates, closes and recreates accounts.
      const blocks = setInterval(() => slots(1, 5), 20)
      t.teardown(() => clearInterval(blocks))
      const dir = t.testdir({ work: {} })
      const scope = { programs: [TOKEN, TOKEN_2022], mints: [], pubkeys: [] }
      const keys = { programs: scope.programs.map(decodePubkey), mints: [], pubkeys: [] }
      const store = { ...STORE, feedMs: 100_000, scope: keys }
      const feed = { ...feedDefaults, endpoint: feeds[0]?.url ?? '' }
      const spool = openSpool(join(dir, 'spool'), SPOOL, store)
      t.teardown(() => spool.close())
      spool.startFeed(feed, () => {})
      await until('a block is spooled', () => spool.stats().first !== undefined)
      const { first } = spool.stats()
      const { slot, rowsSlot } = await loadScope(
        {
          target: { endpoint: rpc.url },
          // Slow enough that each request sees another slot.
          options: {
            ...defaults,
            requestsPerSecondMax: 20,
            isPaged,
            pageRowsMax: 5,
            slackSlots: 3,
          },
          scope,
          openLoader: () => openStoreLoader(join(dir, 'work'), store, LOADER),
        },
        {
          dir: join(dir, 'store'),
          first,
          show: () => undefined,
          signal: new AbortController().signal,
        },
      )
      t.ok(slot >= (first?.slot ?? Infinity), 'the base is in the spool')
      t.ok(rowsSlot > slot, 'rows are of several slots')
      await spool.replay({ dir: join(dir, 'store'), baseSlot: slot, rowsSlot })
      const indexer = spool.handOver()
      t.teardown(() => indexer.close())
      t.ok((indexer.tip()?.slot ?? 0) >= rowsSlot, 'all rows are of the past')
      t.strictSame(indexer.check(), [])

      // The chain has stopped; every account of the store is compared with it.
      indexer.startFeed(feed, () => {})
      clearInterval(blocks)
      await until('the tip is the chain’s', () => indexer.tip()?.slot === chain.tip.slot)
      const reader = indexer.openReader(POOL)
      t.teardown(() => reader.close())
      const reads = reader.reads(LIMITS)
      const wanted = keys.programs.flatMap(program => chain.programAccounts(program))
      for (const [pubkey, { data, lamports }] of wanted) {
        const reply = reads.account(pubkey, 'base64', undefined)
        const { value } = JSON.parse(Buffer.from(reply as Uint8Array).toString()) as {
          value: { data: [string, string]; lamports: number }
        }
        const found = [value.data[0], BigInt(value.lamports)]
        t.strictSame(found, [Buffer.from(data).toString('base64'), lamports])
      }
      const stored = indexer.storedKeys(undefined, { keysMax: 100_000, bytesMax: 64 * MIB })
      t.equal(stored.length / 32, wanted.length + 1, 'these and the Clock, and no other')
      t.strictSame(indexer.check(), [])
    },
  )
