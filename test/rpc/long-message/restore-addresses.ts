import t, { type Test } from 'tap'
import bs58 from 'bs58'
import { createHash } from 'node:crypto'
import { PackedAddresses } from '../../../src/native/reads.js'
import { restoreAddresses } from '../../../src/rpc/long-message/restore-addresses.js'
import { defaults } from '../../../src/rpc/options.js'
import { RpcError } from '../../../src/shared/errors.js'
import type { Params } from '../../../src/shared/jsonrpc.js'
import { fakeReads } from '../../fixtures/rpc/fake-reads.js'
import { applyAccounts, openStore } from '../../fixtures/rpc/store.js'
import { askText, openDispatch, VECTOR_SLOT } from '../../fixtures/rpc/vectors.js'

const keyOf = (nth: number): string => bs58.encode(createHash('sha256').update(`${nth}`).digest())
const KEYS = Array.from({ length: 2_000 }, (_, nth) => keyOf(nth))

const callOf = (method: string, params: unknown, id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

/** A dispatcher over a store with one block and no account. */
const openEmpty = (t: Test) => {
  const { indexer, reader } = openStore(t)
  applyAccounts(indexer, [], VECTOR_SLOT)
  return openDispatch(reader.reads({ ...defaults }))
}

t.test('a long list of addresses is answered as a short one', async t => {
  const dispatch = openEmpty(t)
  const ask = (text: string): Promise<string> => askText(dispatch, text)
  t.ok(callOf('getMultipleAccounts', [KEYS]).length > defaults.loopBytesMax)
  const nulls = Array(KEYS.length).fill('null').join(',')
  const body = await ask(callOf('getMultipleAccounts', [KEYS, { encoding: 'base64' }]))
  t.match(body, `"value":[${nulls}]},"id":1}`)
  const spaced = JSON.stringify(JSON.parse(callOf('getMultipleAccounts', [KEYS])), undefined, 2)
  t.equal(await ask(spaced), body, 'however it is written')
  const errors: [name: string, text: string, error: string][] = [
    [
      'an address that is none',
      callOf('getMultipleAccounts', [[...KEYS, '0', '']]),
      '"message":"Invalid param: could not decode pubkey 0"',
    ],
    [
      'an address of another size',
      callOf('getMultipleAccounts', [[...KEYS, '', '0']]),
      '"message":"Invalid param: WrongSize"',
    ],
    [
      'a number between addresses',
      callOf('getMultipleAccounts', [['0', ...KEYS, 5, 'a', {}]]),
      '"message":"Invalid param at index 0: invalid type: integer `5`, expected a string"',
    ],
    [
      'an encoding that is none',
      callOf('getMultipleAccounts', [KEYS, { encoding: 'hex' }]),
      '"message":"unsupported encoding: hex"',
    ],
    [
      'a method that takes no list',
      callOf('getAccountInfo', [KEYS]),
      '"message":"Invalid param at index 0: invalid type: sequence, expected a string"',
    ],
    [
      'long text beside the addresses',
      callOf('getMultipleAccounts', [KEYS, { encoding: 'a'.repeat(65_536) }]),
      '"message":"Message holds more than 65536 bytes beside its addresses"',
    ],
    [
      'many elements beside the addresses',
      callOf('getMultipleAccounts', [KEYS, Array(5_000).fill(0)]),
      '"message":"Message holds more than 4096 elements"',
    ],
    [
      'empty objects as addresses',
      callOf('getMultipleAccounts', [Array(40_000).fill({})]),
      '"message":"Invalid param at index 0: invalid type: map, expected a string"',
    ],
    ['no JSON', `${callOf('getMultipleAccounts', [KEYS])}}`, '"code":-32700'],
    [
      'a list that does not end',
      callOf('getMultipleAccounts', [KEYS]).slice(0, -10),
      '"code":-32700',
    ],
    ['deep arrays', '['.repeat(70_000), '"code":-32700'],
    ['bytes that are no UTF-8', `"${'é'.repeat(40_000)}`, '"code":-32700'],
  ]
  for (const [name, text, error] of errors) t.match(await ask(text), error, name)
})

t.test('what is no call in a long batch is answered in its place', async t => {
  const dispatch = openEmpty(t)
  const good = callOf('getMultipleAccounts', [KEYS.slice(0, 1_000)], 'a')
  const replies: { id: unknown; error?: { code: number }; result?: unknown }[] = JSON.parse(
    await askText(dispatch, `[5,${good},[],${callOf('getVersion', [], 'b')},null]`),
  )
  t.strictSame(
    replies.map(({ id, error }) => [id, error?.code]),
    [
      [null, -32600],
      ['a', undefined],
      [null, -32600],
      ['b', undefined],
      [null, -32600],
    ],
  )
})

t.test('a batch of 8 MiB of what is no call is refused by its count', async t => {
  const dispatch = openEmpty(t)
  for (const element of ['5', '[]', '"id"']) {
    const body = `[${`${element},`.repeat(Math.floor((8 << 20) / (element.length + 1)) - 2)}5]`
    t.equal(
      await askText(dispatch, body),
      '{"jsonrpc":"2.0","error":{"code":-32600,"message":"Batch holds more than 100 calls"},"id":null}',
      element,
    )
  }
})

t.test('a long batch is answered in order, each call with its addresses', async t => {
  const dispatch = openEmpty(t)
  const calls = [
    callOf('getMultipleAccounts', [KEYS.slice(0, 1_000)], 'a'),
    callOf('getSlot', [], 'b'),
    callOf('getMultipleAccounts', [KEYS.slice(0, 999)], 'c'),
    callOf('getMultipleAccounts', [[]], 'd'),
  ]
  const replies: { id: string; result: { value: unknown[] } }[] = JSON.parse(
    await askText(dispatch, `[${calls.join(',')}]`),
  )
  t.strictSame(
    replies.map(({ id, result }) => [id, result.value?.length]),
    [
      ['a', 1_000],
      ['b', undefined],
      ['c', 999],
      ['d', 0],
    ],
  )
  const many = Array(101).fill(calls[0]).join(',')
  t.match(await askText(dispatch, `[${many}]`), '"message":"Batch holds more than 100 calls"')
})

t.test('a long message is charged by its bytes, before it is read', async t => {
  const dispatch = openEmpty(t)
  const charged: number[] = []
  const acquireMore = (requests: number) => {
    charged.push(requests)
    return { status: 429, contentType: 'a/b', body: 'refused' }
  }
  const reply = await dispatch.handle(Buffer.alloc(8 * 1024 ** 2), { id: 'r', acquireMore })
  t.equal(reply.body, 'refused')
  t.strictSame(charged, [127])
})

t.test('a long message is copied only where its memory may be reused', async t => {
  const packed: Uint8Array[] = []
  const reads = fakeReads({
    pack: async body => {
      packed.push(body)
      throw new RpcError('parseError')
    },
  })
  const dispatch = openDispatch(reads)
  const body = Buffer.alloc(100_000, ' ')
  await dispatch.handle(body, { id: 'r', ownsBody: true })
  await dispatch.handle(body, { id: 'r' })
  const [owned, copied] = packed
  t.equal(owned, body)
  t.not(copied, body)
  t.ok(copied !== undefined && body.equals(copied))
})

t.test('only the message bounds the filters of a page', async t => {
  const dispatch = openEmpty(t)
  const page = (count: number): Promise<string> => {
    const filters = Array(count).fill({ dataSize: 1 })
    return askText(dispatch, callOf('getProgramAccountsV2', [KEYS[0], { filters }]))
  }
  t.match(await page(17), '"result"')
  t.match(await page(2_000), '"result"')
  t.match(await page(2_100), '"message":"Message holds more than 4096 elements"')
})

t.test('lists in a filter of transactions are restored, and nothing else', t => {
  const key = new Uint8Array(32).fill(1)
  const restored = (params: Params): unknown => {
    const call = restoreAddresses({ id: '1', method: 'x', params }, [key], new Map())
    return 'params' in call ? call.params : undefined
  }
  const packed = ['#0']
  const cases: [params: Params, at: string][] = [
    [[{ accountInclude: packed, vote: false }, { include: packed }], '0.accountInclude'],
    [{ filter: { accounts: { required: packed }, include: 'x' } }, 'filter.accounts.required'],
  ]
  for (const [params, at] of cases) {
    const found = restored(params)
    const list = at
      .split('.')
      .reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], found)
    t.ok(list instanceof PackedAddresses, at)
    t.strictSame(list instanceof PackedAddresses && list.keys(), key)
  }
  const others: Params[] = [
    [{ other: packed, include: [packed] }, { include: packed }],
    [[{ include: packed }]],
    { include: ['#1'], exclude: ['#x'], required: '#0' },
    ['x', { accountInclude: packed }],
  ]
  for (const params of others) t.strictSame(restored(params), params)
  t.end()
})
