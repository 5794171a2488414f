import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import bs58 from 'bs58'
import fc from 'fast-check'
import t from 'tap'
import { defaults } from '../../src/rpc/options.js'
import { applyAccounts, openStoreAt, type PaidTransaction } from '../fixtures/rpc/store.js'
import { askText, openDispatch } from '../fixtures/rpc/vectors.js'

const KEYS = Array.from({ length: 6 }, (_, index) =>
  bs58.encode(createHash('sha256').update(`fees ${index}`).digest()),
)

const anyTransaction: fc.Arbitrary<PaidTransaction> = fc
  .record({
    keys: fc.subarray(KEYS, { minLength: 1 }),
    price: fc.option(fc.constantFrom(0, 1, 5, 700, 5_000, 2 ** 40), { nil: undefined, freq: 6 }),
    locks: fc.nat(2 ** KEYS.length - 1),
    lamports: fc.array(fc.constantFrom(0, 1_000, 5_000, 2 ** 33), { maxLength: KEYS.length }),
    hasFailed: fc.boolean(),
    isVote: fc.constantFrom(false, false, true),
  })
  .map(({ keys, price, locks, lamports, hasFailed, isVote }) => ({
    ...{ keys, hasFailed, isVote },
    ...(price !== undefined && { price }),
    writable: keys.flatMap((_, at) => ((locks >> at) & 1 ? [at] : [])),
    gains: hasFailed
      ? []
      : keys.flatMap((_, at) =>
          (lamports[at] ?? 0) > 0 ? [[at, lamports[at] ?? 0] as const] : [],
        ),
  }))
type Blocks = readonly (readonly PaidTransaction[])[]
const anyBlocks: fc.Arbitrary<Blocks> = fc.array(fc.array(anyTransaction, { maxLength: 8 }), {
  minLength: 1,
  maxLength: 5,
})
const anyAddresses = fc.subarray(KEYS, { maxLength: 4 })

const FIRST_SLOT = 9
const ascending = (a: number, b: number): number => a - b
const locks = (key: string) => (paid: PaidTransaction) =>
  paid.writable.some(at => paid.keys[at] === key)
const pricesOf = (transactions: readonly PaidTransaction[]): number[] =>
  transactions.flatMap(({ price }) => price ?? []).sort(ascending)

/** Agave's rule, or Triton's with a percentile. */
const recentFees = (blocks: Blocks, addresses: readonly string[], percentile = 0) =>
  blocks.flatMap((block, index) => {
    const counted = block.filter(({ isVote }) => isVote !== true)
    if (pricesOf(counted).length === 0) return []
    const at = (prices: number[]): number =>
      prices[Math.floor((Math.min(percentile, 9_999) * prices.length) / 10_000)] ?? 0
    const of = addresses.map(key => at(pricesOf(counted.filter(locks(key)))))
    const prioritizationFee = Math.max(at(pricesOf(counted)), ...of)
    return [{ slot: FIRST_SLOT + index, prioritizationFee }]
  })

/** Levels by the second algorithm of Helius' open estimator. */
const levels = (blocks: Blocks, addresses: readonly string[], lookback: number): number[] => {
  const counts = ({ hasFailed, isVote }: PaidTransaction) => hasFailed !== true && isVote !== true
  const counted = blocks.map(block => block.filter(counts))
  const newest = counted.filter(block => pricesOf(block).length > 0).slice(-lookback)
  const percentiles = (prices: number[]): number[] =>
    [0, 25, 50, 75, 95, 100].map(percent => {
      const rank = (percent / 100) * (prices.length - 1)
      const low = prices[Math.floor(rank)] ?? 0
      return low + (rank % 1) * ((prices[Math.floor(rank) + 1] ?? low) - low)
    })
  const ofKey = (key: string): number[] =>
    newest
      .flatMap(block => {
        const prices = pricesOf(block.filter(locks(key)))
        return prices.length > 0 ? prices : [0]
      })
      .sort(ascending)
  const each = [pricesOf(newest.flat()), ...addresses.map(ofKey)].map(percentiles)
  return [0, 1, 2, 3, 4, 5].map(level => Math.max(0, ...each.map(of => of[level] ?? 0)))
}

/** Percentiles of the tips of one group, of the nearest rank. */
const tipsOf = (blocks: Blocks, addresses: readonly string[]) => {
  const sum = ({ gains = [], keys }: PaidTransaction): number =>
    gains.reduce((total, [at, more]) => total + (addresses.includes(keys[at] ?? '') ? more : 0), 0)
  const tips = blocks
    .flat()
    .map(sum)
    .filter(tip => tip > 0)
    .sort(ascending)
  const of = (percent: number) => tips[Math.max(1, Math.ceil((percent * tips.length) / 100)) - 1]
  return [tips.length, ...[25, 50, 75, 95, 99].flatMap(percent => of(percent) ?? [])]
}

const call = (method: string, params: unknown[]): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

type TipPercentiles = {
  readonly count: number
  readonly blocks: number
  readonly firstSlot: number
  readonly lastSlot: number
  readonly tipLamports: Readonly<Record<string, number>> | null
}

const dir = t.testdir({ stores: {} })
let storeCount = 0
const anyCase = fc.record({
  blocks: anyBlocks,
  addresses: anyAddresses,
  percentile: fc.constantFrom(0, 1, 2_500, 5_000, 9_900, 10_000),
  lookback: fc.constantFrom(1, 2, 150),
})

t.test('fees are those of short references', async t => {
  let feeCount = 0
  await fc.assert(
    fc.asyncProperty(anyCase, async ({ blocks, addresses, percentile, lookback }) => {
      const path = join(dir, 'stores', String(storeCount++))
      mkdirSync(path)
      const { indexer, reader, close } = openStoreAt(path)
      try {
        const dispatch = openDispatch(reader.reads(defaults))
        const answer = async (method: string, params: unknown[]): Promise<unknown> =>
          JSON.parse(await askText(dispatch, call(method, params)))
        for (const [index, block] of blocks.entries()) {
          applyAccounts(indexer, [], FIRST_SLOT + index, undefined, block)
          const seen = blocks.slice(0, index + 1)
          const recent = await answer('getRecentPrioritizationFees', [addresses, { percentile }])
          const expected = recentFees(seen, addresses, percentile)
          assert.deepEqual(recent, { jsonrpc: '2.0', result: expected, id: 1 })
          feeCount += expected.length
          const options = { includeAllPriorityFeeLevels: true, lookbackSlots: lookback }
          const estimate = await answer('getPriorityFeeEstimate', [
            { accountKeys: addresses, options },
          ])
          const { result } = estimate as { result: { priorityFeeLevels: Record<string, number> } }
          const found = Object.values(result.priorityFeeLevels).map(Number)
          const tips = await answer('getTipPercentiles', [{ accounts: addresses }])
          const [group] = (tips as { result: { value: TipPercentiles[] } }).result.value
          const shown = [group?.count ?? 0, ...Object.values(group?.tipLamports ?? {})]
          assert.deepEqual(shown, tipsOf(seen, addresses))
          assert.deepEqual(
            [group?.firstSlot, group?.lastSlot, group?.blocks],
            [FIRST_SLOT, FIRST_SLOT + index, index + 1],
          )
          for (const [level, price] of levels(seen, addresses, lookback).entries())
            assert.ok(Math.abs((found[level] ?? NaN) - price) <= 1e-9 * price, `level ${level}`)
        }
      } finally {
        close()
      }
    }),
    { numRuns: 100 },
  )
  t.ok(feeCount > 100, `${feeCount} fees`)
})
