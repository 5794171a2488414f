import bs58 from 'bs58'
import fc from 'fast-check'
import t from 'tap'
import { isPubkey } from '../../../src/config/validators/pubkey.js'

t.test('a public key decodes to 32 bytes', t => {
  const cases: [text: string, is: boolean][] = [
    ['So11111111111111111111111111111111111111112', true],
    ['1'.repeat(32), true],
    ['1'.repeat(31), false],
    ['1'.repeat(33), false],
    ['', false],
    ['So1111111111111111111111111111111111111111O', false],
    ['So11111111111111111111111111111111111111112 ', false],
    ['é'.repeat(32), false],
    [bs58.encode(new Uint8Array(32).fill(255)), true],
    // The largest key plus one: 33 bytes, also 44 characters.
    ['JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFH', false],
    ['z'.repeat(44), false],
  ]
  for (const [text, is] of cases) t.equal(isPubkey(text), is, text)
  t.end()
})

t.test('the result equals that of bs58', t => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 30, maxLength: 34 }), bytes => {
      const text = bs58.encode(bytes)
      return isPubkey(text) === (bytes.length === 32)
    }),
  )
  t.end()
})
