import fc from 'fast-check'
import t from 'tap'
import { base64Chars, canonicalBase64Bytes } from '../../src/submission/base64.js'

/** A text is canonical where it is what its own bytes are written as. */
const reference = (text: string): number | undefined => {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes.length : undefined
}

t.test('the one text of some bytes, and no other', t => {
  const digits = 'ABQgwZaz019+/-_= \n=ā'
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 40 }),
      fc.string({ unit: fc.constantFrom(...digits), maxLength: 12 }),
      fc.nat(60),
      fc.nat(3),
      (bytes, more, at, cut) => {
        const text = Buffer.from(bytes).toString('base64')
        const spoiled = text.slice(0, at) + more + text.slice(at + cut)
        return [text, spoiled, more].every(each => canonicalBase64Bytes(each) === reference(each))
      },
    ),
    { numRuns: 5_000 },
  )
  t.end()
})

t.test('lengths', t => {
  for (const byteCount of [0, 1, 2, 3, 4, 65, 66, 1231, 1232, 1233, 4095, 4096, 4097]) {
    const text = Buffer.alloc(byteCount, 7).toString('base64')
    t.equal(base64Chars(byteCount), text.length)
    t.equal(canonicalBase64Bytes(text), byteCount)
  }
  t.end()
})
