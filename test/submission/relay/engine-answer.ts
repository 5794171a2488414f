import t from 'tap'
import { readEngineAnswer } from '../../../src/submission/relay/engine-answer.js'

const read = (text: string, status = 200) =>
  readEngineAnswer({ status, contentType: '', headers: undefined, body: Buffer.from(text) })

t.test('answers are read as the JSON that they are', async t => {
  const id = 'ab'.repeat(32)
  const long = (chars: number) => `{"jsonrpc":"2.0","result":"${'r'.repeat(chars)}","id":1}`
  const rows: [name: string, text: string, outcome: string, result: string | null][] = [
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
  rows.push(
    ['the longest result', long(1_022), 'accepted', `"${'r'.repeat(1_022)}"`],
    ['a longer result', long(1_023), 'unknown', null],
  )
  for (const [name, text, outcome, result] of rows) t.match(read(text), { outcome, result }, name)
})
