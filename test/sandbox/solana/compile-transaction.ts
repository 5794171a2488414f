import { Transaction } from '@solana/web3.js'
import bs58 from 'bs58'
import t from 'tap'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import {
  compileTransaction,
  type Instruction,
  readonly,
  readonlySigner,
  writable,
} from '../../../src/sandbox/solana/compile-transaction.js'
import { key } from '../../fixtures/sandbox/sandbox.js'

const [payer, second] = [key('payer'), key('second')]
const blockhash = Buffer.alloc(32, 5)
const instruction: Instruction = {
  programId: ADDRESSES.token,
  accounts: [
    readonly(key('a').publicKey),
    writable(key('b').publicKey),
    readonlySigner(second.publicKey),
    // Named twice: the account is writable if one of the two is.
    writable(key('a').publicKey),
  ],
  data: Buffer.alloc(200, 1),
}

t.test('web3.js decodes the transaction and verifies both signatures', async t => {
  const transaction = Transaction.from(
    compileTransaction([instruction], [payer, second], blockhash),
  )
  t.ok(transaction.verifySignatures())
  t.equal(transaction.recentBlockhash, bs58.encode(blockhash))
  t.equal(transaction.feePayer?.toBase58(), bs58.encode(payer.publicKey))
  t.strictSame(
    transaction.instructions[0]?.keys.map(({ pubkey, isSigner, isWritable }) => [
      pubkey.toBase58(),
      isSigner,
      isWritable,
    ]),
    [
      [bs58.encode(key('a').publicKey), false, true],
      [bs58.encode(key('b').publicKey), false, true],
      [bs58.encode(second.publicKey), true, false],
      [bs58.encode(key('a').publicKey), false, true],
    ],
  )
  t.equal(transaction.instructions[0]?.data.length, 200)
})

t.test('a signer without a key is an error', async t =>
  t.throws(() => compileTransaction([instruction], [payer], blockhash), /signer .* is missing/),
)
