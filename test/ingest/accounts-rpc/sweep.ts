import bs58 from 'bs58'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Rpc } from '../../../src/ingest/accounts-rpc/client.js'
import { defaults, type Options } from '../../../src/ingest/accounts-rpc/options.js'
import { runSweep } from '../../../src/ingest/accounts-rpc/sweep.js'
import type { FeedLine } from '../../../src/ingest/feed/source.js'
import { openIndexer } from '../../../src/native/indexer.js'
import {
  type ProviderAccount,
  type ProviderFault,
  openProvider,
} from '../../fixtures/ingest/rpc-provider.js'
import { POOLS, STORE } from '../../fixtures/rpc/store.js'

const key = (first: number): Uint8Array => new Uint8Array(32).fill(first)
const [PROGRAM, OTHER] = [key(200), key(201)]
const hash = (slot: number): Uint8Array => new Uint8Array(32).fill(slot)

const toUpdate = ({ pubkey, owner, data, lamports = 1n }: ProviderAccount) => ({
  pubkey,
  owner,
  data,
  lamports,
  rentEpoch: 0n,
  executable: false,
})
const providerAccount = (first: number, data: number, owner = PROGRAM): ProviderAccount => ({
  pubkey: key(first),
  owner,
  data: Buffer.alloc(9, data),
})

/** A store with these accounts at slot 10, and a provider with other accounts. */
const open = async (
  t: Test,
  stored: readonly ProviderAccount[],
  upstream: readonly ProviderAccount[],
) => {
  const scope = { programs: [PROGRAM], mints: [], pubkeys: [] }
  const indexer = openIndexer(join(t.testdir({}), 'store'), { ...STORE, scope })
  t.teardown(() => indexer.close())
  const apply = (slot: number, accounts: readonly ProviderAccount[] = []) =>
    indexer.applyBlock({
      slot,
      parentSlot: slot - 1,
      blockhash: hash(slot),
      parentBlockhash: hash(slot - 1),
      blockHeight: slot,
      accounts: accounts.map(toUpdate),
    })
  apply(10, stored)
  let fault: ProviderFault | undefined
  const provider = await openProvider(t, {
    accounts: upstream,
    slot: 10,
    fault: () => fault,
  })
  const lines: FeedLine[] = []
  const seen = { compared: 0, corrected: 0, rounds: 0, failures: 0 }
  /** Sweeps until the given number of rounds or failures is reached. */
  const sweep = async (rounds: number, options: Partial<Options> = {}): Promise<number[]> => {
    const end = new AbortController()
    const { signal } = end
    const slept: number[] = []
    const sleep = async (ms: number): Promise<void> => {
      slept.push(ms)
      if (seen.rounds >= rounds || seen.failures >= rounds) end.abort()
    }
    const all = { ...defaults, requestsPerSecondMax: 1_000_000, attemptsMax: 1, ...options }
    // Pauses of the client are not those of the sweep.
    const rpc = new Rpc({ endpoint: provider.url }, all, { signal, sleep: async () => {} })
    await runSweep(all, {
      rpc,
      store: () => indexer,
      signal,
      sleep,
      now: () => 0,
      on: {
        compared: ({ equal, newer, different }) => (seen.compared += equal + newer + different),
        corrected: count => (seen.corrected += count),
        round: () => seen.rounds++,
        failed: () => seen.failures++,
        log: line => lines.push(line),
      },
    })
    await rpc.close()
    return slept
  }
  const reader = indexer.openReader(POOLS)
  t.teardown(() => reader.close())
  const account = (first: number): unknown => {
    const limits = {
      readTimeoutMs: 1_000,
      scanMs: 1_000,
      pageReplyBytesMax: 1024 ** 2,
      recentResultsMax: 0,
    }
    try {
      const reply = reader.reads(limits).account(key(first), 'base64', undefined)
      return (JSON.parse(Buffer.from(reply as Uint8Array).toString()) as { value: unknown }).value
    } catch (error) {
      // A scoped store answers `outsideScope` for accounts outside its scope.
      t.match(error, { name: 'outsideScope' })
      return 'gone'
    }
  }
  const setFault = (next: ProviderFault | undefined): void => void (fault = next)
  return { indexer, apply, provider, sweep, seen, lines, account, setFault }
}

t.test('changes that the feed missed are corrected with the next block', async t => {
  const stored = [
    providerAccount(1, 1),
    providerAccount(2, 2),
    providerAccount(3, 3),
    providerAccount(4, 4),
  ]
  const upstream = [providerAccount(1, 1), providerAccount(3, 33), providerAccount(4, 4, OTHER)]
  const { indexer, apply, sweep, seen, lines, account } = await open(t, stored, upstream)
  await sweep(1)
  t.match(seen, { compared: 4, corrected: 0, rounds: 1 })
  t.equal(indexer.correctionCounts().waiting, 3)
  t.equal(indexer.tip()?.slot, 10, 'no block, no change')
  t.ok(account(2))
  apply(11)
  t.equal(indexer.tip()?.slot, 11)
  t.match(account(3), { data: [Buffer.alloc(9, 33).toString('base64'), 'base64'] })
  t.strictSame(
    [account(2), account(4)].map(value => value ?? 'gone'),
    ['gone', 'gone'],
  )
  t.strictSame(indexer.check(), [])
  await sweep(2)
  t.match(seen, { corrected: 3, failures: 0 })
  t.match(lines, [{ level: 'warn', text: 'sweep corrected 3 accounts that the feed had missed' }])
})

t.test('an upstream ahead of the tip counts as no difference once the blocks arrive', async t => {
  const { indexer, apply, provider, sweep, seen, lines } = await open(
    t,
    [providerAccount(1, 1)],
    [providerAccount(1, 2)],
  )
  provider.options.slot = 12
  await sweep(1)
  apply(11)
  apply(12, [providerAccount(1, 2)])
  apply(13)
  await sweep(2)
  t.match([seen.corrected, indexer.correctionCounts()], [0, { waiting: 0, corrected: 0 }])
  t.strictSame(lines, [])
})

t.test('a store is swept repeatedly, in key order, at the configured rate', async t => {
  const stored = Array.from({ length: 25 }, (_, i) => providerAccount(i + 1, i))
  const { provider, sweep, seen } = await open(t, stored, stored)
  const slept = await sweep(2, { keysPerCallMax: 10, sweepKeysPerSecond: 50 })
  const round = [10, 10, 5].flatMap((count, call) =>
    stored.slice(call * 10, call * 10 + count).map(({ pubkey }) => bs58.encode(pubkey)),
  )
  t.strictSame(
    provider.received.flatMap(({ keys }) => keys),
    [...round, ...round],
  )
  t.strictSame(slept, [200, 200, 100, 0, 200, 200, 100, 0])
  t.equal(seen.compared, 50)
})

t.test('a provider failure is reported once, and the sweep resumes at the same key', async t => {
  const stored = Array.from({ length: 4 }, (_, i) => providerAccount(i + 1, i))
  const { provider, sweep, seen, lines, setFault } = await open(t, stored, stored)
  setFault({ status: 401, body: '' })
  const slept = await sweep(3)
  t.strictSame(slept, [10_000, 10_000, 10_000])
  t.equal(seen.failures, 3)
  t.equal(lines.length, 1)
  t.match(lines[0], {
    level: 'warn',
    text: /^sweep failed, retrying: .*networks.accountsRpc.credential/,
  })
  setFault(undefined)
  seen.failures = 0
  await sweep(1)
  t.equal(seen.compared, 4)
  t.equal(provider.received.length, 4)
})
