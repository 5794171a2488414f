import { mock } from 'node:test'
import t from 'tap'
import { transferLamports } from '../../../src/sandbox/solana/system-instructions.js'
import { createTransfers, startTraffic } from '../../../src/sandbox/chain/traffic.js'
import { createSampleAccounts } from '../../../src/sandbox/chain/sample-accounts.js'
import { createChain } from '../../fixtures/sandbox/sandbox.js'
import { unpackAccount } from '../../fixtures/sandbox/token-account.js'

const amountOf = (chain: ReturnType<typeof createChain>['chain'], account: Uint8Array) => {
  const state = chain.account(account)
  return (state && unpackAccount(state)?.amount) ?? 0n
}

t.test('transfers keep the total of tokens', async t => {
  const { chain, transactions } = createChain()
  const accounts = createSampleAccounts(chain)
  chain.tick()
  transactions.length = 0
  const sum = () =>
    accounts.holders.reduce((total, { account }) => total + amountOf(chain, account), 0n)
  const before = sum()
  const sendOne = createTransfers(chain, accounts)
  for (let count = 0; count < 1_000; count++) {
    sendOne()
    if (count % 100 === 99) chain.tick()
  }
  t.equal(sum(), before)
  t.equal(transactions.length, 1_000)
  t.ok(transactions.every(({ error }) => error === undefined))
  const [record] = transactions
  t.match(record?.preTokenBalances, [{ decimals: 6 }, { decimals: 6 }])
})

t.test('the rate is exact, and a late timer catches up for a bounded time', async t => {
  const { chain, clock, transactions } = createChain()
  const accounts = createSampleAccounts(chain)
  chain.tick()
  transactions.length = 0
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const stop = startTraffic(chain, accounts, { perSecond: 100 }, clock.now)
  const pass = (ms: number) => {
    clock.advance(ms)
    mock.timers.tick(20)
  }
  for (let turn = 0; turn < 50; turn++) pass(20)
  t.equal(transactions.length, 100, 'one second')
  pass(60_000)
  t.equal(transactions.length, 120, 'a minute asleep is 200 ms of arrears')
  stop()
  pass(1_000)
  t.equal(transactions.length, 120)
})

t.test('a holder without lamports does not stop the traffic', async t => {
  const { chain, transactions } = createChain()
  const accounts = createSampleAccounts(chain)
  chain.tick()
  const [holder] = accounts.holders
  const lamports = chain.account(holder?.wallet.publicKey ?? accounts.mint)?.lamports ?? 0n
  if (holder === undefined) throw new Error('there are no holders')
  const away = transferLamports(
    holder.wallet.publicKey,
    accounts.payer.publicKey,
    lamports - 5_000n,
  )
  chain.submit([away], [holder.wallet])
  transactions.length = 0
  const sendOne = createTransfers(chain, accounts)
  for (const _holder of accounts.holders) sendOne()
  t.equal(transactions.length, accounts.holders.length - 1)
})

t.test('a rate of 0 starts no timer', async t => {
  const { chain } = createChain()
  const accounts = createSampleAccounts(chain)
  const timerCount = (): number =>
    process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const before = timerCount()
  const stopNone = startTraffic(chain, accounts)
  t.equal(timerCount(), before)
  const stopSome = startTraffic(chain, accounts, { perSecond: 1 })
  t.equal(timerCount(), before + 1, 'with some there is one')
  stopSome()
  stopNone()
  t.equal(timerCount(), before)
})
