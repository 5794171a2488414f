import assert from 'node:assert/strict'
import { join } from 'node:path'
import bs58 from 'bs58'
import fc from 'fast-check'
import t from 'tap'
import { defaults } from '../../src/rpc/options.js'
import type { Reader } from '../../src/native/reader.js'
import { applyAccounts, openStoreAt, type AccountDump } from '../fixtures/rpc/store.js'
import { askText, openDispatch } from '../fixtures/rpc/vectors.js'

const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const OTHER = bs58.encode(new Uint8Array(32).fill(3))

type Row = {
  readonly key: Buffer
  readonly program: string
  readonly data: Buffer
  readonly slot: number
}
type Filter = { readonly dataSize: number } | { readonly offset: number; readonly bytes: Buffer }

/** The reference for the native filters. */
const matches = (data: Buffer, filter: Filter): boolean =>
  'dataSize' in filter
    ? data.length === filter.dataSize
    : filter.offset <= data.length &&
      data.subarray(filter.offset, filter.offset + filter.bytes.length).equals(filter.bytes)

// Few distinct bytes and sizes, so that filters match some rows and not others, and keys share
// prefixes.
const anyBytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length, max: 1 }).map(bytes => Buffer.from(bytes))
const anyData = fc
  .tuple(fc.constantFrom(0, 7, 8, 9, 33, 64, 82, 165), fc.boolean())
  .chain(([length, isZero]) => (isZero ? fc.constant(Buffer.alloc(length)) : anyBytes(length)))
const anyRow = fc.record({
  // The last byte keeps a key from being an address of zeros only.
  key: anyBytes(32).map(key =>
    Buffer.concat([key.subarray(0, 31), Buffer.from([key[31] === 0 ? 0xfe : 0xff])]),
  ),
  program: fc.constantFrom(TOKEN, OTHER),
  data: anyData,
  slot: fc.integer({ min: 1, max: 5 }),
})
const anyFilter: fc.Arbitrary<Filter> = fc.oneof(
  fc.record({ dataSize: fc.constantFrom(0, 8, 64, 165) }),
  fc
    .tuple(fc.constantFrom(0, 0, 1, 8, 32, 64, 200), fc.constantFrom(0, 1, 2, 8, 32), fc.boolean())
    .chain(([offset, length, isZero]) =>
      fc.record({
        offset: fc.constant(offset),
        bytes: isZero ? fc.constant(Buffer.alloc(length)) : anyBytes(length),
      }),
    ),
)
const anyQuery = fc.record({
  program: fc.constantFrom(TOKEN, OTHER),
  filters: fc.array(anyFilter, { maxLength: 2 }),
  limit: fc.integer({ min: 1, max: 12 }),
  changedSinceSlot: fc.option(fc.nat(6)),
})

type Query = typeof anyQuery extends fc.Arbitrary<infer T> ? T : never

const toDump = ({ key, program, data, slot }: Row): AccountDump => ({
  slot,
  pubkey: bs58.encode(key),
  account: {
    lamports: 1,
    data: [data.toString('base64'), 'base64'],
    owner: program,
    executable: false,
    rentEpoch: 0,
  },
})

const toDeletion = (dump: AccountDump): AccountDump => ({
  ...dump,
  account: { ...dump.account, lamports: 0 },
})

const toWire = (filter: Filter, index: number): unknown => {
  if ('dataSize' in filter) return filter
  const { offset, bytes } = filter
  return index % 2 === 0
    ? { memcmp: { offset, bytes: bs58.encode(bytes) } }
    : { memcmp: { offset, bytes: bytes.toString('base64'), encoding: 'base64' } }
}

type Page = {
  readonly accounts: readonly { readonly pubkey: string }[]
  readonly count: number
  readonly paginationKey: string | null
}

/**
 * Reads pages to the last one, and calls `between` after each. Returns the keys in the order in
 * which they were received.
 */
const readAll = async (
  reader: Reader,
  { program, filters, limit, changedSinceSlot }: Query,
  between: () => void = () => {},
): Promise<Buffer[]> => {
  const dispatch = openDispatch(reader.reads(defaults))
  const keys: string[] = []
  let paginationKey: string | null = null
  do {
    const config = { filters: filters.map(toWire), limit, changedSinceSlot, paginationKey }
    const params = [program, config]
    const call = { jsonrpc: '2.0', id: 1, method: 'getProgramAccountsV2', params }
    const reply = JSON.parse(await askText(dispatch, JSON.stringify(call))) as { result: Page }
    const { accounts, count } = reply.result
    assert.equal(count, accounts.length)
    assert.equal(reply.result.paginationKey !== null, count === limit)
    for (const { pubkey } of accounts) keys.push(pubkey)
    paginationKey = reply.result.paginationKey
    between()
  } while (paginationKey !== null)
  return keys.map(key => Buffer.from(bs58.decode(key)))
}

const byKey = (a: Row, b: Row): number => Buffer.compare(a.key, b.key)
const matching = (rows: readonly Row[], { program, filters, changedSinceSlot }: Query): Row[] =>
  rows
    .filter(row => row.program === program && row.slot > (changedSinceSlot ?? 0))
    .filter(({ data }) => filters.every(filter => matches(data, filter)))
    .sort(byKey)

const anyRows = fc.uniqueArray(anyRow, {
  maxLength: 40,
  size: 'max',
  selector: ({ key }) => key.toString('hex'),
})

t.test('all pages joined are one scan, for any filters and any limit', async t => {
  const dir = t.testdir()
  let storeCount = 0
  let rowCount = 0
  await fc.assert(
    fc.asyncProperty(
      anyRows,
      fc.array(anyQuery, { minLength: 6, maxLength: 6 }),
      async (rows, queries) => {
        const { indexer, reader, close } = openStoreAt(join(dir, String(storeCount++)))
        try {
          applyAccounts(indexer, rows.map(toDump), 5)
          for (const query of queries) {
            const expected = matching(rows, query).map(({ key }) => key)
            assert.deepEqual(await readAll(reader, query), expected)
            rowCount += expected.length
          }
        } finally {
          close()
        }
      },
    ),
    { numRuns: 60 },
  )
  t.ok(rowCount > 200, `${rowCount} rows`)
})

t.test('while blocks are applied, keys ascend and no unchanged account is missed', async t => {
  const dir = t.testdir()
  let storeCount = 0
  await fc.assert(
    fc.asyncProperty(anyRows, anyRows, anyQuery, async (rows, changes, query) => {
      const { indexer, reader, close } = openStoreAt(join(dir, String(storeCount++)))
      try {
        applyAccounts(indexer, rows.map(toDump), 5)
        let slot = 5
        const between = (): void => {
          const change = changes[slot - 5]
          slot++
          // Every other one is a deletion.
          const dump = change === undefined ? [] : [{ ...toDump(change), slot }]
          applyAccounts(indexer, slot % 2 === 0 ? dump : dump.map(toDeletion), slot)
        }
        const keys = await readAll(reader, query, between)
        for (const [index, key] of keys.entries())
          assert.ok(index === 0 || Buffer.compare(keys[index - 1] ?? key, key) < 0)
        const unchanged = rows.filter(({ key }) => !changes.some(change => change.key.equals(key)))
        for (const { key } of matching(unchanged, query))
          assert.ok(keys.some(seen => seen.equals(key)))
        assert.deepEqual(indexer.check(), [])
      } finally {
        close()
      }
    }),
    { numRuns: 60 },
  )
  t.pass()
})
