import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { defaults } from '../../src/rpc/options.js'
import { METHODS } from '../../src/rpc/registry.js'
import { readBody } from '../fixtures/rpc/fake-reads.js'
import { applyAccounts, openStore, type AccountDump } from '../fixtures/rpc/store.js'
import { openDispatch, readVectors, VECTOR_SLOT } from '../fixtures/rpc/vectors.js'

/** Every account of the vectors that is there to stay, once. */
const accounts = new Map<string, AccountDump>()
for (const method of METHODS.keys())
  for (const vector of readVectors(method))
    for (const { pubkey, account } of vector.accounts)
      if (account.lamports !== 0) accounts.set(pubkey, { pubkey, account })

const POINT_READS = [
  'getAccountInfo',
  'getMultipleAccounts',
  'getTokenAccountBalance',
  'getTokenSupply',
  'getTokenLargestAccounts',
  'getLatestBlockhash',
]
const anyMethod = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...POINT_READS) },
  { weight: 1, arbitrary: fc.constantFrom('getTokenAccountsByOwnerV2', 'nope', '') },
)
const anyKey = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...accounts.keys()) },
  { weight: 1, arbitrary: fc.constantFrom('', 'abc', '0OIl', '1'.repeat(32), '1'.repeat(45), 'é') },
)
const anyId = fc.oneof(
  fc.nat().map(String),
  fc.constantFrom(
    'null',
    '-1',
    '1.0',
    '1e3',
    '-0',
    '01',
    '18446744073709551616',
    '"a"',
    '"\\u0041\\""',
    '"é"',
    '{}',
    'true',
    '',
  ),
  fc.string().map(text => JSON.stringify(text)),
)
const anyCount = fc.constantFrom(
  '0',
  '1',
  '64',
  '165',
  '200',
  '-1',
  '1.5',
  '1e1',
  '18446744073709551615',
  'null',
  '"1"',
)
const anyOption = fc.oneof(
  fc
    .oneof(
      anyCount,
      fc.constantFrom('7', '8', '9', '10', '-0', '9.0', '1e400', '2e63', '[9]', '{}'),
    )
    .map(slot => `"minContextSlot":${slot}`),
  fc
    .oneof(
      anyCount,
      fc.constantFrom('7', '8', '9', '10', '9.0', '9e0', '9007199254740992', '[9]', '{}', 'true'),
    )
    .map(slot => `"changedSinceSlot":${slot}`),
  fc
    .constantFrom('base64', 'base58', 'base64+zstd', 'jsonParsed', 'binary')
    .map(name => `"encoding":"${name}"`),
  fc
    .tuple(anyCount, anyCount)
    .map(([offset, length]) => `"dataSlice":{"offset":${offset},"length":${length}}`),
  fc
    .tuple(anyCount, anyCount)
    .map(([offset, length]) => `"dataSlice": { "length" :${length}, "offset":${offset} }`),
  fc.constantFrom(
    '"commitment":"confirmed"',
    '"commitment":"processed"',
    '"commitment":"finalized"',
    '"commitment":"max"',
    '"commitment":"confirm\\u0065d"',
    '"commitment":"confirmed","commitment":"finalized"',
    '"commitment":5',
    '"commitment":null',
    '"encoding":null',
    '"encoding":"base\\u00364"',
    '"x":{"y":[1,"}"]}',
    '"dataSlice":null',
    '"__proto__":{}',
  ),
)
const anyOptions = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.array(anyOption, { maxLength: 3 }).map(options => `{${options.join(',')}}`),
  },
  { weight: 1, arbitrary: fc.constantFrom('null', '[]', '"confirmed"', '5') },
)
const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 19, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })

/** Parameters that suit the method, unless they are odd. */
const anyParams = fc.record({
  key: anyKey.map(key => JSON.stringify(key)),
  keys: fc.array(anyKey, { maxLength: 5 }).map(keys => JSON.stringify(keys)),
  options: fc.option(anyOptions),
  odd: rarely(fc.constantFrom('[]', 'null', '{}', '5', '[1,2,3]', '[null]', '[{}]')),
})
type Params = typeof anyParams extends fc.Arbitrary<infer T> ? T : never

const paramsOf = (method: string, { key, keys, options, odd }: Params): string => {
  if (odd !== null) return odd
  const first =
    method === 'getLatestBlockhash' ? [] : [method === 'getMultipleAccounts' ? keys : key]
  return `[${[...first, ...(options === null ? [] : [options])].join(',')}]`
}
/**
 * Mostly whole calls in any order of members and any spacing; sometimes one too many, one too few,
 * or cut off.
 */
const anyBody = fc
  .record({
    id: anyId,
    method: anyMethod,
    params: anyParams,
    order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 3 }),
    isWhole: fc.integer({ min: 0, max: 5 }).map(n => n > 0),
    extra: rarely(fc.constantFrom('"id":7', '"method":"getTokenSupply"', '"x":1', '"params":[]')),
    space: fc.constantFrom('', '', ' ', '\n', '\t'),
    cut: rarely(fc.nat(40)),
  })
  .map(({ id, method, params, order, isWhole, extra, space, cut }) => {
    const members = [
      '"jsonrpc":"2.0"',
      `"id":${id}`,
      `"method":"${method}"`,
      `"params":${paramsOf(method, params)}`,
    ]
    const indexes = isWhole
      ? [...order, ...[0, 1, 2, 3].filter(index => !order.includes(index))]
      : order
    const chosen = indexes.flatMap(index => members[index] ?? [])
    if (extra !== null) chosen.push(extra)
    const text = `${space}{${space}${chosen.join(`${space},${space}`)}${space}}${space}`
    return cut === null ? text : text.slice(0, -cut - 1)
  })

t.test('the fast lane answers the same bytes as the parsed way', async t => {
  const { indexer, reader } = openStore(t)
  applyAccounts(indexer, [...accounts.values()], VECTOR_SLOT)
  // Two blocks after the newest finalized one.
  applyAccounts(indexer, [], VECTOR_SLOT + 1)
  applyAccounts(indexer, [], VECTOR_SLOT + 2, VECTOR_SLOT)
  const reads = reader.reads(defaults)
  const ordinary = openDispatch(reads, { fastLane: false })
  const fast = openDispatch(reads)
  let answeredCount = 0
  await fc.assert(
    fc.asyncProperty(anyBody, async text => {
      const body = Buffer.from(text)
      if (reads.fast(body) !== undefined) answeredCount++
      const replies = []
      for (const dispatch of [fast, ordinary]) {
        const reply = await dispatch.handle(body, { id: 'test' })
        replies.push({ ...reply, body: await readBody(reply.body, 65_536) })
      }
      assert.deepEqual(replies[0], replies[1])
    }),
    { numRuns: 5_000 },
  )
  t.ok(answeredCount > 300, `${answeredCount} were its own`)
})
