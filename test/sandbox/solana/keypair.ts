import { Keypair } from '@solana/web3.js'
import t from 'tap'
import nacl from 'tweetnacl'
import { createKeypair, deriveBytes, deriveKeypair } from '../../../src/sandbox/solana/keypair.js'

t.test('the key pair of a seed agrees with web3.js', async t => {
  const seed = Buffer.alloc(32, 9)
  const { publicKey, secretKey, sign } = createKeypair(seed)
  const other = Keypair.fromSeed(seed)
  t.strictSame(Buffer.from(publicKey), other.publicKey.toBuffer())
  t.equal(Buffer.compare(secretKey, other.secretKey), 0)
  const message = Buffer.from('message')
  t.ok(nacl.sign.detached.verify(message, sign(message), publicKey))
})

t.test('keys differ by name and seed and are deterministic', async t => {
  const of = (seed: string, name: string) =>
    Buffer.from(deriveKeypair(seed, name).publicKey).toString('hex')
  t.equal(of('a', 'b'), of('a', 'b'))
  t.not(of('a', 'b'), of('a', 'c'))
  t.not(of('a', 'b'), of('b', 'b'))
  t.notSame(deriveBytes('ab', 'c'), deriveBytes('a', 'bc'))
})
