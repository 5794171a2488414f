import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import bs58 from 'bs58'
import fc from 'fast-check'
import t from 'tap'
import type { Dispatch } from '../../src/rpc/dispatch.js'
import { defaults } from '../../src/rpc/options.js'
import { parseExact } from '../fixtures/rpc/exact-json.js'
import { applyAccounts, openStoreAt, type AccountDump } from '../fixtures/rpc/store.js'
import { askText, openDispatch } from '../fixtures/rpc/vectors.js'

const digest = (name: string): Buffer => createHash('sha256').update(name).digest()
const KEYS = Array.from({ length: 60 }, (_, index) => bs58.encode(digest(`key ${index}`)))
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'
const PROGRAMS = [TOKEN, TOKEN_2022, bs58.encode(digest('a program'))]
/** Two of each, alike in their first bytes, so that filters often hold. */
const MINTS = [
  digest('mint'),
  Buffer.from([...digest('mint').subarray(0, 9), ...digest('another').subarray(9)]),
]
const WALLETS = [digest('wallet'), digest('other wallet')]
const LENGTHS = [0, 4, 8, 40, 64, 82, 108, 165, 166, 170, 355]

type State = ReadonlyMap<
  string,
  { readonly slot: number; readonly owner: string; readonly data: Buffer }
>
type Step = {
  readonly updates: readonly (readonly [key: string, owner: string, data: Buffer | undefined])[]
}

const anyData = fc
  .record({
    length: fc.constantFrom(...LENGTHS),
    mint: fc.constantFrom(...MINTS),
    wallet: fc.constantFrom(...WALLETS),
    state: fc.constantFrom(0, 1, 1, 2, 3),
    kind: fc.constantFrom(0, 1, 2, 2),
  })
  .map(({ length, mint, wallet, state, kind }) => {
    const data = Buffer.alloc(355)
    data.set(mint)
    data.set(wallet, 32)
    data.set([state], 108)
    data.set([kind], 165)
    return data.subarray(0, length)
  })
/** One account at the end of a block; without data it is deleted. */
const anyUpdate = fc.tuple(
  fc.constantFrom(...KEYS),
  fc.constantFrom(...PROGRAMS),
  fc.option(anyData, { nil: undefined, freq: 5 }),
)
const anyStep: fc.Arbitrary<Step> = fc.record({ updates: fc.array(anyUpdate, { maxLength: 6 }) })
const anyFill: fc.Arbitrary<Step> = fc.record({
  updates: fc.array(anyUpdate, { minLength: 60, maxLength: 150 }),
})

type Filter =
  | { readonly dataSize: number }
  | { readonly offset: number; readonly bytes: Buffer; readonly encoding: 'base58' | 'base64' }
const anyCompared = fc
  .record({
    offset: fc.constantFrom(0, 0, 0, 1, 8, 31, 32, 32, 64, 165, 400, 2 ** 40),
    length: fc.constantFrom(0, 1, 7, 8, 8, 9, 31, 32, 32, 33, 64),
    encoding: fc.constantFrom('base58' as const, 'base64' as const),
    like: fc.oneof(
      { weight: 5, arbitrary: anyData },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 128 }).map(bytes => Buffer.from(bytes)) },
    ),
  })
  .map(({ offset, length, encoding, like }) => ({
    offset,
    encoding,
    bytes: like.subarray(offset, offset + length),
  }))
const anyFilter: fc.Arbitrary<Filter> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...LENGTHS, 9).map(dataSize => ({ dataSize })) },
  { weight: 3, arbitrary: anyCompared },
)

/** The reference for the native filters. */
const matchesFilter = (data: Buffer, filter: Filter): boolean => {
  if ('dataSize' in filter) return data.length === filter.dataSize
  const { offset, bytes } = filter
  return (
    offset + bytes.length <= data.length &&
    data.subarray(offset, offset + bytes.length).equals(bytes)
  )
}

/** The reference for token accounts, for the values of `anyData`. */
const isTokenAccount = (data: Buffer): boolean =>
  data.length >= 165 &&
  data.length !== 355 &&
  (data[108] === 1 || data[108] === 2) &&
  (data.length === 165 || data[165] === 2)

/** A paged question, and which accounts answer it. */
type Query = {
  readonly ask: (paging: object) => string
  readonly fits: (account: { slot: number; owner: string; data: Buffer }) => boolean
}
const call = (method: string, params: unknown[]): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const toJson = (filter: Filter): object => {
  if ('dataSize' in filter) return filter
  const { offset, bytes, encoding } = filter
  return {
    memcmp: {
      offset,
      encoding,
      bytes: encoding === 'base64' ? bytes.toString('base64') : bs58.encode(bytes),
    },
  }
}

const anyProgramQuery: fc.Arbitrary<Query> = fc
  .record({
    program: fc.constantFrom(...PROGRAMS),
    filters: fc.oneof(fc.array(anyFilter, { maxLength: 1 }), fc.array(anyFilter, { maxLength: 3 })),
    since: fc.option(fc.integer({ min: 8, max: 14 }), { nil: undefined, freq: 2 }),
  })
  .map(({ program, filters, since }) => ({
    ask: paging =>
      call('getProgramAccountsV2', [
        program,
        { ...paging, filters: filters.map(toJson), changedSinceSlot: since },
      ]),
    fits: ({ slot, owner, data }) =>
      owner === program &&
      slot > (since ?? -1) &&
      filters.every(filter => matchesFilter(data, filter)),
  }))
const anyOwnerQuery: fc.Arbitrary<Query> = fc
  .record({
    wallet: fc.constantFrom(...WALLETS),
    program: fc.constantFrom(TOKEN, TOKEN_2022),
    mint: fc.option(fc.constantFrom(...MINTS)),
  })
  .map(({ wallet, program, mint }) => ({
    ask: paging =>
      call('getTokenAccountsByOwnerV2', [
        bs58.encode(wallet),
        mint === null ? { programId: program } : { mint: bs58.encode(mint) },
        paging,
      ]),
    fits: ({ owner, data }) =>
      (mint === null ? owner === program : owner !== PROGRAMS[2]) &&
      isTokenAccount(data) &&
      data.subarray(32, 64).equals(wallet) &&
      (mint === null || data.subarray(0, 32).equals(mint)),
  }))
const anyQuery = fc.oneof(
  { weight: 3, arbitrary: anyProgramQuery },
  { weight: 1, arbitrary: anyOwnerQuery },
)

type Page = {
  readonly accounts: readonly {
    readonly pubkey: string
    readonly account: { readonly data: [string, string] }
  }[]
  readonly count: number
  readonly paginationKey: string | null
}
const readPage = async (dispatch: Dispatch, text: string): Promise<Page> => {
  const { result } = parseExact(await askText(dispatch, text)) as { result: Page | { value: Page } }
  return 'value' in result ? result.value : result
}

const compareKeys = (a: string, b: string): number => Buffer.compare(bs58.decode(a), bs58.decode(b))
const IN_ORDER = KEYS.toSorted(compareKeys)
const after = (state: State, step: Step, slot: number): State => {
  const next = new Map(state)
  for (const [key, owner, data] of step.updates)
    if (data === undefined) next.delete(key)
    else next.set(key, { slot, owner, data })
  return next
}
const toDumps = ({ updates }: Step): AccountDump[] => {
  const last = new Map(updates.map(update => [update[0], update]))
  return Array.from(last.values(), ([pubkey, owner, data]) => ({
    pubkey,
    account: {
      lamports: data === undefined ? 0 : 1,
      data: [(data ?? Buffer.alloc(0)).toString('base64'), 'base64'],
      owner,
      executable: false,
      rentEpoch: 0,
    },
  }))
}

const FIRST_SLOT = 9
const dir = t.testdir({ stores: {} })
let storeCount = 0

t.test('pages equal a scan, also while blocks are applied', async t => {
  let rowCount = 0
  let pageCount = 0
  const check = async (
    fill: Step,
    steps: readonly Step[],
    queries: readonly Query[],
    limit: number,
  ): Promise<void> => {
    const path = join(dir, 'stores', String(storeCount++))
    mkdirSync(path)
    const { indexer, reader, close } = openStoreAt(path)
    try {
      const dispatch = openDispatch(reader.reads(defaults))
      let slot = FIRST_SLOT
      let state = after(new Map(), fill, slot)
      applyAccounts(indexer, toDumps(fill), slot)
      const waiting = [...steps]
      for (const { ask, fits } of queries) {
        const untouched = new Set(IN_ORDER.filter(key => matches(state, key, fits)))
        const seen: string[] = []
        for (let paginationKey: string | null = null; ;) {
          const page: Page = await readPage(dispatch, ask({ limit, paginationKey }))
          const from: number = paginationKey === null ? -1 : IN_ORDER.indexOf(paginationKey)
          const rest: readonly string[] = IN_ORDER.slice(from + 1).filter(key =>
            matches(state, key, fits),
          )
          const expected = rest.slice(0, limit)
          assert.deepEqual(
            page.accounts.map(({ pubkey }) => pubkey),
            expected,
          )
          for (const { pubkey, account } of page.accounts)
            assert.equal(account.data[0], state.get(pubkey)?.data.toString('base64'))
          assert.deepEqual(
            [page.count, page.paginationKey],
            [expected.length, expected.length === limit ? (expected.at(-1) ?? null) : null],
          )
          seen.push(...expected)
          pageCount++
          if (page.paginationKey === null) break
          paginationKey = page.paginationKey
          const step = waiting.shift()
          if (step === undefined) continue
          applyAccounts(indexer, toDumps(step), ++slot)
          state = after(state, step, slot)
          for (const [key] of step.updates) untouched.delete(key)
        }
        rowCount += seen.length
        assert.deepEqual(seen, seen.toSorted(compareKeys), 'keys ascend')
        assert.equal(new Set(seen).size, seen.length, 'none twice')
        for (const key of untouched) assert.ok(seen.includes(key), `${key} was missed`)
      }
      assert.deepEqual(indexer.check(), [])
    } finally {
      close()
    }
  }
  await fc.assert(
    fc.asyncProperty(
      anyFill,
      fc.array(anyStep, { maxLength: 12 }),
      fc.array(anyQuery, { minLength: 8, maxLength: 16 }),
      fc.constantFrom(1, 2, 3, 7, 60, 1_000),
      check,
    ),
    { numRuns: 150 },
  )
  t.ok(rowCount > 3_000 && pageCount > 2_000, `${rowCount} rows on ${pageCount} pages`)
})

const matches = (state: State, key: string, fits: Query['fits']): boolean => {
  const account = state.get(key)
  return account !== undefined && fits(account)
}
