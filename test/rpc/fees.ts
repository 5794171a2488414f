import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import bs58 from 'bs58'
import fc from 'fast-check'
import t from 'tap'
import { defaults } from '../../src/rpc/options.js'
import { compareFees, type Blocks } from '../fixtures/rpc/fee-rules.js'
import { applyAccounts, openStoreAt, type PaidTransaction } from '../fixtures/rpc/store.js'
import { openDispatch } from '../fixtures/rpc/vectors.js'

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
const anyBlocks: fc.Arbitrary<Blocks> = fc.array(fc.array(anyTransaction, { maxLength: 8 }), {
  minLength: 1,
  maxLength: 5,
})
const anyAddresses = fc.subarray(KEYS, { maxLength: 4 })

const FIRST_SLOT = 9

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
        for (const [index, block] of blocks.entries()) {
          applyAccounts(indexer, [], FIRST_SLOT + index, undefined, block)
          const seen = blocks.slice(0, index + 1)
          const asked = { firstSlot: FIRST_SLOT, addresses, percentile, lookback }
          feeCount += await compareFees(dispatch, seen, asked)
        }
      } finally {
        close()
      }
    }),
    { numRuns: 100 },
  )
  t.ok(feeCount > 100, `${feeCount} fees`)
})
