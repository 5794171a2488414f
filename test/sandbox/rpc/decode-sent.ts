import assert from 'node:assert/strict'
import bs58 from 'bs58'
import fc from 'fast-check'
import t from 'tap'
import { decodeSent } from '../../../src/sandbox/rpc/decode-sent.js'
import { RpcFailure } from '../../../src/sandbox/rpc/failure.js'

const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 1_300 }),
  fc.integer({ min: 1_230, max: 4_100 }).map(length => new Uint8Array(length).fill(0x81)),
  fc.integer({ min: 1_230, max: 4_100 }).map(length => new Uint8Array(length).fill(1)),
)

t.test('bytes within the bounds of their version come back, and no others', async () => {
  fc.assert(
    fc.property(anyBytes, fc.constantFrom('base64', 'base58'), (bytes, encoding) => {
      const text =
        encoding === 'base64' ? Buffer.from(bytes).toString(encoding) : bs58.encode(bytes)
      const isLong = encoding === 'base64' && (bytes[0] ?? 0) >= 0x81 && bytes.length > 1
      const fits = bytes.length <= (isLong ? 4_096 : 1_232)
      try {
        assert.deepEqual([...decodeSent(text, encoding)], [...bytes])
        assert.ok(fits)
      } catch (error) {
        if (!(error instanceof RpcFailure)) throw error
        assert.equal(error.code, -32602)
        assert.match(error.message, / too large: /)
        assert.ok(!fits)
      }
    }),
  )
})

t.test('whatever else is sent is -32602', async () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), (text, encoding) => {
      try {
        decodeSent(text, encoding)
      } catch (error) {
        assert.ok(error instanceof RpcFailure && error.code === -32602)
      }
    }),
    { examples: [[[], { toString: '' }]] },
  )
})
