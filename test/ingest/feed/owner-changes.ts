import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import type { Plan } from '../../../src/ingest/feed/geyser.js'
import { Rpc } from '../../../src/ingest/accounts-rpc/client.js'
import { defaults } from '../../../src/ingest/accounts-rpc/options.js'
import { runSweep } from '../../../src/ingest/accounts-rpc/sweep.js'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import type { Keypair } from '../../../src/sandbox/solana/keypair.js'
import { openRpc as serveRpc } from '../../../src/sandbox/rpc/rpc.js'
import { createAccount } from '../../../src/sandbox/solana/system-instructions.js'
import { closeAccount, initializeAccount } from '../../../src/sandbox/solana/token-instructions.js'
import type { Indexer } from '../../../src/native/indexer.js'
import type { StoreOptions } from '../../../src/native/store.js'
import { SCOPE, startFeedHarness } from '../../fixtures/ingest/feed-harness.js'
import { key } from '../../fixtures/sandbox/sandbox.js'
import { until } from '../../fixtures/until.js'

/** Changes of a token account, each within one slot. */
const FATES = ['closed', 'handed', 'moved', 'movedAtOnce'] as const
type Fate = (typeof FATES)[number]

/** Changes that each plan misses (docs/operations/feed.md). */
const CASES: readonly [plan: Plan, scope: StoreOptions['scope'], missed: readonly Fate[]][] = [
  ['blocks', undefined, []],
  ['accounts', undefined, []],
  ['blocks', SCOPE, []],
  ['accounts', SCOPE, []],
  ['scoped', SCOPE, ['handed', 'moved', 'movedAtOnce']],
  ['narrow', SCOPE, ['handed', 'movedAtOnce']],
]
const BYTES = 165
const OTHER = key('another program').publicKey
const SWEEP = { ...defaults, requestsPerSecondMax: 10_000, sweepKeysPerSecond: 100_000 }

/** Sweeps a store until the test ends. */
const sweep = (t: Test, endpoint: string, store: Indexer): void => {
  const end = new AbortController()
  const { signal } = end
  const rpc = new Rpc({ endpoint }, SWEEP, { signal })
  const running = runSweep(SWEEP, {
    rpc,
    store: () => store,
    signal,
    now: () => performance.now(),
    sleep: ms => wait(ms, undefined, { signal }),
    on: {
      compared: () => undefined,
      corrected: () => undefined,
      round: () => undefined,
      failed: () => t.fail('the sweep failed'),
      log: () => undefined,
    },
  })
  t.teardown(async () => {
    end.abort()
    await running
    await rpc.close()
  })
}

t.test(
  'closes and owner changes by each plan, and the sweep for those that a plan misses',
  async t => {
    const { chain, sampleAccounts, slots, follow } = await startFeedHarness(t)
    const server = await serveRpc(chain)
    t.teardown(() => server.close())
    const [holder] = sampleAccounts.holders
    if (holder === undefined) throw new Error('there are no holders')
    const { wallet } = holder
    const { payer } = sampleAccounts
    const lamports = chain.rentExemptLamports(BYTES)
    const accounts = new Map(FATES.map(fate => [fate, key(fate)]))
    const of = (fate: Fate): Keypair => accounts.get(fate) ?? key('absent')
    const create = ({ publicKey }: Keypair, owner: Uint8Array) =>
      createAccount(payer.publicKey, publicKey, { lamports, space: BYTES, owner })
    const close = ({ publicKey }: Keypair) =>
      closeAccount(publicKey, wallet.publicKey, wallet.publicKey)
    for (const account of accounts.values())
      chain.submit(
        [
          create(account, ADDRESSES.token),
          initializeAccount(account.publicKey, sampleAccounts.mint, wallet.publicKey),
        ],
        [payer, account],
      )
    slots(1)
    const dir = t.testdir()
    const followers = CASES.map(([plan, scope, missed], index) => ({
      name: `${plan}${scope === undefined ? '' : ' for a scope'}`,
      missed: missed.map(fate => bs58.encode(of(fate).publicKey)).sort(),
      follower: follow(join(dir, plan + index), { options: { plan }, scope }),
    }))
    const untilStored = () => Promise.all(followers.map(({ follower }) => follower.untilStored()))
    await untilStored()
    for (const { name, follower } of followers)
      t.strictSame(await follower.findDifferences(), [], name)

    chain.submit([close(of('closed'))], [wallet])
    const account = chain.account(of('handed').publicKey)
    if (account === undefined) throw new Error('there is no such account')
    // Only its program can do that: the chain does it in its stead.
    chain.load(of('handed').publicKey, { ...account, owner: OTHER })
    chain.submit([close(of('moved'))], [wallet])
    chain.submit([create(of('moved'), OTHER)], [payer, of('moved')])
    const movedAtOnce = of('movedAtOnce')
    chain.submit([close(movedAtOnce), create(movedAtOnce, OTHER)], [payer, wallet, movedAtOnce])
    slots(2)
    await untilStored()
    for (const { name, missed, follower } of followers)
      t.strictSame(
        (await follower.findDifferences()).sort(),
        missed,
        `${name}: exactly the accounts that it reports as missed`,
      )

    for (const { name, missed, follower } of followers) {
      if (missed.length === 0) continue
      sweep(t, server.url, follower.store)
      await until(`${name}: the sweep finds them`, async () => {
        // Each block applies the corrections found before it.
        slots(1)
        await follower.untilStored()
        return (await follower.findDifferences()).length === 0
      })
      t.strictSame(await follower.findDifferences(), [], `${name}: no difference remains`)
    }
  },
)
