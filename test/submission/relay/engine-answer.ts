import fc from 'fast-check'
import t from 'tap'
import { readEngineAnswer } from '../../../src/submission/relay/engine-answer.js'

const read = (text: string, status = 200) =>
  readEngineAnswer({ status, contentType: '', headers: undefined, body: Buffer.from(text) })

/** A word, or anything else that is a text of JSON. */
const text = fc.oneof(
  fc.stringMatching(/^\w{0,90}$/),
  fc.string({ unit: 'grapheme' }),
  fc.stringMatching(/^\w{1000,1030}$/),
)
const result = fc.oneof(text, fc.array(text, { maxLength: 6 }), fc.jsonValue())

t.test('the usual answer is read as any other form of it is', async t => {
  fc.assert(
    fc.property(result, fc.constantFrom(200, 202, 299, 300, 408, 429, 500), (result, status) => {
      const usual = `{"jsonrpc":"2.0","result":${JSON.stringify(result)},"id":1}`
      const same = read(usual, status)
      const other = read(usual.replace('{', '{ '), status)
      t.strictSame({ ...same, engine: null }, { ...other, engine: null }, usual)
      t.equal(same.engine?.status, status)
      t.equal(same.engine?.words, usual.length <= 1_024 ? usual : `${usual.slice(0, 1_024)}…`)
    }),
    { numRuns: 500 },
  )
})

t.test('what is nearly usual', async t => {
  const id = 'ab'.repeat(32)
  const rows: readonly [name: string, text: string, outcome: string, result: string | null][] = [
    ['one text', `{"jsonrpc":"2.0","result":"${id}","id":1}`, 'accepted', `"${id}"`],
    ['a list', `{"jsonrpc":"2.0","result":["${id}","b"],"id":1}`, 'accepted', `["${id}","b"]`],
    ['two results', `{"jsonrpc":"2.0","result":"a","result":"b","id":1}`, 'accepted', '"b"'],
    [
      'an error behind',
      `{"jsonrpc":"2.0","result":"a","error":{"code":1,"message":"m"},"id":1}`,
      'refused',
      null,
    ],
    ['no end', `{"jsonrpc":"2.0","result":"a","id":1`, 'unknown', null],
    ['more behind', `{"jsonrpc":"2.0","result":"a","id":1}}`, 'unknown', null],
    ['a line behind', `{"jsonrpc":"2.0","result":"a","id":1}\n`, 'accepted', '"a"'],
    ['an escape', `{"jsonrpc":"2.0","result":"\\u0061","id":1}`, 'accepted', '"a"'],
    ['no text', `{"jsonrpc":"2.0","result":null,"id":1}`, 'unknown', null],
  ]
  for (const [name, text, outcome, result] of rows) t.match(read(text), { outcome, result }, name)
})
