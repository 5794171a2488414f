import assert from 'node:assert/strict'
import bs58 from 'bs58'
import fc from 'fast-check'
import t from 'tap'
import { compileTransaction } from '../../../src/sandbox/solana/compile-transaction.js'
import { RPC_METHODS } from '../../../src/sandbox/rpc/methods.js'
import { transferLamports } from '../../../src/sandbox/solana/system-instructions.js'
import { toJson } from '../../../src/sandbox/rpc/to-json.js'
import { TOWER_BFT } from '../../fixtures/sandbox/lanes.js'
import { openChainRpc as open, SOL } from '../../fixtures/sandbox/chain-rpc.js'
import { key } from '../../fixtures/sandbox/sandbox.js'

const base64 = { encoding: 'base64' }
/** Preflight knows the blockhash of the tip. */
const atTip = { ...base64, preflightCommitment: 'confirmed' }

t.test('envelopes and batches are answered', async t => {
  const { post, chain } = await open(t)
  const genesis = chain.blockhashOf(0)
  const call = (id: string): string => `{"jsonrpc":"2.0","id":${id},"method":"getGenesisHash"}`
  const result = (id: string): string => `{"jsonrpc":"2.0","result":"${genesis}","id":${id}}`
  t.equal(await post(call('18446744073709551616')), result('18446744073709551616'))
  t.equal(await post(`[${call('"a"')},${call('1.0')}]`), `[${result('"a"')},${result('1.0')}]`)
  const notFound = '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}'
  t.equal(await post(call('1').replace('getGenesisHash', 'toString')), notFound)
  t.match(await post('{'), '-32700')
  t.match(await post('[]'), '-32600')
})

t.test('no parameter is an internal error', async t => {
  const { post } = await open(t)
  const known = fc.constantFrom<unknown>(
    bs58.encode(new Uint8Array(32).fill(1)),
    '1'.repeat(64),
    'base64',
    0,
    'AQ==',
  )
  const hostile = fc.constantFrom<unknown>({ toString: '' }, { valueOf: 1 }, { toJSON: 2 }, [[]])
  const value = fc.oneof(known, hostile, fc.jsonValue({ maxDepth: 2 }))
  const names = ['commitment', 'dataSlice', 'encoding', 'filters', 'limit', 'before', 'mint']
  const options = fc.dictionary(fc.constantFrom('transactionDetails', ...names), value)
  const params = fc.array(fc.oneof(value, options, fc.tuple(value)), { maxLength: 3 })
  const method = fc.constantFrom(...Object.keys(RPC_METHODS))
  await fc.assert(
    fc.asyncProperty(method, params, async (method, params) => {
      const reply = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      assert.doesNotMatch(reply, /"code":-32603/)
    }),
    { numRuns: 500 },
  )
})

t.test('JSON has all digits of a bigint and omits undefined members', async t => {
  const value = { a: [18446744073709551615n, null], b: undefined, 'c"': 'é\n', d: 1.5, e: true }
  t.equal(toJson(value), String.raw`{"a":[18446744073709551615,null],"c\"":"é\n","d":1.5,"e":true}`)
})

t.test('a status is final when its block closes, and confirmations are not counted', async t => {
  const { call, chain, transfer } = await open(t)
  const sent = await call('sendTransaction', transfer(SOL).toString('base64'), base64)
  const status = () => call('getSignatureStatuses', [sent])
  const processed = { confirmationStatus: 'processed', confirmations: 0 }
  t.match(await status(), { value: [processed] })
  chain.tick()
  const final = { confirmationStatus: 'finalized', confirmations: null }
  t.match(await status(), { context: { slot: 2 }, value: [final] })
  t.match(await call('getTransaction', sent, 'base64'), { slot: 2 })
})

t.test('a status of TowerBFT advances with the blocks', async t => {
  const { call, chain, transfer } = await open(t, {}, TOWER_BFT)
  const sent = await call('sendTransaction', transfer(SOL).toString('base64'), base64)
  const status = async (): Promise<unknown> => {
    const { value } = (await call('getSignatureStatuses', [sent, '1'.repeat(64)])) as {
      value: unknown[]
    }
    t.equal(value[1], null)
    return value[0]
  }
  t.match(await status(), { confirmationStatus: 'processed', confirmations: 0, err: null })
  t.equal(await call('getTransaction', sent, { commitment: 'confirmed' }), null)
  chain.tick()
  t.match(await status(), { confirmationStatus: 'confirmed', confirmations: 0 })
  t.equal(await call('getTransaction', sent), null, 'not final yet')
  for (let slot = 0; slot < 32; slot++) chain.tick()
  t.match(await status(), { confirmationStatus: 'finalized', confirmations: null })
  const found = await call('getTransaction', sent, 'base64')
  t.match(found, { slot: 2, meta: { fee: 5000 }, transaction: [String, 'base64'] })
  t.equal(
    await call('getTransaction', sent, { commitment: 'processed' }),
    '-32602 Method does not support commitment below `confirmed`',
  )
})

t.test('preflight and simulation change nothing', async t => {
  const { call, chain, transfer } = await open(t)
  const tooMuch = transfer(20n * SOL).toString('base64')
  t.equal(
    await call('sendTransaction', tooMuch, base64),
    '-32002 Transaction simulation failed: Error processing Instruction 0: custom program error: 0x1',
  )
  const forged = transfer(SOL)
  forged.writeUInt8(forged.readUInt8(1) ^ 1, 1)
  t.equal(
    await call('sendTransaction', forged.toString('base64'), base64),
    '-32003 Transaction signature verification failure',
  )
  const text = forged.toString('base64')
  const accounts = { addresses: [bs58.encode(key('to').publicKey)], encoding: 'base64' }
  t.match(await call('simulateTransaction', text, { ...base64, accounts }), {
    value: { err: null, unitsConsumed: 150, accounts: [{ lamports: Number(SOL) }] },
  })
  t.match(await call('simulateTransaction', text, { ...base64, sigVerify: true }), {
    value: { err: 'SignatureFailure' },
  })
  const old = transfer(SOL).toString('base64')
  for (let slot = 0; slot < 151; slot++) chain.tick()
  t.match(await call('simulateTransaction', old, base64), { value: { err: 'BlockhashNotFound' } })
  const replaced = { ...base64, replaceRecentBlockhash: true }
  t.match(await call('simulateTransaction', old, replaced), {
    value: {
      err: null,
      replacementBlockhash: { blockhash: chain.blockhashOf(chain.finalizedSlot) },
    },
  })
  t.equal(
    await call('simulateTransaction', old, { ...replaced, sigVerify: true }),
    '-32602 sigVerify may not be used with replaceRecentBlockhash',
  )
  t.equal(chain.lamports(key('to').publicKey), 0n)
  t.equal(
    await call('sendTransaction', old, base64),
    '-32002 Transaction simulation failed: Blockhash not found',
  )
})

t.test('preflight is at the asked commitment, and finalized where none is', async t => {
  const { call, chain, transfer } = await open(t, {}, TOWER_BFT)
  for (let count = 0; count < 3; count++) chain.tick()
  const text = transfer(SOL).toString('base64')
  const refused = '-32002 Transaction simulation failed: Blockhash not found'
  t.equal(await call('sendTransaction', text, base64), refused)
  for (const name of ['finalized', 'max'])
    t.equal(await call('sendTransaction', text, { ...base64, preflightCommitment: name }), refused)
  t.match(await call('simulateTransaction', text, base64), { value: { err: 'BlockhashNotFound' } })
  const confirmed = { ...base64, commitment: 'confirmed' }
  t.match(await call('simulateTransaction', text, confirmed), { value: { err: null } })
  const message = Buffer.from(text, 'base64').subarray(65).toString('base64')
  t.match(await call('getFeeForMessage', message), { value: null })
  t.match(await call('getFeeForMessage', message, { commitment: 'confirmed' }), { value: 5_000 })
  t.type(await call('sendTransaction', text, atTip), 'string')
  const final = chain.latestBlockhash('finalized')
  t.ok(final.slot < chain.tip.slot)
  const payer = key('payer')
  const instruction = transferLamports(payer.publicKey, key('to').publicKey, SOL)
  const old = compileTransaction([instruction], [payer], bs58.decode(final.blockhash))
  t.type(await call('sendTransaction', Buffer.from(old).toString('base64'), base64), 'string')
  const skipped = { ...base64, skipPreflight: true }
  t.type(await call('sendTransaction', transfer(2n * SOL).toString('base64'), skipped), 'string')
})

t.test('the history is bounded and evicts its oldest blocks', async t => {
  const { call, chain, transfer } = await open(t, { transactionCountMax: 3, blockCountMax: 4 })
  const sent: unknown[] = []
  for (let lamports = 1n; lamports <= 5n; lamports++) {
    sent.push(await call('sendTransaction', transfer(SOL + lamports).toString('base64'), atTip))
    chain.tick()
  }
  const { value } = (await call('getSignatureStatuses', sent)) as { value: unknown[] }
  t.strictSame(
    value.map(status => status !== null),
    [false, false, true, true, true],
  )
  const to = bs58.encode(key('to').publicKey)
  const confirmed = { commitment: 'confirmed' }
  const rows = async (options: object): Promise<unknown[]> => {
    const list = await call('getSignaturesForAddress', to, { ...confirmed, ...options })
    return (list as { signature: string }[]).map(({ signature }) => signature)
  }
  t.strictSame(await rows({}), [sent[4], sent[3], sent[2]])
  t.strictSame(await rows({ limit: 1 }), [sent[4]])
  t.strictSame(await rows({ before: sent[4] }), [sent[3], sent[2]])
  t.strictSame(await rows({ until: sent[3] }), [sent[4]])
  t.match(await call('getBlock', 1, confirmed), /^-32009 Slot 1 was skipped/)
  t.match(await call('getBlock', 1_000, confirmed), /^-32004 Block not available/)
  const details = { ...confirmed, transactionDetails: 'signatures', rewards: false }
  t.strictSame(await call('getBlock', chain.tip.slot, details), {
    previousBlockhash: chain.tip.parentBlockhash,
    blockhash: chain.tip.blockhash,
    parentSlot: chain.tip.parentSlot,
    signatures: [sent[4]],
    blockTime: chain.tip.blockTime,
    blockHeight: chain.tip.blockHeight,
  })
})

t.test('invalid parameters are refused', async t => {
  const { call } = await open(t)
  const cases: [method: string, params: unknown[], answer: RegExp][] = [
    ['sendTransaction', ['!', base64], /^-32602 invalid base64 encoding/],
    ['sendTransaction', ['AA=='], /^-32602 invalid base58 encoding/],
    ['sendTransaction', ['AAAA', base64], /^-32602 failed to deserialize/],
    ['getTransaction', ['abc'], /^-32602 Invalid param: WrongSize/],
    ['getSignatureStatuses', [Array(257).fill('1')], /^-32602 Too many inputs provided; max 256/],
    ['getFeeForMessage', ['AAAA'], /^-32602 failed to deserialize/],
    ['getProgramAccounts', ['0OIl'], /^-32602 Invalid param: Invalid/],
    ['getTokenAccountsByOwner', ['1'.repeat(32), {}], /^-32602/],
    ['requestAirdrop', ['1'.repeat(32), -1], /^-32602/],
    ['getBlock', ['x'], /^-32602/],
  ]
  for (const [method, params, answer] of cases)
    t.match(
      await call(method, ...params),
      answer,
      `${method} ${JSON.stringify(params).slice(0, 60)}`,
    )
})
