import { Ajv } from 'ajv'
import bs58 from 'bs58'
import t from 'tap'
import { PUBKEY, SIGNATURE, transactionOf } from '../../../src/shared/describe/schemas.js'

const ajv = new Ajv({ strict: false })

t.test('texts of 32 and 64 bytes match, and those of other lengths do not', async t => {
  for (const fill of [0, 1, 255]) {
    t.ok(ajv.validate(PUBKEY, bs58.encode(new Uint8Array(32).fill(fill))))
    t.ok(ajv.validate(SIGNATURE, bs58.encode(new Uint8Array(64).fill(fill))))
    t.notOk(ajv.validate(SIGNATURE, bs58.encode(new Uint8Array(32).fill(fill))))
  }
  t.notOk(ajv.validate(PUBKEY, '0OIl'.repeat(9)))
})

t.test('a transaction is canonical base64 of at most its bytes', async t => {
  const schema = transactionOf(1_232)
  for (const byteLength of [100, 101, 102, 1_230, 1_231, 1_232])
    t.ok(ajv.validate(schema, Buffer.alloc(byteLength, 1).toString('base64')), `${byteLength}`)
  for (const text of ['', 'A', 'AAA', 'AAAA=', 'A-AA', Buffer.alloc(1_234, 1).toString('base64')])
    t.notOk(ajv.validate(schema, text), text.slice(0, 10))
})
