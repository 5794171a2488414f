import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { defaults, type Transactions } from '../../../src/ingest/feed/geyser.js'
import { compileTransaction } from '../../../src/sandbox/solana/compile-transaction.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { transferTokens } from '../../../src/sandbox/solana/token-instructions.js'
import { createTransfers } from '../../../src/sandbox/chain/traffic.js'
import { MINT_DECIMALS } from '../../../src/sandbox/chain/sample-accounts.js'
import { inEachLane, type Lane } from '../../fixtures/sandbox/lanes.js'
import { createClock } from '../../fixtures/sandbox/sandbox.js'
import { openStore } from '../../fixtures/rpc/store.js'
import { until } from '../../fixtures/until.js'

type Notification = {
  readonly method: string
  readonly params: { readonly subscription: number; readonly result: unknown }
}

/** The path from the chain through its feed into a store, and out as frames. */
const follow = async (test: Test, transactions: Transactions, lane: Lane = {}) => {
  const clock = createClock()
  const sandbox = await startSandboxChain({ seed: 'test', ...lane, slotMs: 0 }, clock.now)
  const { chain, geyserUrl } = sandbox
  const { indexer, reader } = openStore(test)
  const fanout = reader.openFanout({ subscriptionsMax: 100, chunkBytesMax: 1024 ** 2 })
  test.teardown(async () => {
    fanout.close()
    indexer.stopFeed()
    await sandbox.close()
  })
  const { firstSlot } = chain.options
  const options = { ...defaults, transactions, endpoint: geyserUrl, startSlot: firstSlot }
  indexer.startFeed(options, () => {})
  const arrived = (slot: number) =>
    until(`slot ${slot} is in the store`, () => (indexer.tip()?.slot ?? 0) >= slot)
  /** Reads the frames up to the chain's newest block. */
  const notifications = async (): Promise<Notification[]> => {
    await arrived(chain.tip.slot)
    const found: Notification[] = []
    for (;;) {
      const { frames, index, isLost, hasMore } = await fanout.pass()
      if (isLost) throw new Error('lost')
      let at = 0
      for (let row = 1; row < index.length; row += 3) {
        const end = at + (index[row] ?? 0)
        found.push(JSON.parse(Buffer.from(frames.subarray(at, end)).toString()))
        at = end
      }
      if (!hasMore) return found
    }
  }
  chain.tick()
  await notifications()
  return {
    ...sandbox,
    fanout,
    notifications,
    transfer: createTransfers(chain, sandbox.sampleAccounts),
  }
}

inEachLane('subscribers receive the chain’s changes', async (t, lane) => {
  const { chain, sampleAccounts, fanout, notifications, transfer } = await follow(t, 'logs', lane)
  const [holder, other] = sampleAccounts.holders
  if (holder === undefined || other === undefined) throw new Error('there are not two holders')
  fanout.addLogs(1, 'all')
  fanout.addLogs(2, holder.account)
  fanout.addSlot(3)
  fanout.addRoot(4)
  fanout.addAccount(5, holder.account, { encoding: 'jsonParsed' })
  await notifications()

  const first = chain.slot
  transfer()
  const move = { from: holder.account, to: other.account, mint: sampleAccounts.mint }
  const tooMuch = { ...move, amount: 2n ** 60n, decimals: MINT_DECIMALS }
  chain.send(
    compileTransaction(
      [transferTokens(tooMuch, holder.wallet.publicKey)],
      [holder.wallet],
      bs58.decode(chain.tip.blockhash),
    ),
  )
  const { transactions } = chain.tick()
  t.match(transactions[1]?.error, { InstructionError: [0, { Custom: 1 }] }, 'one of them failed')
  const value = transactions.map(({ signature, error, logs }) => ({
    signature: bs58.encode(signature),
    err: error ?? null,
    logs,
  }))
  const frames = await notifications()
  const of = (id: number) => frames.filter(({ params }) => params.subscription === id)
  const results = (id: number) => of(id).map(({ params }) => params.result)
  const context = { slot: first }
  t.strictSame(
    results(1),
    value.map(value => ({ context, value })),
  )
  t.strictSame(results(2), results(1), 'both name the account')
  t.ok(value.every(({ logs }) => logs.length > 0))
  t.match(results(3), [{ slot: first, parent: first - 1 }])
  t.match(results(5), [{ context, value: { data: { program: 'spl-token' } } }])

  const signature = transactions[0]?.signature ?? new Uint8Array(64)
  fanout.addSignature(6, signature, 'finalized', true)
  // From here on the slot may be final already.
  const later = [...frames, ...(await notifications())]
  const { finalizedAfterSlots } = chain.options
  // One slot to finalize it, and one for the block that reports it.
  for (let count = 0; count < finalizedAfterSlots + 2; count++) {
    chain.tick()
    later.push(...(await notifications()))
  }
  const [received, ...outcomes] = later.filter(({ params }) => params.subscription === 6)
  t.match(received, { params: { result: { value: 'receivedSignature' } } })
  t.match(outcomes, [{ params: { result: { context, value: { err: null } } } }])
  t.equal(outcomes.length, 1)
  const roots = later.flatMap(({ method, params: { result } }) =>
    method === 'rootNotification' ? [Number(result)] : [],
  )
  t.ok(roots.includes(first))
  t.strictSame(
    roots,
    roots.map((_root, index) => (roots[0] ?? 0) + index),
    'each slot became a root once',
  )
  const rootedAt = later.findIndex(({ method, params }) => {
    return method === 'rootNotification' && params.result === first
  })
  const outcomeAt = later.findLastIndex(({ params }) => params.subscription === 6)
  t.ok(outcomeAt > rootedAt, 'after its slot became a root')
})

t.test('a feed with transaction outcomes only', async t => {
  const { chain, fanout, notifications, transfer } = await follow(t, 'status')
  fanout.addLogs(1, 'all')
  transfer()
  const { transactions } = chain.tick()
  fanout.addSignature(2, transactions[0]?.signature ?? new Uint8Array(64), 'confirmed', false)
  const frames = await notifications()
  t.match(frames, [{ params: { subscription: 2, result: { value: { err: null } } } }])
})
