import bs58 from 'bs58'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { defaults as feedDefaults } from '../../../src/ingest/feed/geyser.js'
import { loadScope } from '../../../src/ingest/bootstrap/load-scope.js'
import { Rpc } from '../../../src/ingest/accounts-rpc/client.js'
import { defaults } from '../../../src/ingest/accounts-rpc/options.js'
import { runSweep } from '../../../src/ingest/accounts-rpc/sweep.js'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import {
  compileTransaction,
  writableSigner,
} from '../../../src/sandbox/solana/compile-transaction.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { createTransfers } from '../../../src/sandbox/chain/traffic.js'
import { openIndexer } from '../../../src/native/indexer.js'
import { unpackRows } from '../../../src/native/rpc-answer.js'
import { createClock, key } from '../../fixtures/sandbox/sandbox.js'
import { STORE } from '../../fixtures/rpc/store.js'
import { until } from '../../fixtures/until.js'

const SOL = 1_000_000_000n
const ASSIGN = 1
const SYSTEM = bs58.encode(ADDRESSES.system)
const options = { ...defaults, requestsPerSecondMax: 10_000, sweepKeysPerSecond: 100_000 }

const assign = (pubkey: Uint8Array, owner: Uint8Array) => {
  const data = Buffer.alloc(36)
  data.writeUInt32LE(ASSIGN)
  data.set(owner, 4)
  return { programId: ADDRESSES.system, accounts: [writableSigner(pubkey)], data }
}

t.test('the sweep finds an account whose owner program changed', async t => {
  const sandbox = await startSandboxChain({ slotMs: 0, seed: 'test' }, createClock().now)
  t.teardown(() => sandbox.close())
  const { chain, geyserUrl } = sandbox
  const scope = { programs: [ADDRESSES.system], mints: [], pubkeys: [] }
  const indexer = openIndexer(join(t.testdir({}), 'store'), { ...STORE, scope })
  const { firstSlot } = chain.options
  indexer.startFeed({ ...feedDefaults, endpoint: geyserUrl, startSlot: firstSlot }, () => {})
  t.teardown(() => indexer.close())
  const tick = async (): Promise<void> => {
    chain.tick()
    const { slot } = chain.tip
    await until(`slot ${slot}`, () => indexer.tip()?.slot === slot)
  }
  const stored = (): readonly string[] => {
    const keys = indexer.storedKeys(undefined, { keysMax: 10_000, bytesMax: 2 ** 30 })
    return Array.from({ length: keys.length / 32 }, (_, i) =>
      bs58.encode(keys.subarray(i * 32, i * 32 + 32)),
    )
  }
  const given = key('given away')
  chain.airdrop(given.publicKey, SOL)
  await tick()
  const name = bs58.encode(given.publicKey)
  t.ok(stored().includes(name))
  const send = compileTransaction(
    [assign(given.publicKey, ADDRESSES.token2022)],
    [given],
    bs58.decode(chain.tip.blockhash),
  )
  chain.send(send)
  await tick()
  t.ok(stored().includes(name), 'no filter of the feed matched it')

  const end = new AbortController()
  const { signal } = end
  t.teardown(() => end.abort())
  const rpc = new Rpc({ endpoint: sandbox.rpc.url }, options, { signal })
  let corrected = 0
  const sweep = runSweep(options, {
    rpc,
    store: () => indexer,
    signal,
    now: () => performance.now(),
    // Rows that are read while the chain ticks may be of its new slot, and wait for one more block.
    // So the sweep pauses until the block that applies its corrections is committed.
    sleep: async ms => {
      do await wait(ms, undefined, { signal })
      while (indexer.correctionCounts().waiting === 2 && indexer.correctionCounts().corrected === 0)
    },
    on: {
      compared: () => undefined,
      corrected: count => (corrected += count),
      round: () => undefined,
      failed: () => t.fail('the sweep failed'),
      log: () => undefined,
    },
  })
  // The dev chain's RPC returns the Clock of the open slot, which differs from each block's.
  await until('both wait for a block', () => indexer.correctionCounts().waiting === 2)
  await tick()
  t.notOk(stored().includes(name))
  await until('the sweep corrects it', () => corrected === 2)
  t.strictSame(indexer.check(), [])
  end.abort()
  await sweep
  await rpc.close()
})

t.test('a read of a live chain’s scope returns exactly its accounts', async t => {
  const sandbox = await startSandboxChain({ slotMs: 0, seed: 'test' }, createClock().now)
  t.teardown(() => sandbox.close())
  const { chain, sampleAccounts } = sandbox
  createTransfers(chain, sampleAccounts)()
  chain.tick()
  for (const isPaged of [false, true]) {
    const rows = new Map<string, bigint>()
    let base: { slot: number; blockhash: Uint8Array } | undefined
    const given = {
      target: { endpoint: sandbox.rpc.url },
      options: { ...options, isPaged, pageRowsMax: 3, slackSlots: 0 },
      scope: { programs: [bs58.encode(ADDRESSES.token)], mints: [], pubkeys: [SYSTEM] },
      openLoader: () => ({
        push: async (_order: number, packed: Uint8Array): Promise<void> => {
          for (const { pubkey, lamports } of unpackRows(packed))
            rows.set(bs58.encode(pubkey), lamports)
        },
        finish: async (_dir: string, found: typeof base): Promise<void> => void (base = found),
        cancel: () => undefined,
        close: () => undefined,
      }),
    }
    const { slot } = chain.tip
    const { signal } = new AbortController()
    const first = { slot, parentSlot: slot - 1 }
    const loaded = await loadScope(given, { dir: '', first, signal, show: () => undefined })
    t.strictSame(loaded, { slot, rowsSlot: slot })
    t.match(base, { slot, blockhash: bs58.decode(chain.tip.blockhash) })
    for (const [pubkey, { lamports }] of chain.programAccounts(ADDRESSES.token))
      t.equal(rows.get(bs58.encode(pubkey)), lamports)
  }
  await t.rejects(
    loadScope(
      {
        target: { endpoint: sandbox.rpc.url },
        options,
        scope: { programs: [], mints: [], pubkeys: [] },
        openLoader: () => t.fail('opened') as never,
      },
      { dir: '', first: undefined, signal: new AbortController().signal, show: () => undefined },
    ),
    /no block is spooled yet/,
  )
})
