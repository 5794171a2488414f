import { method } from '../method.js'
import { accountOptions, pubkeys } from '../params.js'

/** Accounts in request order at one slot, `null` where there is none. */
export const getMultipleAccounts = method({
  name: 'getMultipleAccounts',
  summary:
    'Many accounts at one slot, in request order; `null` in the place of each that is missing.',
  bound: 'timeout',
  params: [pubkeys, accountOptions],
  run: (reads, keys, { encoding, dataSlice }) => reads.accounts(keys, encoding, dataSlice),
})
