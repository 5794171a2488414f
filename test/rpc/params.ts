import t from 'tap'
import type { Param } from '../../src/rpc/method.js'
import {
  accountOptions,
  ignored,
  pageConfig,
  programConfig,
  pubkey,
  pubkeys,
  tokenOptions,
} from '../../src/rpc/params.js'
import { attempt } from '../fixtures/attempt.js'

const KEY = '11111111111111111111111111111112'
const KEY_BYTES = Uint8Array.from([...new Array<number>(31).fill(0), 1])
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const TOKEN_BYTES = Buffer.from(
  '06ddf6e1d765a193d9cbe146ceeb79ac1cb485ed5f5b37913a8cf5857eff00a9',
  'hex',
)

const VIEW = { encoding: 'base64', dataSlice: undefined }
const BASE = { ...VIEW, changedSinceSlot: undefined }
const PAGE = { ...VIEW, limit: 1_000, after: undefined }
const PROGRAM = { ...PAGE, filters: [], changedSinceSlot: undefined }

const wrong = (index: number, type: string, expected: string) =>
  `-32602 Invalid param at index ${index}: invalid type: ${type}, expected ${expected}`
const SLICE = '-32602 Invalid param: dataSlice must be {offset, length}'
const LIMIT = '-32602 Invalid param: limit must be a number'
const SLOT = '-32602 Invalid param: changedSinceSlot must be a number'
const SIZE = '-32602 Invalid param: WrongSize'
const FILTER = '-32602 Invalid param: filter must be dataSize or memcmp'
const undecoded = (value: string) => `-32602 Invalid param: could not decode pubkey ${value}`
const encoding = (value: string) => `-32602 unsupported encoding: ${value}`

const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return [...value]
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

/** `json` is the parameter as written in a request; empty where it is absent. */
const cases: [param: Param<unknown>, json: string, index: number, answer: unknown][] = [
  [pubkey, `"${KEY}"`, 0, KEY_BYTES],
  [pubkey, `"${TOKEN}"`, 0, TOKEN_BYTES],
  [pubkey, '', 0, '-32602 Missing param at index 0'],
  [pubkey, 'null', 0, wrong(0, 'null', 'a string')],
  [pubkey, '5', 0, wrong(0, 'integer `5`', 'a string')],
  [pubkey, '1.5', 1, wrong(1, 'floating point `1.5`', 'a string')],
  [pubkey, 'true', 0, wrong(0, 'boolean `true`', 'a string')],
  [pubkey, '{}', 0, wrong(0, 'map', 'a string')],
  [pubkey, '[]', 0, wrong(0, 'sequence', 'a string')],
  [pubkey, '""', 0, SIZE],
  [pubkey, '"abc"', 0, SIZE],
  [pubkey, `"1${KEY}"`, 0, SIZE],
  [pubkey, `"${KEY.slice(1)}"`, 0, SIZE],
  [pubkey, '"0OIl"', 0, undecoded('0OIl')],
  [pubkey, `"${'0'.repeat(44)}"`, 0, undecoded('0'.repeat(44))],
  [pubkey, `"${'0'.repeat(45)}"`, 0, SIZE],
  [pubkey, `" ${KEY}"`, 0, undecoded(` ${KEY}`)],
  [pubkey, '"é"', 0, undecoded('é')],
  [pubkey, `"${'z'.repeat(44)}"`, 0, SIZE],

  [pubkeys, `["${KEY}","${TOKEN}","${KEY}"]`, 0, [...KEY_BYTES, ...TOKEN_BYTES, ...KEY_BYTES]],
  [pubkeys, '[]', 0, []],
  [pubkeys, '', 0, '-32602 Missing param at index 0'],
  [pubkeys, 'null', 0, wrong(0, 'null', 'a sequence')],
  [pubkeys, '"x"', 0, wrong(0, 'string "x"', 'a sequence')],
  [pubkeys, '{}', 0, wrong(0, 'map', 'a sequence')],
  [pubkeys, `["${KEY}","bad"]`, 0, SIZE],
  [pubkeys, `["0","bad"]`, 0, undecoded('0')],
  [pubkeys, `["bad",null]`, 0, wrong(0, 'null', 'a string')],
  [pubkeys, `[["${KEY}"]]`, 0, wrong(0, 'sequence', 'a string')],

  [ignored, '', 1, undefined],
  [ignored, 'null', 1, undefined],
  [ignored, '{}', 1, undefined],
  [ignored, '{"commitment":5,"minContextSlot":"x","encoding":"hex"}', 1, undefined],
  [ignored, '"confirmed"', 1, wrong(1, 'string "confirmed"', 'a map')],
  [ignored, '1', 0, wrong(0, 'integer `1`', 'a map')],
  [ignored, '[]', 1, wrong(1, 'sequence', 'a map')],

  [accountOptions, '', 1, BASE],
  [accountOptions, 'null', 1, BASE],
  [accountOptions, '{}', 1, BASE],
  [accountOptions, '"base64"', 1, wrong(1, 'string "base64"', 'a map')],
  [accountOptions, '[]', 1, wrong(1, 'sequence', 'a map')],
  [
    accountOptions,
    '{"encoding":null,"dataSlice":null,"commitment":null,"minContextSlot":null}',
    1,
    BASE,
  ],
  [
    accountOptions,
    '{"commitment":"never","minContextSlot":-1,"x":1,"__proto__":{"encoding":"base58"}}',
    1,
    BASE,
  ],
  [accountOptions, '{"encoding":"base64"}', 1, BASE],
  [accountOptions, '{"changedSinceSlot":null}', 1, BASE],
  [accountOptions, '{"changedSinceSlot":0}', 1, { ...BASE, changedSinceSlot: 0 }],
  [
    accountOptions,
    '{"changedSinceSlot":18446744073709551615}',
    1,
    { ...BASE, changedSinceSlot: 9007199254740991 },
  ],
  [accountOptions, '{"changedSinceSlot":-1}', 1, SLOT],
  [accountOptions, '{"changedSinceSlot":"1"}', 1, SLOT],
  [accountOptions, '{"changedSinceSlot":1.5}', 1, SLOT],
  [accountOptions, '{"changedSinceSlot":true}', 1, SLOT],
  [tokenOptions, '', 1, undefined],
  [tokenOptions, '{"changedSinceSlot":null,"commitment":5,"encoding":"hex"}', 1, undefined],
  [tokenOptions, '{"changedSinceSlot":7}', 1, 7],
  [tokenOptions, '{"changedSinceSlot":[]}', 1, SLOT],
  [tokenOptions, '[]', 1, wrong(1, 'sequence', 'a map')],
  [accountOptions, '{"encoding":"base58"}', 1, { ...BASE, encoding: 'base58' }],
  [accountOptions, '{"encoding":"base64+zstd"}', 1, { ...BASE, encoding: 'base64+zstd' }],
  [accountOptions, '{"encoding":"jsonParsed"}', 1, { ...BASE, encoding: 'jsonParsed' }],
  [accountOptions, '{"encoding":"binary"}', 1, encoding('binary')],
  [accountOptions, '{"encoding":"hex"}', 1, encoding('hex')],
  [accountOptions, '{"encoding":"Base64"}', 1, encoding('Base64')],
  [accountOptions, '{"encoding":""}', 1, encoding('')],
  [accountOptions, '{"encoding":"toString"}', 1, encoding('toString')],
  [accountOptions, '{"encoding":"__proto__"}', 1, encoding('__proto__')],
  [accountOptions, '{"encoding":5}', 1, encoding('5')],
  [accountOptions, '{"encoding":false}', 1, encoding('false')],
  [accountOptions, '{"encoding":{}}', 1, encoding('map')],
  [accountOptions, '{"encoding":["base64"]}', 1, encoding('sequence')],
  [accountOptions, `{"encoding":"${'x'.repeat(200)}"}`, 1, encoding(`${'x'.repeat(128)}…`)],

  [
    accountOptions,
    '{"dataSlice":{"offset":0,"length":0}}',
    1,
    { ...BASE, dataSlice: { offset: 0, length: 0 } },
  ],
  [
    accountOptions,
    '{"dataSlice":{"offset":1,"length":2,"x":3}}',
    1,
    { ...BASE, dataSlice: { offset: 1, length: 2 } },
  ],
  [
    accountOptions,
    '{"dataSlice":{"offset":1.0,"length":2e1}}',
    1,
    { ...BASE, dataSlice: { offset: 1, length: 20 } },
  ],
  [
    accountOptions,
    '{"dataSlice":{"offset":18446744073709551615,"length":9007199254740993}}',
    1,
    { ...BASE, dataSlice: { offset: 9007199254740991, length: 9007199254740991 } },
  ],
  [accountOptions, '{"dataSlice":{"offset":36893488147419103232,"length":1}}', 1, SLICE],
  [accountOptions, '{"dataSlice":{"offset":1e400,"length":1}}', 1, SLICE],
  [accountOptions, '{"dataSlice":{"offset":-1,"length":2}}', 1, SLICE],
  [accountOptions, '{"dataSlice":{"offset":1,"length":-2}}', 1, SLICE],
  [accountOptions, '{"dataSlice":{"offset":0.5,"length":2}}', 1, SLICE],
  [accountOptions, '{"dataSlice":{"offset":"1","length":2}}', 1, SLICE],
  [accountOptions, '{"dataSlice":{"offset":1}}', 1, SLICE],
  [accountOptions, '{"dataSlice":{"length":1}}', 1, SLICE],
  [accountOptions, '{"dataSlice":{"offset":null,"length":1}}', 1, SLICE],
  [accountOptions, '{"dataSlice":{}}', 1, SLICE],
  [accountOptions, '{"dataSlice":[0,1]}', 1, SLICE],
  [accountOptions, '{"dataSlice":5}', 1, SLICE],
  [
    accountOptions,
    '{"encoding":"jsonParsed","dataSlice":{"offset":0,"length":1}}',
    1,
    { ...BASE, encoding: 'jsonParsed' },
  ],
  [accountOptions, '{"encoding":"jsonParsed","dataSlice":{}}', 1, SLICE],
  [accountOptions, '{"encoding":"hex","dataSlice":{}}', 1, encoding('hex')],

  [pageConfig, '', 2, PAGE],
  [pageConfig, 'null', 2, PAGE],
  [pageConfig, '{"limit":null,"paginationKey":null,"encoding":null,"dataSlice":null}', 2, PAGE],
  [
    pageConfig,
    '{"filters":5,"changedSinceSlot":"x","sortResults":true,"withContext":true}',
    2,
    PAGE,
  ],
  [pageConfig, '7', 2, wrong(2, 'integer `7`', 'a map')],
  [pageConfig, '{"limit":1}', 2, { ...PAGE, limit: 1 }],
  [pageConfig, '{"limit":0}', 2, { ...PAGE, limit: 1 }],
  [pageConfig, '{"limit":-0}', 2, { ...PAGE, limit: 1 }],
  [pageConfig, '{"limit":-5}', 2, { ...PAGE, limit: 1 }],
  [pageConfig, '{"limit":2.0}', 2, { ...PAGE, limit: 2 }],
  [pageConfig, '{"limit":9999}', 2, { ...PAGE, limit: 9_999 }],
  [pageConfig, '{"limit":10000}', 2, { ...PAGE, limit: 10_000 }],
  [pageConfig, '{"limit":10001}', 2, { ...PAGE, limit: 10_000 }],
  [pageConfig, '{"limit":1e300}', 2, { ...PAGE, limit: 10_000 }],
  [pageConfig, '{"limit":-1e300}', 2, { ...PAGE, limit: 1 }],
  [pageConfig, '{"limit":1e400}', 2, LIMIT],
  [pageConfig, '{"limit":"10"}', 2, LIMIT],
  [pageConfig, '{"limit":1.5}', 2, LIMIT],
  [pageConfig, '{"limit":true}', 2, LIMIT],
  [pageConfig, '{"limit":[10]}', 2, LIMIT],
  [pageConfig, `{"paginationKey":"${KEY}"}`, 2, { ...PAGE, after: KEY_BYTES }],
  [pageConfig, '{"paginationKey":""}', 2, SIZE],
  [pageConfig, '{"paginationKey":"abc"}', 2, SIZE],
  [pageConfig, '{"paginationKey":"0"}', 2, undecoded('0')],
  [pageConfig, '{"paginationKey":5}', 2, wrong(2, 'integer `5`', 'a string')],
  [pageConfig, '{"encoding":"binary","limit":"x"}', 2, encoding('binary')],

  [programConfig, '', 1, PROGRAM],
  [programConfig, '{"filters":null,"changedSinceSlot":null}', 1, PROGRAM],
  [programConfig, '{"filters":[]}', 1, PROGRAM],
  [
    programConfig,
    '{"filters":[{"dataSize":165}],"limit":3,"encoding":"base58"}',
    1,
    { ...PROGRAM, encoding: 'base58', limit: 3, filters: [{ dataSize: 165 }] },
  ],
  [programConfig, '{"filters":{"dataSize":165}}', 1, FILTER],
  [programConfig, '{"changedSinceSlot":0}', 1, { ...PROGRAM, changedSinceSlot: 0 }],
  [programConfig, '{"changedSinceSlot":123}', 1, { ...PROGRAM, changedSinceSlot: 123 }],
  [
    programConfig,
    '{"changedSinceSlot":18446744073709551615}',
    1,
    { ...PROGRAM, changedSinceSlot: 9007199254740991 },
  ],
  [programConfig, '{"changedSinceSlot":-1}', 1, SLOT],
  [programConfig, '{"changedSinceSlot":1.5}', 1, SLOT],
  [programConfig, '{"changedSinceSlot":"1"}', 1, SLOT],
  [programConfig, '{"changedSinceSlot":1e400}', 1, SLOT],
]
for (const [param, json, index, answer] of cases)
  t.test(`${param.name} ${json}`, async t => {
    const value: unknown = json === '' ? undefined : JSON.parse(json)
    t.strictSame(plain(attempt(() => param.check(value, index))), plain(answer))
  })
