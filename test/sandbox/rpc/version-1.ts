import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { transferLamports } from '../../../src/sandbox/solana/system-instructions.js'
import { openChainRpc, SOL } from '../../fixtures/sandbox/chain-rpc.js'
import { BUDGET, compileV1 } from '../../fixtures/sandbox/compile-v1.js'
import { key } from '../../fixtures/sandbox/sandbox.js'

/** In lamports. The SVM has a price for each unit, of which this fee is a multiple. */
const FEE = 4_009n
const base64 = { encoding: 'base64' }
const TRANSACTION = 'solana_transaction::versioned::VersionedTransaction'
const UNSUPPORTED =
  '-32015 Transaction version (1) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": 1'
const NO_BASE58 = '-32602 base58 encoding is not supported with maxSupportedTransactionVersion >= 1'

/** A transfer of version 1 of so many bytes, padded by data that its program ignores. */
const open = async (t: Test) => {
  const opened = await openChainRpc(t)
  const { chain, payer } = opened
  const move = transferLamports(payer.publicKey, key('to').publicKey, SOL)
  const compile = (bytes?: number, budget = {}): Promise<Buffer> => {
    const build = (padding: number) =>
      compileV1(
        payer,
        chain.tip.blockhash,
        [{ ...move, data: Buffer.concat([move.data, Buffer.alloc(padding)]) }],
        { ...BUDGET, ...budget },
      )
    return bytes === undefined ? build(0) : build(0).then(least => build(bytes - least.length))
  }
  return { ...opened, compile }
}

t.test('a transaction of version 1 is shown to a client that supports it', async t => {
  const { call, chain, compile } = await open(t)
  const bytes = await compile(undefined, { priorityFeeLamports: FEE })
  const sent = await call('sendTransaction', bytes.toString('base64'), base64)
  t.match(sent, /^\w{80,88}$/)
  chain.tick()
  const { slot } = chain.tip
  for (const maxSupportedTransactionVersion of [undefined, null, 0]) {
    const options = { maxSupportedTransactionVersion }
    t.equal(await call('getTransaction', sent, options), UNSUPPORTED)
    t.equal(await call('getBlock', slot, options), UNSUPPORTED, 'a block fails as a whole')
    const accounts = { ...options, transactionDetails: 'accounts' }
    t.equal(await call('getBlock', slot, accounts), UNSUPPORTED)
    t.match(await call('getBlock', slot, { ...options, transactionDetails: 'signatures' }), {
      signatures: [sent],
    })
  }
  const v1 = { maxSupportedTransactionVersion: 1 }
  const transactionConfig = {
    priorityFee: Number(FEE),
    computeUnitLimit: 200_000,
    loadedAccountsDataSizeLimit: 1_000_000,
    heapSize: null,
  }
  for (const encoding of ['json', 'jsonParsed']) {
    const found = (await call('getTransaction', sent, { ...v1, encoding })) as {
      transaction: { message: object }
    }
    t.match(found, { version: 1, meta: { err: null, fee: 5_000 + Number(FEE) } })
    t.match(found.transaction, { signatures: [sent], message: { transactionConfig } })
    t.notOk('addressTableLookups' in found.transaction.message)
  }
  t.match(await call('getTransaction', sent, { ...v1, ...base64 }), {
    version: 1,
    transaction: [bytes.toString('base64'), 'base64'],
  })
  t.equal(await call('getTransaction', sent, { ...v1, encoding: 'base58' }), NO_BASE58)
  t.equal(await call('getBlock', slot, { ...v1, encoding: 'base58' }), NO_BASE58)
  const fees = (await call('getRecentPrioritizationFees')) as { prioritizationFee: number }[]
  t.equal(Math.max(...fees.map(fee => fee.prioritizationFee)), 20_045, 'by 200,000 units')
})

t.test('only base64 may be longer than a packet, and only in version 1', async t => {
  const { call, compile, post, transfer } = await open(t)
  const longest = await compile(4_096)
  t.equal(longest.length, 4_096)
  t.equal(longest.toString('base64').length, 5_464)
  const answered = await call('sendTransaction', longest.toString('base64'), base64)
  t.equal(bs58.decode(String(answered)).length, 64)
  t.match(await call('simulateTransaction', (await compile(1_233)).toString('base64'), base64), {
    value: { err: null },
  })
  const message = (await compile(undefined, { priorityFeeLamports: FEE })).subarray(0, -64)
  t.match(await call('getFeeForMessage', message.toString('base64')), {
    value: 5_000 + Number(FEE),
  })

  const small = await compile()
  t.match(await call('simulateTransaction', bs58.encode(small)), { value: { err: null } })
  const padded = (bytes: Buffer, count: number): Buffer =>
    Buffer.concat([bytes, Buffer.alloc(count - bytes.length)])
  const legacy = transfer(1n)
  const cases: [name: string, text: string, options: object, refused: string][] = [
    [
      'version 1 over 4,096 bytes',
      padded(longest, 4_097).toString('base64'),
      base64,
      `decoded ${TRANSACTION} too large: 4097 bytes (max: 4096 bytes)`,
    ],
    [
      'version 1 over a packet in base58',
      bs58.encode(await compile(1_300)),
      { encoding: 'base58' },
      `base58 encoded ${TRANSACTION} too large: ${bs58.encode(await compile(1_300)).length} bytes (max: encoded/raw 1683/1232)`,
    ],
    [
      'legacy over a packet',
      padded(legacy, 1_234).toString('base64'),
      base64,
      `base64 encoded ${TRANSACTION} too large: 1648 bytes (max: encoded/raw 1644/1232)`,
    ],
    [
      'legacy one byte over a packet',
      padded(legacy, 1_233).toString('base64'),
      base64,
      `decoded ${TRANSACTION} too large: 1233 bytes (max: 1232 bytes)`,
    ],
    [
      'as much as a body holds',
      'gQ'.repeat(500_000),
      base64,
      `base64 encoded ${TRANSACTION} too large: 1000000 bytes (max: encoded/raw 5464/4096)`,
    ],
    ['another encoding', 'AA==', { encoding: 'jsonParsed' }, 'unsupported encoding: jsonParsed'],
    ['cut', small.subarray(0, 100).toString('base64'), base64, 'failed to deserialize'],
    ['one character', 'g', base64, 'invalid base64 encoding'],
  ]
  for (const [name, text, options, refused] of cases)
    for (const method of ['sendTransaction', 'simulateTransaction'])
      t.match(await call(method, text, options), `-32602 ${refused}`, `${method}: ${name}`)
  t.equal(await post('x'.repeat(8 * 1024 ** 2)), 'too large')
})
