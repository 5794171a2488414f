import t from 'tap'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import { createChain, key } from '../../fixtures/sandbox/sandbox.js'
import { compileTransaction } from '../../../src/sandbox/solana/compile-transaction.js'
import { transferLamports } from '../../../src/sandbox/solana/system-instructions.js'
import bs58 from 'bs58'

const SOL = 1_000_000_000n

t.test('a loaded account keeps its rent epoch when a transaction writes it', async t => {
  const { chain, accounts } = createChain()
  const wallet = key('wallet')
  const state = {
    lamports: 5n * SOL,
    owner: ADDRESSES.system,
    executable: false,
    rentEpoch: 361n,
    data: new Uint8Array(0),
  }
  chain.load(wallet.publicKey, state)
  t.strictSame(chain.account(wallet.publicKey), state)
  accounts.length = 0
  const bytes = compileTransaction(
    [transferLamports(wallet.publicKey, key('to').publicKey, SOL)],
    [wallet],
    bs58.decode(chain.tip.blockhash),
  )
  t.ok(chain.send(bytes).landed)
  t.match(accounts[0], { lamports: 4n * SOL - 5_000n, rentEpoch: 361n })
  t.match(accounts[1], { lamports: SOL, rentEpoch: 2n ** 64n - 1n })
})

t.test('a state that the virtual machine refuses is readable', async t => {
  const { chain } = createChain()
  const state = {
    lamports: 2n ** 64n - 1n,
    owner: ADDRESSES.upgradeableLoader,
    executable: true,
    rentEpoch: 3n,
    data: Buffer.from('no program'),
  }
  chain.load(key('program').publicKey, state)
  t.strictSame(chain.account(key('program').publicKey), state)
})

t.test('a loaded built-in program is readable and does not replace the real one', async t => {
  const { chain, accounts } = createChain()
  const state = {
    lamports: 7n,
    owner: ADDRESSES.loader2,
    executable: true,
    rentEpoch: 0n,
    data: Buffer.from('old code'),
  }
  chain.load(ADDRESSES.token, state)
  t.strictSame(chain.account(ADDRESSES.token), state)
  t.match(accounts.at(-1), state)
  const { createSampleAccounts } = await import('../../../src/sandbox/chain/sample-accounts.js')
  t.ok(createSampleAccounts(chain).samples.mint)
})

t.test('a loaded clock is ignored: the chain has its own', async t => {
  const { chain, accounts } = createChain()
  const count = accounts.length
  const data = Buffer.alloc(40, 1)
  const state = { lamports: 1n, owner: ADDRESSES.sysvar, executable: false, rentEpoch: 0n, data }
  chain.load(ADDRESSES.clock, state)
  t.equal(accounts.length, count)
  t.equal(chain.svm.getClock().slot, 1n)
})

t.test('an account without lamports does not exist', async t => {
  const { chain, accounts } = createChain()
  const closed = key('closed').publicKey
  const data = Buffer.from('left')
  const state = { lamports: 0n, owner: ADDRESSES.token, executable: false, rentEpoch: 0n, data }
  chain.load(closed, state)
  t.equal(chain.account(closed), undefined)
  t.match(accounts.at(-1), { lamports: 0n, data })
})
