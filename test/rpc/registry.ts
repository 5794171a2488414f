import t from 'tap'
import { METHODS } from '../../src/rpc/registry.js'

t.test('the registry has every method of the contract with its bound', async t => {
  t.strictSame(
    Array.from(METHODS.values(), ({ name, bound }) => [name, bound]),
    [
      ['getLatestBlockhash', 'none'],
      ['getAccountInfo', 'timeout'],
      ['getMultipleAccounts', 'timeout'],
      ['getTokenLargestAccounts', 'timeout'],
      ['getTokenAccountBalance', 'timeout'],
      ['getTokenSupply', 'timeout'],
      ['getProgramAccountsV2', 'budget'],
      ['getTokenAccountsByOwnerV2', 'budget'],
      ['getBalance', 'none'],
      ['getSlot', 'none'],
      ['getBlockHeight', 'none'],
      ['getHealth', 'none'],
      ['getVersion', 'none'],
      ['isBlockhashValid', 'none'],
      ['rpc.discover', 'none'],
    ],
  )
})
