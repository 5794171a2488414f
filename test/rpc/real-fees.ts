import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import bs58 from 'bs58'
import { VersionedTransaction, type VersionedMessage } from '@solana/web3.js'
import t from 'tap'
import { defaults } from '../../src/rpc/options.js'
import { startFeedHarness } from '../fixtures/ingest/feed-harness.js'
import { compareFees } from '../fixtures/rpc/fee-rules.js'
import type { PaidTransaction } from '../fixtures/rpc/store.js'
import { openDispatch } from '../fixtures/rpc/vectors.js'
import { CONFIRMED } from '../fixtures/sandbox/sandbox.js'
import { yellowstone } from '../fixtures/sandbox/yellowstone.js'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'
import { until } from '../fixtures/until.js'
import { startRecordedFeed } from '../fixtures/validator/recording/recorded-feed.js'

const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111'
const VOTE = 'Vote111111111111111111111111111111111111111'
const FIRST_SLOT = 361_774_429
const BLOCK_TRANSACTIONS = 16

const { SubscribeUpdate } = yellowstone

type Real = { readonly signatures: readonly Uint8Array[]; readonly message: VersionedMessage }

/** Transactions of the chain, as they were signed. */
const readReal = (dir: string): readonly Real[] =>
  readdirSync(dir)
    // web3.js does not know version 1.
    .filter(name => name.startsWith('legacy-') || name.startsWith('v0-'))
    .map(name => {
      const { tx } = JSON.parse(readFileSync(join(dir, name), 'utf8')) as { readonly tx: string }
      return VersionedTransaction.deserialize(Buffer.from(tx, 'base64'))
    })

const countOf = (message: VersionedMessage, name: 'writableIndexes' | 'readonlyIndexes'): number =>
  message.addressTableLookups.reduce((sum, lookup) => sum + lookup[name].length, 0)

/** Lamports that each third account gains, in turn, and each fifth loses. */
const balancesOf = (count: number, nth: number) =>
  Array.from({ length: count }, (_, at) => {
    const before = 10_000_000 + at
    if ((at + nth) % 5 === 0) return [before, before - 7]
    return [before, (at + nth) % 3 === 0 ? before + 1_000 * (nth + 1) : before]
  })

/** What a validator sends of one, and what of it counts for fees and tips. */
const describe = ({ signatures, message }: Real, nth: number) => {
  const loaded = (kind: number, count: number): Buffer[] =>
    Array.from({ length: count }, (_, at) => Buffer.alloc(32, `${kind} ${nth} ${at} `))
  const [writable, readonly] = [
    loaded(1, countOf(message, 'writableIndexes')),
    loaded(2, countOf(message, 'readonlyIndexes')),
  ]
  const statics = message.staticAccountKeys.map(key => key.toBuffer())
  const keys = [...statics, ...writable, ...readonly]
  const texts = keys.map(key => bs58.encode(key))
  const programs = message.compiledInstructions.map(({ programIdIndex, data }) => ({
    program: texts[programIdIndex],
    data: Buffer.from(data),
  }))
  const budget = (kind: number) =>
    programs.find(({ program, data }) => program === COMPUTE_BUDGET && data[0] === kind)?.data
  const hasFailed = nth % 7 === 3
  const isVote = programs[0]?.program === VOTE
  const balances = balancesOf(keys.length, nth)
  const paid: PaidTransaction = {
    keys: texts,
    ...(budget(2)?.readUInt32LE(1) !== 0 && {
      price: Number(budget(3)?.readBigUInt64LE(1) ?? 0n),
    }),
    writable: keys.flatMap((_, at) => (message.isAccountWritable(at) ? [at] : [])),
    gains: hasFailed
      ? []
      : balances.flatMap(([before = 0, after = 0], at) =>
          after > before ? [[at, after - before] as const] : [],
        ),
    hasFailed,
    isVote,
  }
  const info = {
    signature: signatures[0],
    isVote,
    index: String(nth % BLOCK_TRANSACTIONS),
    transaction: {
      signatures,
      message: {
        header: message.header,
        accountKeys: statics,
        recentBlockhash: bs58.decode(message.recentBlockhash),
        instructions: message.compiledInstructions.map(one => ({
          programIdIndex: one.programIdIndex,
          accounts: Uint8Array.from(one.accountKeyIndexes),
          data: one.data,
        })),
        versioned: message.version !== 'legacy',
        addressTableLookups: message.addressTableLookups.map(lookup => ({
          accountKey: lookup.accountKey.toBytes(),
          writableIndexes: Uint8Array.from(lookup.writableIndexes),
          readonlyIndexes: Uint8Array.from(lookup.readonlyIndexes),
        })),
      },
    },
    meta: {
      ...(hasFailed && { err: { err: Uint8Array.of(3, 0, 0, 0) } }),
      fee: '5000',
      preBalances: balances.map(([before]) => String(before)),
      postBalances: balances.map(([, after]) => String(after)),
      loadedWritableAddresses: writable,
      loadedReadonlyAddresses: readonly,
    },
  }
  return { info, paid }
}

const hashOf = (slot: number): string => bs58.encode(Buffer.alloc(32, `${slot}`))

/** The messages of one block. */
const blockMessages = (slot: number, infos: readonly object[]): Uint8Array[] => {
  const encode = (update: object): Uint8Array =>
    SubscribeUpdate.encode(SubscribeUpdate.fromPartial(update)).finish()
  const of = { slot: String(slot), parentSlot: String(slot - 1) }
  return [
    ...infos.map(transaction => encode({ transaction: { slot: of.slot, transaction } })),
    encode({
      blockMeta: {
        ...of,
        blockhash: hashOf(slot),
        parentBlockhash: hashOf(slot - 1),
        blockHeight: { blockHeight: of.slot },
        blockTime: { timestamp: '1755800000' },
        executedTransactionCount: String(infos.length),
      },
    }),
    encode({ slot: { slot: of.slot, parent: of.parentSlot, status: CONFIRMED } }),
  ]
}

const dir = sharedPath('transactions')
const skip = dir === undefined ? SHARED_ABSENT : false

t.test('fees and tips of real transactions are those of short references', { skip }, async t => {
  const real = readReal(dir ?? '').map(describe)
  const blocks = Array.from({ length: Math.ceil(real.length / BLOCK_TRANSACTIONS) }, (_, nth) =>
    real.slice(nth * BLOCK_TRANSACTIONS, (nth + 1) * BLOCK_TRANSACTIONS),
  )
  const paid = blocks.map(block => block.map(one => one.paid))
  const prices = new Set(paid.flat().map(({ price }) => price))
  t.ok(real.length > 100 && prices.size > 20, `${prices.size} prices`)
  const feed = await startRecordedFeed(
    t,
    blocks.flatMap((block, nth) =>
      blockMessages(
        FIRST_SLOT + nth,
        block.map(({ info }) => info),
      ).map(bytes => ({ atMs: 0, bytes: Buffer.from(bytes) })),
    ),
  )
  const { follow } = await startFeedHarness(t)
  const { reader, tipSlot } = follow(t.testdir(), {
    sources: [{ endpoint: feed.url, startSlot: FIRST_SLOT }],
    options: { transactions: 'full' },
  })
  const dispatch = openDispatch(reader.reads(defaults))
  const counts = new Map<string, number>()
  for (const { keys } of paid.flat())
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  const [system = '', most = '', ...others] = [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([key]) => key)
  // Programs, which nothing locks, are among them.
  const cases = [
    { addresses: [], percentile: 0, lookback: 150 },
    { addresses: [most], percentile: 5_000, lookback: 150 },
    { addresses: [system, most], percentile: 9_900, lookback: 2 },
    { addresses: others.slice(0, 100), percentile: 7_500, lookback: 1 },
  ]
  let feeCount = 0
  for (const [nth] of blocks.entries()) {
    feed.release(FIRST_SLOT + nth)
    await until(`block ${nth} is stored`, () => tipSlot() === FIRST_SLOT + nth)
    for (const asked of cases)
      feeCount += await compareFees(dispatch, paid.slice(0, nth + 1), {
        firstSlot: FIRST_SLOT,
        ...asked,
      })
  }
  t.ok(feeCount > 4 * blocks.length, `${feeCount} fees`)
})
