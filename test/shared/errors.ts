import t from 'tap'
import { ERRORS, RpcError, type ErrorName, type Row } from '../../src/shared/errors.js'

t.test('an error has its row and its filled message', t => {
  const error = new RpcError('bodyTooLarge', { max: 8 })
  t.ok(error instanceof Error)
  t.equal(error.name, 'bodyTooLarge')
  t.equal(error.message, 'Body exceeds 8 bytes')
  t.equal(error.row, ERRORS.bodyTooLarge)
  t.equal(new RpcError('readBudget', undefined, { scanned: 3 }).message, ERRORS.readBudget.message)
  t.strictSame(new RpcError('readBudget', undefined, { scanned: 3 }).data, { scanned: 3 })
  t.end()
})

t.test('values are inserted literally', t => {
  for (const value of ['{value}', '$&', '$1', '', '{index}'])
    t.equal(
      new RpcError('pubkeyDecode', { value }).message,
      `Invalid param: could not decode pubkey ${value}`,
    )
  t.equal(
    new RpcError('wrongType', { index: 1, type: 'integer `5`', expected: 'a string' }).message,
    'Invalid param at index 1: invalid type: integer `5`, expected a string',
  )
  t.end()
})

t.test('every row is a JSON-RPC error or an HTTP failure, with a text and an origin', t => {
  const rows: readonly [string, Row][] = Object.entries(ERRORS)
  for (const [name, { code, status, message, origin }] of rows) {
    t.ok((code === undefined) !== (status === undefined), `${name}: a code or a status`)
    if (code !== undefined) t.ok(code <= -32_000 && code >= -32_800, `${name}: ${code}`)
    if (status !== undefined) t.ok(status >= 400 && status < 600, `${name}: ${status}`)
    t.ok(message !== '' && origin !== '', name)
  }
  t.end()
})

t.test('the table has every error message of the reads', t => {
  const texts: [name: ErrorName, code: number, message: string][] = [
    ['pubkeyDecode', -32602, 'Invalid param: could not decode pubkey {value}'],
    ['pubkeySize', -32602, 'Invalid param: WrongSize'],
    ['limitNumber', -32602, 'Invalid param: limit must be a number'],
    ['filterShape', -32602, 'Invalid param: filter must be dataSize or memcmp'],
    ['memcmpBytes', -32602, 'Invalid param: memcmp bytes ({encoding})'],
    ['unsupportedEncoding', -32602, 'unsupported encoding: {value}'],
    ['missingParam', -32602, 'Missing param at index {index}'],
    [
      'filterKeys',
      -32602,
      'Invalid param at index 1: invalid value: map, expected map with a single key',
    ],
    [
      'tokenProgramId',
      -32602,
      'Error getting token program id and mint: Invalid param: unrecognized Token program id',
    ],
    ['notTokenAccount', -32602, 'Invalid param: not a Token account'],
    ['accountMissing', -32602, 'Invalid param: could not find account'],
    ['notTokenMint', -32602, 'Invalid param: not a Token mint'],
    ['readBudget', -32003, 'Query exceeded the read budget; narrow the filters or use pagination'],
  ]
  for (const [name, code, message] of texts) {
    const row: Row = ERRORS[name]
    t.equal(row.code, code, name)
    t.equal(row.message, message, name)
  }
  t.end()
})

t.test('an error of a reply has no stack, and faults keep theirs', t => {
  t.notMatch(new RpcError('overloaded').stack, /\n\s+at /)
  t.match(new Error('a fault').stack, /\n\s+at /)
  t.end()
})
