import {
  AddressLookupTableAccount,
  AddressLookupTableProgram,
  Keypair,
  NONCE_ACCOUNT_LENGTH,
  NonceAccount,
  PublicKey,
  SystemProgram,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js'
import bs58 from 'bs58'
import t from 'tap'
import type { Instruction as OwnInstruction } from '../../../src/sandbox/solana/compile-transaction.js'
import { parseTransaction } from '../../../src/sandbox/solana/parse-transaction.js'
import { transferLamports } from '../../../src/sandbox/solana/system-instructions.js'
import { transferTokens } from '../../../src/sandbox/solana/token-instructions.js'
import { verifySignatures } from '../../../src/sandbox/solana/verify-signatures.js'
import { createSampleAccounts, MINT_DECIMALS } from '../../../src/sandbox/chain/sample-accounts.js'
import { type Budget, BUDGET, compileV1 } from '../../fixtures/sandbox/compile-v1.js'
import { createChain, key } from '../../fixtures/sandbox/sandbox.js'

const SOL = 1_000_000_000n
const pubkeys = (updates: readonly { readonly pubkey: Uint8Array }[]) =>
  updates.map(({ pubkey }) => bs58.encode(pubkey))
const text = (bytes: Uint8Array) => bs58.encode(bytes)

const create = () => {
  const made = createChain()
  const payer = key('payer')
  made.chain.airdrop(payer.publicKey, 100n * SOL)
  made.chain.tick()
  made.accounts.length = 0
  made.transactions.length = 0
  return { ...made, payer }
}

t.test('a version 1 transaction lands', async t => {
  const { chain, payer, accounts, transactions } = create()
  const to = key('to').publicKey
  const bytes = await compileV1(payer, chain.tip.blockhash, [
    transferLamports(payer.publicKey, to, SOL),
    transferLamports(payer.publicKey, to, 2n * SOL),
  ])
  t.equal(bytes[0], 0x81)
  t.match(chain.send(bytes), { landed: true, record: { error: undefined, feeLamports: 5_000n } })
  t.equal(chain.account(to)?.lamports, 3n * SOL)
  t.equal(chain.account(payer.publicKey)?.lamports, 97n * SOL - 5_000n)
  t.strictSame(
    accounts.map(({ pubkey }) => bs58.encode(pubkey)),
    [payer.publicKey, to].map(each => bs58.encode(each)),
  )
  const [record] = transactions
  t.strictSame(record?.signature, bytes.subarray(-64))
  t.equal(record?.logs.length, 4)
  t.equal(record?.innerInstructions.length, 2)
  t.equal(record?.computeUnits, 300n)
  t.match(chain.send(bytes), { landed: false, error: 'AlreadyProcessed' })
})

t.test('errors name instructions of the original', async t => {
  const { chain, payer } = create()
  const to = key('to').publicKey
  const bytes = await compileV1(payer, chain.tip.blockhash, [
    transferLamports(payer.publicKey, to, SOL),
    transferLamports(payer.publicKey, to, 1_000n * SOL),
  ])
  t.match(chain.send(bytes), {
    landed: true,
    record: { error: { InstructionError: [1, { Custom: 1 }] } },
  })
  t.equal(chain.account(payer.publicKey)?.lamports, 100n * SOL - 5_000n)
})

t.test('the compute budget is enforced', async t => {
  const { chain, payer } = create()
  const to = key('to').publicKey
  const cases: [name: string, budget: Budget, found: object][] = [
    ['none', {}, { landed: false }],
    [
      'no units',
      { loadedAccountsDataSizeLimit: 1_000_000 },
      { record: { error: { InstructionError: [0, 'ComputationalBudgetExceeded'] } } },
    ],
    [
      'one unit too few',
      { ...BUDGET, computeUnitLimit: 149 },
      { record: { error: { InstructionError: [0, 'ComputationalBudgetExceeded'] } } },
    ],
    ['just enough units', { ...BUDGET, computeUnitLimit: 150 }, { record: { error: undefined } }],
    [
      'the most units',
      { ...BUDGET, computeUnitLimit: 1_400_000 },
      { record: { error: undefined } },
    ],
    ['a heap', { ...BUDGET, heapSize: 64 * 1024 }, { record: { error: undefined } }],
    ['a fee', { ...BUDGET, priorityFeeLamports: 12_345n }, { record: { error: undefined } }],
  ]
  let amount = SOL
  for (const [name, budget, found] of cases) {
    const before = chain.account(payer.publicKey)?.lamports ?? 0n
    const bytes = await compileV1(
      payer,
      chain.tip.blockhash,
      [transferLamports(payer.publicKey, to, amount++)],
      budget,
    )
    const sent = chain.send(bytes)
    t.match(sent, found, name)
    if (!sent.landed) continue
    const spent = before - (chain.account(payer.publicKey)?.lamports ?? 0n)
    const moved = sent.record.error === undefined ? amount - 1n : 0n
    t.equal(spent - moved, sent.record.feeLamports, `${name}: the fee is what was paid`)
    const expectedLamports = 5_000n + (budget.priorityFeeLamports ?? 0n)
    t.ok(
      sent.record.feeLamports - expectedLamports <= 2n &&
        sent.record.feeLamports >= expectedLamports,
      name,
    )
  }
})

t.test(
  'budget instructions in it mean nothing, and inner instructions keep their position',
  async t => {
    const { chain } = createChain()
    const { holders, mint } = createSampleAccounts(chain)
    chain.tick()
    const [a, b] = holders
    if (a === undefined || b === undefined) throw new Error('there are no holders')
    const budget = {
      programId: bs58.decode('ComputeBudget111111111111111111111111111111'),
      accounts: [],
      // A limit of one compute unit.
      data: Uint8Array.of(2, 1, 0, 0, 0),
    }
    const move = transferTokens(
      { from: a.account, to: b.account, mint, amount: 1n, decimals: MINT_DECIMALS },
      a.wallet.publicKey,
    )
    const bytes = await compileV1(a.wallet, chain.tip.blockhash, [budget, move])
    const sent = chain.send(bytes)
    t.match(sent, { landed: true, record: { error: undefined } })
    if (sent.landed) t.equal(sent.record.innerInstructions.length, 2)
  },
)

t.test('a forged transaction is refused, and the next legacy one is still verified', async t => {
  const { chain, payer } = create()
  const to = key('to').publicKey
  const bytes = await compileV1(payer, chain.tip.blockhash, [
    transferLamports(payer.publicKey, to, SOL),
  ])
  const forged = Buffer.from(bytes)
  forged.writeUInt8((forged.at(-1) ?? 0) ^ 1, forged.length - 1)
  t.match(chain.send(forged), { landed: false, error: 'SignatureFailure' })
  t.notOk(verifySignatures(parseTransaction(forged)))
  t.ok(verifySignatures(parseTransaction(bytes)))
  t.ok(chain.svm.getSigverify())
  t.ok(chain.send(bytes).landed)
  t.ok(chain.svm.getSigverify())
})

t.test('the size limit is 4,096 bytes', async t => {
  const { chain, payer } = create()
  const blob = (byteCount: number): OwnInstruction => ({
    ...transferLamports(payer.publicKey, key('to').publicKey, SOL),
    // Bytes after a transfer are ignored.
    data: Buffer.concat([
      transferLamports(payer.publicKey, payer.publicKey, SOL).data,
      Buffer.alloc(byteCount),
    ]),
  })
  const small = await compileV1(payer, chain.tip.blockhash, [blob(0)])
  const most = await compileV1(payer, chain.tip.blockhash, [blob(4_096 - small.length)])
  t.equal(most.length, 4_096)
  t.match(chain.send(most), { landed: true, record: { error: undefined } })
  t.match(chain.send(Buffer.concat([most, Buffer.of(0)])), {
    landed: false,
    reason: 'transaction exceeds 4096 bytes',
  })
})

/** Transactions of web3.js. */
const web3 = (name: string) => Keypair.fromSecretKey(key(name).secretKey)

const sendWeb3 = (
  chain: ReturnType<typeof createChain>['chain'],
  signers: Keypair[],
  instructions: TransactionMessage['instructions'],
  tables: AddressLookupTableAccount[] = [],
) => {
  const message = new TransactionMessage({
    payerKey: signers[0]?.publicKey ?? PublicKey.default,
    recentBlockhash: chain.tip.blockhash,
    instructions,
  }).compileToV0Message(tables)
  const transaction = new VersionedTransaction(message)
  transaction.sign(signers)
  return chain.send(transaction.serialize())
}

t.test('accounts of a lookup table are written and published', async t => {
  const { chain, accounts } = createChain()
  const payer = web3('payer')
  chain.airdrop(payer.publicKey.toBytes(), 10n * SOL)
  chain.tick()
  const [create, table] = AddressLookupTableProgram.createLookupTable({
    authority: payer.publicKey,
    payer: payer.publicKey,
    recentSlot: chain.tip.slot,
  })
  const target = web3('target').publicKey
  const extend = AddressLookupTableProgram.extendLookupTable({
    payer: payer.publicKey,
    authority: payer.publicKey,
    lookupTable: table,
    addresses: [target],
  })
  t.match(sendWeb3(chain, [payer], [create, extend]), {
    landed: true,
    record: { error: undefined },
  })
  chain.tick()
  accounts.length = 0
  const data = chain.account(table.toBytes())?.data ?? new Uint8Array()
  const lookup = new AddressLookupTableAccount({
    key: table,
    state: AddressLookupTableAccount.deserialize(data),
  })
  const move = SystemProgram.transfer({
    fromPubkey: payer.publicKey,
    toPubkey: target,
    lamports: SOL,
  })
  const sent = sendWeb3(chain, [payer], [move], [lookup])
  t.match(sent, { landed: true, record: { error: undefined, transaction: { version: 0 } } })
  t.strictSame(pubkeys(accounts), [payer.publicKey.toBase58(), target.toBase58()])
  t.strictSame(sent.landed && sent.record.loadedWritable.map(text), [target.toBase58()])
})

t.test('a durable nonce is valid after its blockhash has expired', async t => {
  const { chain, accounts } = createChain()
  const [payer, nonce] = [web3('payer'), web3('nonce')]
  chain.airdrop(payer.publicKey.toBytes(), 10n * SOL)
  chain.tick()
  const create = SystemProgram.createNonceAccount({
    fromPubkey: payer.publicKey,
    noncePubkey: nonce.publicKey,
    authorizedPubkey: payer.publicKey,
    lamports: Number(chain.rentExemptLamports(NONCE_ACCOUNT_LENGTH)),
  })
  t.ok(sendWeb3(chain, [payer, nonce], create.instructions).landed)
  for (let count = 0; count < 160; count++) chain.tick()
  const stored = () => {
    const data = chain.account(nonce.publicKey.toBytes())?.data ?? new Uint8Array()
    return NonceAccount.fromAccountData(data).nonce
  }
  const spend = (lamports: number) => {
    const transaction = new Transaction({
      feePayer: payer.publicKey,
      nonceInfo: {
        nonce: stored(),
        nonceInstruction: SystemProgram.nonceAdvance({
          noncePubkey: nonce.publicKey,
          authorizedPubkey: payer.publicKey,
        }),
      },
    }).add(
      SystemProgram.transfer({
        fromPubkey: payer.publicKey,
        toPubkey: web3('target').publicKey,
        lamports,
      }),
    )
    transaction.sign(payer)
    return transaction.serialize()
  }
  const before = stored()
  const bytes = spend(Number(SOL))
  t.match(chain.send(bytes), { landed: true, record: { error: undefined } })
  t.not(stored(), before, 'the nonce moved on')
  t.match(chain.send(bytes), { landed: false })
  chain.tick()
  accounts.length = 0
  t.match(chain.send(spend(Number(100n * SOL))), {
    landed: true,
    record: { error: { InstructionError: [1, { Custom: 1 }] } },
  })
  t.strictSame(pubkeys(accounts), [payer.publicKey.toBase58(), nonce.publicKey.toBase58()])
})
