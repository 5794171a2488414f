import t from 'tap'
import { isAbsent, isCount, isMap, toCount, toMap, toText } from '../../src/shared/values.js'
import { attempt } from '../fixtures/attempt.js'

const counts: [json: string, count: number | undefined][] = [
  ['0', 0],
  ['-0', -0],
  ['1', 1],
  ['1.0', 1],
  ['1e3', 1_000],
  ['9007199254740991', 9_007_199_254_740_991],
  ['9007199254740993', 9_007_199_254_740_991],
  ['18446744073709551615', 9_007_199_254_740_991],
  ['18446744073709555000', undefined],
  ['-1', undefined],
  ['0.5', undefined],
  ['1e400', undefined],
  ['"1"', undefined],
  ['true', undefined],
  ['null', undefined],
  ['[1]', undefined],
]
for (const [json, count] of counts)
  t.test(`count ${json}`, async t => {
    const value: unknown = JSON.parse(json)
    t.equal(isCount(value) ? toCount(value) : undefined, count)
  })

t.test('isAbsent, toMap and toText check types', async t => {
  const values: unknown[] = [undefined, null, false, 0, '', [], {}]
  t.strictSame(values.map(isAbsent), [true, true, false, false, false, false, false])
  t.strictSame(values.map(isMap), [false, false, false, false, false, false, true])
  t.equal(
    attempt(() => toText('a', 3)),
    'a',
  )
  t.equal(
    attempt(() => toText(null, 3)),
    '-32602 Invalid param at index 3: invalid type: null, expected a string',
  )
  t.strictSame(
    attempt(() => toMap({ a: 1 }, 3)),
    { a: 1 },
  )
  t.equal(
    attempt(() => toMap('a', 3)),
    '-32602 Invalid param at index 3: invalid type: string "a", expected a map',
  )
})
