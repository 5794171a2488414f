import t from 'tap'
import { encodeResult } from '../../src/rpc/outcome.js'

t.test('a reply uses the scratch buffer only where it fits', async t => {
  const scratch = Buffer.alloc(64)
  const isInScratch = (reply: Uint8Array): boolean =>
    reply.buffer === scratch.buffer && reply.byteOffset === scratch.byteOffset
  // 26 bytes before, `,"id":7}` after, counted as three bytes for each character.
  const fits = encodeResult('7', Buffer.from('x'.repeat(14)), scratch)
  t.equal(fits.toString(), `{"jsonrpc":"2.0","result":${'x'.repeat(14)},"id":7}`)
  t.ok(isInScratch(fits))
  const tooLong = encodeResult('7', Buffer.from('x'.repeat(15)), scratch)
  t.equal(tooLong.toString(), `{"jsonrpc":"2.0","result":${'x'.repeat(15)},"id":7}`)
  t.notOk(isInScratch(tooLong))
  t.equal(encodeResult('"é"', Buffer.from('1')).toString(), '{"jsonrpc":"2.0","result":1,"id":"é"}')
})
