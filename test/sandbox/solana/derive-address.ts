import { PublicKey } from '@solana/web3.js'
import fc from 'fast-check'
import t from 'tap'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import {
  deriveAddress,
  deriveTokenAccount,
  isOnCurve,
} from '../../../src/sandbox/solana/derive-address.js'
import { key } from '../../fixtures/sandbox/sandbox.js'

t.test('points on and off the curve agree with web3.js', async t => {
  const checked = fc.property(
    fc.uint8Array({ minLength: 32, maxLength: 32 }),
    bytes => isOnCurve(bytes) === PublicKey.isOnCurve(bytes),
  )
  fc.assert(checked, { numRuns: 300 })
  t.ok(isOnCurve(key('any').publicKey))
  t.equal(isOnCurve(Buffer.alloc(32)), PublicKey.isOnCurve(Buffer.alloc(32)))
})

t.test('derived addresses agree with web3.js', async t => {
  const program = new PublicKey(ADDRESSES.associatedToken)
  for (let index = 0; index < 20; index++) {
    const wallet = key(`wallet ${index}`).publicKey
    const seeds = [wallet, ADDRESSES.token, ADDRESSES.nativeMint]
    const [expected] = PublicKey.findProgramAddressSync(seeds, program)
    t.strictSame(Buffer.from(deriveAddress(seeds, ADDRESSES.associatedToken)), expected.toBuffer())
    t.strictSame(
      Buffer.from(deriveTokenAccount(wallet, ADDRESSES.nativeMint, ADDRESSES.token)),
      expected.toBuffer(),
    )
  }
})
