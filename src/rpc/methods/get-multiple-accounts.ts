import { method } from '../method.js'
import { accountOptions, pubkeys } from '../params.js'
import { ACCOUNT_OR_NULL, atSlot, list } from '../schemas.js'

/** Accounts in request order at one slot, `null` where there is none. */
export const getMultipleAccounts = method({
  name: 'getMultipleAccounts',
  summary:
    'Many accounts at one slot, in request order; `null` in the place of each that is missing.',
  bound: 'timeout',
  params: [pubkeys, accountOptions],
  result: atSlot(list(ACCOUNT_OR_NULL)),
  run: (reads, keys, { encoding, dataSlice }) => reads.accounts(keys, encoding, dataSlice),
})
