import t from 'tap'
import { toDataSlice, toEncoding } from '../../src/native/account-view.js'
import { attempt } from '../fixtures/attempt.js'

const SLICE = '-32602 Invalid param: dataSlice must be {offset, length}'

const encodings: [value: unknown, answer: string][] = [
  [undefined, 'base64'],
  [null, 'base64'],
  ['base58', 'base58'],
  ['base64+zstd', 'base64+zstd'],
  ['jsonParsed', 'jsonParsed'],
  ['binary', '-32602 unsupported encoding: binary'],
  [['base64'], '-32602 unsupported encoding: sequence'],
]
for (const [value, answer] of encodings)
  t.test(`encoding ${JSON.stringify(value)}`, async t =>
    t.equal(
      attempt(() => toEncoding(value)),
      answer,
    ),
  )

t.test('a data slice, which jsonParsed ignores', async t => {
  t.equal(toDataSlice(null, 'base64'), undefined)
  t.strictSame(toDataSlice({ offset: 1, length: 2 }, 'base58'), { offset: 1, length: 2 })
  t.equal(toDataSlice({ offset: 1, length: 2 }, 'jsonParsed'), undefined)
  t.equal(
    attempt(() => toDataSlice({ offset: -1, length: 2 }, 'jsonParsed')),
    SLICE,
  )
  t.equal(
    attempt(() => toDataSlice([1, 2], 'base64')),
    SLICE,
  )
})
