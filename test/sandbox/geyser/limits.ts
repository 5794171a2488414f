import t from 'tap'
import { checkLimits, type FilterLimits } from '../../../src/sandbox/geyser/limits.js'
import { decodeSubscribeRequest } from '../../../src/sandbox/geyser/request.js'
import { type Ask, toRequest } from '../../fixtures/sandbox/sandbox.js'
import { yellowstone } from '../../fixtures/sandbox/yellowstone.js'

const check = (ask: Ask, limits?: FilterLimits): void => {
  const bytes = yellowstone.SubscribeRequest.encode(toRequest(ask)).finish()
  checkLimits(decodeSubscribeRequest(bytes), limits)
}
const KEY = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const OTHER = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'

const cases: readonly [name: string, ask: Ask, limits: FilterLimits, message: RegExp][] = [
  ['two filters', { accounts: { a: {}, b: {} } }, { max: 1 }, /only 1 allowed/],
  ['every account', { accounts: { a: {} } }, { any: false }, /full stream with `any`/],
  [
    'accounts by lamports',
    { accounts: { a: { filters: [{ lamports: { eq: '0' } }] } } },
    { any: false },
    /full stream with `any`/,
  ],
  ['every transaction', { transactions: { t: {} } }, { any: false }, /full stream with `any`/],
  [
    'two owners',
    { accounts: { a: { owner: [KEY, OTHER] } } },
    { pubkeysMax: 1 },
    /Max amount of Pubkeys reached, only 1 allowed/,
  ],
  [
    'whole blocks',
    { blocks: { b: { includeAccounts: true, includeTransactions: false } } },
    { include_accounts: false },
    /`include_accounts` is not allowed/,
  ],
]
for (const [name, ask, limits, message] of cases)
  t.test(name, async t => {
    t.throws(() => check(ask, limits), message)
    t.doesNotThrow(() => check(ask), 'without a limit')
  })

t.test('a request within the limits is accepted', async t => {
  const limits = { max: 1, any: false, pubkeysMax: 1, include_accounts: false }
  const ask = {
    accounts: { a: { owner: [KEY] } },
    transactions: { t: { accountInclude: [KEY] } },
    blocks: { b: { includeTransactions: false } },
    slots: { s: {} },
    blocksMeta: { m: {} },
  }
  t.doesNotThrow(() => check(ask, limits))
})
