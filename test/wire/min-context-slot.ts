import t, { type Test } from 'tap'
import { openStore, applyAccounts } from '../fixtures/rpc/store.js'
import { readVectors, VECTOR_SLOT } from '../fixtures/rpc/vectors.js'
import { openWire } from '../fixtures/rpc/wire.js'
import { openSocket } from '../fixtures/server/socket.js'

const KEY = 'HLczw3CjQuc9iCdY34U8iLrXDJardP6cEsD97K2ZDTzZ'
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
/** The newest finalized block; the newest is of `VECTOR_SLOT`. */
const ROOT = 7

/** Own methods that look at the slot, with the parameters before their options. */
const CHECKED: readonly (readonly [method: string, before: string])[] = [
  ['getLatestBlockhash', ''],
  ['getSlot', ''],
  ['getBlockHeight', ''],
  ['getBalance', `"${KEY}",`],
  ['isBlockhashValid', `"${KEY}",`],
]

/** The seven reads of the contract, which ignore it. */
const IGNORING: readonly (readonly [method: string, before: string])[] = [
  ['getAccountInfo', `"${KEY}",`],
  ['getMultipleAccounts', `["${KEY}","${TOKEN}"],`],
  ['getTokenLargestAccounts', `"${KEY}",`],
  ['getTokenAccountBalance', `"${KEY}",`],
  ['getTokenSupply', `"${KEY}",`],
  ['getProgramAccountsV2', `"${TOKEN}",`],
  ['getTokenAccountsByOwnerV2', `"${KEY}",{"programId":"${TOKEN}"},`],
]

/** What a client may write: reached at the newest block, or the type that is refused. */
// prettier-ignore
const VALUES: readonly (readonly [written: string, expected: 'reached' | 'early' | 'late' | RegExp])[] = [
  ['null', 'reached'],
  ['0', 'reached'],
  ['-0', 'reached'],
  ['7', 'reached'],
  ['7.0', 'reached'],
  ['0.7e1', 'reached'],
  ['8', 'early'],
  ['9', 'early'],
  ['10', 'late'],
  ['9007199254740993', 'late'],
  ['18446744073709551615', 'late'],
  ['18446744073709551616', 'late'],
  ['36893488147419103232', /floating point `36893488147419103000\.0`, expected u64/],
  ['1e400', /floating point `inf`, expected u64/],
  ['-1', /integer `-1`, expected u64/],
  ['1.5', /floating point `1\.5`, expected u64/],
  ['"1"', /string \\"1\\", expected u64/],
  ['true', /boolean `true`, expected u64/],
  ['[9]', /sequence, expected u64/],
  ['{"minContextSlot":9}', /map, expected u64/],
  // The last of repeated members counts, as everywhere.
  ['10,"minContextSlot":7', 'reached'],
  ['7,"minContextSlot":10', 'late'],
  ['7,"minContextSlot":"x"', /string \\"x\\", expected u64/],
  [`"${'x'.repeat(20_000)}"`, /string \\"x{128}…\\", expected u64/],
  [`${'['.repeat(20)}${']'.repeat(20)}`, /sequence, expected u64/],
]

const refusal = (slot: number): string =>
  `{"jsonrpc":"2.0","error":{"code":-32016,"message":"Minimum context slot has not been reached","data":{"contextSlot":${slot}}},"id":1}`

const wire = await openWire(t)
const { indexer, reader } = openStore(t)
const vector = readVectors('getBalance').find(({ name }) => name === 'changed-since')
applyAccounts(indexer, vector?.accounts ?? [], VECTOR_SLOT, ROOT)
wire.serve(reader)
const client = await openSocket(wire.port, { path: `/${wire.token}` })
t.teardown(() => client.destroy())

const call = (method: string, before: string, options: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":[${before}{${options}}]}`

/** The one reply to a call, alone and in a batch, over HTTP and a WebSocket, by both ways. */
const askAll = async (t: Test, message: string): Promise<string> => {
  wire.serve(reader)
  const reply = await wire.askText(message)
  t.equal(await wire.askText(`[${message},${message}]`), `[${reply},${reply}]`, 'in a batch')
  client.send(message)
  t.equal(await client.next(), reply, 'over a WebSocket')
  wire.serve(reader, { fastLane: false })
  t.equal(await wire.askText(message), reply, 'without the fast lane')
  return reply
}

for (const [method, before] of CHECKED)
  t.test(`${method} is answered from the minimum slot on`, async t => {
    for (const [written, expected] of VALUES)
      for (const commitment of ['finalized', 'confirmed'] as const) {
        if (expected instanceof RegExp && commitment === 'confirmed') continue
        const options = `"commitment":"${commitment}"`
        const plain = await wire.askText(call(method, before, options))
        t.notMatch(plain, '"error"')
        const message = call(method, before, `${options},"minContextSlot":${written}`)
        const reply = await askAll(t, message)
        const name = `${commitment} ${written.slice(0, 40)}`
        const isEarly = expected === 'early' && commitment === 'finalized'
        if (expected instanceof RegExp) t.match(reply, expected, name)
        else if (expected === 'late' || isEarly)
          t.equal(reply, refusal(commitment === 'finalized' ? ROOT : VECTOR_SLOT), name)
        else t.equal(reply, plain, name)
      }
  })

t.test('the seven reads ignore it, whatever it is', async t => {
  for (const [method, before] of IGNORING) {
    const plain = await wire.askText(call(method, before, ''))
    for (const [written] of VALUES) {
      const reply = await askAll(t, call(method, before, `"minContextSlot":${written}`))
      t.equal(reply, plain, `${method} ${written.slice(0, 40)}`)
    }
  }
})

t.test('a message of 8 MiB is refused without being parsed, again and again', async t => {
  const long = call('getSlot', '', `"minContextSlot":"${'9'.repeat(8 * 1024 ** 2 - 200)}"`)
  const half = long.slice(0, long.length / 2)
  for (let i = 0; i < 3; i++) {
    t.match(
      await wire.askText(long),
      /"code":-32600,"message":"Message holds more than 65536 bytes/,
    )
    t.match(await wire.askText(half), /"code":-32700,"message":"Parse error"/)
  }
})

t.test('before the first block there is no slot to compare with', async t => {
  wire.serve(openStore(t).reader)
  for (const [method, before] of CHECKED)
    t.match(await wire.askText(call(method, before, '"minContextSlot":1')), /has no block yet/)
})
