import bs58 from 'bs58'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import t from 'tap'
import { toFilters } from '../../src/native/filters.js'
import { attempt } from '../fixtures/attempt.js'

const SHAPE = '-32602 Invalid param: filter must be dataSize or memcmp'
const LARGE = '-32602 Invalid param: DataTooLarge'
const badBytes = (encoding: string) => `-32602 Invalid param: memcmp bytes (${encoding})`

const memcmp = (members: string) => `[{"memcmp":{${members}}}]`
const compared = (offset: number, ...bytes: number[]) => [{ offset, bytes }]
const zeros = (count: number) => new Array<number>(count).fill(0)

const lists: [json: string, filters: unknown][] = [
  ['null', []],
  ['[]', []],
  ['{}', SHAPE],
  ['"dataSize"', SHAPE],
  ['5', SHAPE],
  ['[{"dataSize":0}]', [{ dataSize: 0 }]],
  ['[{"dataSize":165},{"dataSize":82}]', [{ dataSize: 165 }, { dataSize: 82 }]],
  ['[{"dataSize":18446744073709551615}]', [{ dataSize: Number.MAX_SAFE_INTEGER }]],
  ['[{"dataSize":1e30}]', SHAPE],
  ['[{"dataSize":-1}]', SHAPE],
  ['[{"dataSize":1.5}]', SHAPE],
  ['[{"dataSize":"165"}]', SHAPE],
  ['[{"dataSize":null}]', SHAPE],
  ['[{}]', SHAPE],
  ['[null]', SHAPE],
  ['[5]', SHAPE],
  ['["tokenAccountState"]', SHAPE],
  ['[[{"dataSize":1}]]', SHAPE],
  ['[{"foo":1}]', SHAPE],
  ['[{"__proto__":1}]', SHAPE],
  ['[{"dataSize":1,"memcmp":{"offset":0,"bytes":""}}]', SHAPE],
  ['[{"dataSize":1,"memcmp":null}]', SHAPE],
  ['[{"dataSize":1,"foo":1}]', SHAPE],
  ['[{"dataSize":1},{"foo":1}]', SHAPE],

  [memcmp('"offset":0,"bytes":"2"'), compared(0, 1)],
  [memcmp('"offset":7,"bytes":"","encoding":null'), compared(7)],
  [memcmp('"offset":0,"bytes":"11","encoding":"base58"'), compared(0, 0, 0)],
  [memcmp('"offset":0,"bytes":"AAE=","encoding":"base64"'), compared(0, 0, 1)],
  [memcmp('"offset":0,"bytes":"AAE=","encoding":"base64","x":1'), compared(0, 0, 1)],
  [memcmp('"offset":0,"bytes":"2","encoding":"bytes"'), compared(0, 1)],
  [memcmp('"offset":3,"bytes":[0,255]'), compared(3, 0, 255)],
  [memcmp('"offset":3,"bytes":[0,255],"encoding":"base64"'), compared(3, 0, 255)],
  [memcmp('"offset":18446744073709551615,"bytes":"2"'), compared(Number.MAX_SAFE_INTEGER, 1)],
  [memcmp('"bytes":"2"'), SHAPE],
  [memcmp('"offset":null,"bytes":"2"'), SHAPE],
  [memcmp('"offset":-1,"bytes":"2"'), SHAPE],
  [memcmp('"offset":0.5,"bytes":"2"'), SHAPE],
  [memcmp('"offset":"0","bytes":"2"'), SHAPE],
  [memcmp('"offset":0'), SHAPE],
  [memcmp('"offset":0,"bytes":null'), SHAPE],
  [memcmp('"offset":0,"bytes":5'), SHAPE],
  [memcmp('"offset":0,"bytes":[256]'), SHAPE],
  [memcmp('"offset":0,"bytes":["1"]'), SHAPE],
  [memcmp('"offset":0,"bytes":"2","encoding":"hex"'), SHAPE],
  [memcmp('"offset":0,"bytes":"2","encoding":5'), SHAPE],
  ['[{"memcmp":null}]', SHAPE],
  ['[{"memcmp":[0,"2"]}]', SHAPE],
  [memcmp('"offset":0,"bytes":"0O"'), badBytes('base58')],
  [memcmp('"offset":0,"bytes":"A=","encoding":"base64"'), badBytes('base64')],
  [memcmp('"offset":0,"bytes":"AAE","encoding":"base64"'), badBytes('base64')],
  [memcmp('"offset":0,"bytes":"2!==","encoding":"base64"'), badBytes('base64')],
  [memcmp(`"offset":0,"bytes":"${'1'.repeat(128)}"`), compared(0, ...zeros(128))],
  [memcmp(`"offset":0,"bytes":"${'1'.repeat(129)}"`), LARGE],
  [memcmp(`"offset":0,"bytes":"${'0'.repeat(176)}"`), LARGE],
  [
    memcmp(`"offset":0,"bytes":"${Buffer.alloc(128).toString('base64')}","encoding":"base64"`),
    compared(0, ...zeros(128)),
  ],
  [
    memcmp(`"offset":0,"bytes":"${Buffer.alloc(129).toString('base64')}","encoding":"base64"`),
    LARGE,
  ],
  [memcmp(`"offset":0,"bytes":[${zeros(128)}]`), compared(0, ...zeros(128))],
  [memcmp(`"offset":0,"bytes":[${zeros(129)}]`), LARGE],
]
for (const [json, filters] of lists)
  t.test(`filters ${json.slice(0, 80)}`, async t => {
    const answer = attempt(() =>
      toFilters(JSON.parse(json)).map(filter =>
        'bytes' in filter ? { offset: filter.offset, bytes: [...filter.bytes] } : filter,
      ),
    )
    t.strictSame(answer, filters)
  })

t.test('arbitrary bytes decode in either encoding', async () => {
  const anyBytes = fc.uint8Array({ maxLength: 128 })
  fc.assert(
    fc.property(anyBytes, fc.nat(), (bytes, offset) => {
      const base64 = Buffer.from(bytes).toString('base64')
      const filters = toFilters([
        { memcmp: { offset, bytes: bs58.encode(bytes) } },
        { memcmp: { offset, bytes: base64, encoding: 'base64' } },
        { memcmp: { offset, bytes: [...bytes] } },
      ])
      for (const filter of filters)
        assert.deepEqual('bytes' in filter && [filter.offset, ...filter.bytes], [offset, ...bytes])
    }),
  )
})
