import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { rawElements } from '../../src/rpc/raw-elements.js'

const cut = (text: string): string[] =>
  rawElements(Buffer.from(text)).map(element => Buffer.from(element).toString())

t.test('elements are the bytes as written', async t => {
  t.strictSame(cut(' [ {"id" : 18446744073709551616.0 } , {} ]\n'), [
    '{"id" : 18446744073709551616.0 }',
    '{}',
  ])
  t.strictSame(cut(String.raw`[{"a":"]}\"\\"},{"b":[[{"é":"[{"}]]}]`), [
    String.raw`{"a":"]}\"\\"}`,
    '{"b":[[{"é":"[{"}]]}',
  ])
})

t.test('an element that is no object keeps the places of the others', async t => {
  t.strictSame(cut('[5,{"a":[1,{}]},"{,[",[7, {}],null]'), ['', '{"a":[1,{}]}', '', '[7, {}]', ''])
})

t.test('any array with any white space', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue()), {
        minLength: 1,
      }),
      fc.constantFrom(0, 1, '\t', '\n'),
      (values, space) => {
        const elements = cut(JSON.stringify(values, undefined, space))
        assert.deepEqual(
          elements.map(element => (element === '' ? '' : (JSON.parse(element) as unknown))),
          (JSON.parse(JSON.stringify(values)) as unknown[]).map(value =>
            typeof value === 'object' && value !== null ? value : '',
          ),
        )
      },
    ),
  )
})
