import t from 'tap'
import { method, optional, required } from '../../src/rpc/method.js'
import { attempt } from '../fixtures/attempt.js'
import { fakeReads } from '../fixtures/rpc/fake-reads.js'

const seen: unknown[] = []
const tested = method({
  name: 'tested',
  summary: '',
  bound: 'none',
  params: [
    required('first', value => value),
    required('second', value => value),
    optional('third', members => members['x']),
  ],
  run: (_, ...params) => {
    seen.push(params)
    return Buffer.from('ok')
  },
})

const cases: [params: unknown[], outcome: unknown][] = [
  [
    [1, 2],
    [1, 2, undefined],
  ],
  [
    [1, 2, null],
    [1, 2, undefined],
  ],
  [
    [null, null, { x: 3 }],
    [null, null, 3],
  ],
  [[], '-32602 Missing param at index 0'],
  [[1], '-32602 Missing param at index 1'],
  [[1, 2, 3], '-32602 Invalid param at index 2: invalid type: integer `3`, expected a map'],
  [[1, 2, {}, null], '-32602 Invalid parameters: Expected from 2 to 3 parameters.'],
]
for (const [params, outcome] of cases)
  t.test(JSON.stringify(params), async t => {
    const answer = attempt(() => {
      void tested.call(fakeReads({}), params)
      return seen.pop()
    })
    t.strictSame(answer, outcome)
  })
