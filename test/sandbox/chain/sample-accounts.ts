import { unpackAccount } from '../../fixtures/sandbox/token-account.js'
import bs58 from 'bs58'
import t from 'tap'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import { createSampleAccounts } from '../../../src/sandbox/chain/sample-accounts.js'
import { createChain } from '../../fixtures/sandbox/sandbox.js'

const { chain, accounts } = createChain()
const { samples } = createSampleAccounts(chain)
chain.tick()

/** The final state of every account. */
const last = new Map(accounts.map(update => [bs58.encode(update.pubkey), update]))
const tokenAccounts = [...last].flatMap(([pubkey, update]) => {
  const account = unpackAccount(update)
  return account === undefined ? [] : [{ pubkey, ...account }]
})

t.test('30 holders have distinct amounts, but for three equal ones and an empty one', async t => {
  const amounts = tokenAccounts
    .filter(({ mint }) => mint === samples.mint)
    .map(({ amount }) => amount)
    .toSorted((a, b) => Number(b - a))
  t.equal(amounts.length, 30)
  t.equal(amounts.at(-1), 0n)
  t.equal(new Set(amounts).size, 28)
  t.equal(amounts.filter(amount => amount === 5_000_000n).length, 3)
  const mint = Buffer.from(last.get(samples.mint)?.data ?? [])
  t.equal(mint[44], 6, 'decimals')
  t.equal(
    mint.readBigUInt64LE(36),
    amounts.reduce((sum, amount) => sum + amount),
    'supply',
  )
})

t.test('the wallet has 25 token accounts', async t => {
  const own = tokenAccounts.filter(({ owner }) => owner === samples.wallet)
  t.equal(own.length, 25)
  t.equal(own.filter(({ program }) => program === 'token2022').length, 1)
  t.ok(new Set(own.map(({ mint }) => mint)).size >= 10)
})

t.test('the frozen, delegated and native accounts have these states', async t => {
  const find = (pubkey: string) => tokenAccounts.find(account => account.pubkey === pubkey)
  t.match(find(samples.frozen), { state: 2 })
  t.match(find(samples.delegated), { state: 1, delegatedAmount: 750n, hasDelegate: true })
  t.match(find(samples.native), {
    isNative: true,
    amount: 2_000_000_000n,
    mint: 'So11111111111111111111111111111111111111112',
  })
  t.match(find(samples.tokenAccount), { mint: samples.mint, owner: samples.wallet })
  t.match(find(samples.tokenAccount2022), { mint: samples.mint2022, owner: samples.wallet })
})

t.test('the Token-2022 mint has interest, pointer and metadata', async t => {
  const mint = last.get(samples.mint2022)
  t.strictSame(mint?.owner, ADDRESSES.token2022)
  const data = Buffer.from(mint?.data ?? [])
  const extensions: number[] = []
  for (let at = 166; at + 4 <= data.length; at += 4 + data.readUInt16LE(at + 2))
    extensions.push(data.readUInt16LE(at))
  t.strictSame(extensions, [10, 18, 19])
  t.ok(data.includes('Sandbox Dollar') && data.includes('SBX'))
})

t.test('every sample account was created by a successful transaction', async t => {
  const { transactions } = chain.tip
  t.ok(transactions.length > 90)
  t.ok(transactions.every(({ error }) => error === undefined))
  t.equal(bs58.decode(samples.payerSecretKey).length, 64)
  for (const { pubkey } of tokenAccounts)
    t.ok(last.get(pubkey)?.signature, `${pubkey} was written by a transaction`)
})
