import { method } from '../method.js'
import { accountOptions, pubkeys } from '../params.js'
import { ACCOUNT_OR_NULL, atSlot, list, orUnchanged } from '../../shared/describe/schemas.js'

/** Accounts in request order at one slot, `null` if there is none. */
export const getMultipleAccounts = method({
  name: 'getMultipleAccounts',
  summary: 'Many accounts at one slot, in request order; `null` for each that is missing.',
  bound: 'timeout',
  params: [pubkeys, accountOptions],
  result: atSlot(list(orUnchanged(ACCOUNT_OR_NULL))),
  example: {
    params: [['11111111111111111111111111111112']],
    result: { context: { slot: 9 }, value: [null] },
  },
  run: (reads, keys, { encoding, dataSlice, changedSinceSlot }) =>
    reads.accounts(keys, encoding, dataSlice, reads.owner, changedSinceSlot),
})
