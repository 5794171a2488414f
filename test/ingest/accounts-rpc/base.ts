import t, { type Test } from 'tap'
import { readBase } from '../../../src/ingest/accounts-rpc/base.js'
import { Rpc, parseRetryAfter } from '../../../src/ingest/accounts-rpc/client.js'
import { defaults } from '../../../src/ingest/accounts-rpc/options.js'
import { type ProviderFault, openProvider } from '../../fixtures/ingest/rpc-provider.js'

const HASH = 'So11111111111111111111111111111111111111112'
const block = { parentSlot: 8, blockhash: HASH, blockHeight: 7, blockTime: 1_700_000_000 }
const result = (value: unknown): ProviderFault => ({
  body: JSON.stringify({ id: 1, result: value }),
})
const error = (code: number): ProviderFault => ({ error: { code, message: 'Slot 9 was skipped' } })

/** Returns one fault after the other, then repeats the last one. */
const open = async (t: Test, faults: readonly ProviderFault[]) => {
  const provider = await openProvider(t, {
    accounts: [],
    slot: 0,
    fault: () => faults[Math.min(provider.received.length, faults.length) - 1],
  })
  const { signal } = new AbortController()
  const options = { ...defaults, requestsPerSecondMax: 1_000_000 }
  const rpc = new Rpc({ endpoint: provider.url }, options, { signal, sleep: async () => undefined })
  t.teardown(() => rpc.close())
  return { provider, read: () => readBase(rpc, { newestSlot: 9, oldestSlot: 7 }) }
}

t.test('the base is the newest available block', async t => {
  const { read } = await open(t, [result(block)])
  t.match(await read(), { slot: 9, parentSlot: 8, blockHeight: 7, blockTime: 1_700_000_000 })
  const skipped = await open(t, [
    error(-32007),
    error(-32009),
    result({ ...block, blockTime: null }),
  ])
  t.match(await skipped.read(), { slot: 7, blockTime: undefined })
})

t.test('a block that is not available yet is awaited', async t => {
  const { provider, read } = await open(t, [error(-32004), error(-32004), result(block)])
  t.match(await read(), { slot: 9 })
  t.equal(provider.received.length, 3)
})

const REFUSED: readonly [name: string, faults: readonly ProviderFault[], message: RegExp][] = [
  ['no block in any of the slots', [error(-32007)], /no block in the slots 7 to 9/],
  ['a block without its height', [result({ ...block, blockHeight: null })], /answers no block/],
  ['an address that is none', [result({ ...block, blockhash: 'x' })], /./],
  ['no block', [result(null)], /answers no block/],
  ['another method', [error(-32601)], /-32601/],
]
for (const [name, faults, message] of REFUSED)
  t.test(`no base: ${name}`, async t => {
    const { read } = await open(t, faults)
    await t.rejects(read(), { message })
  })

t.test('Retry-After is seconds or a date', t => {
  const date = 'Sun, 22 Nov 2026 00:00:10 GMT'
  t.equal(parseRetryAfter('7', 0), 7_000)
  t.equal(parseRetryAfter(date, Date.parse(date) - 2_000), 2_000)
  t.equal(parseRetryAfter(date, Date.parse(date) + 2_000), 0)
  for (const none of [undefined, '', 'soon', '-1', ['1']])
    t.equal(parseRetryAfter(none, 0), undefined)
  t.end()
})
