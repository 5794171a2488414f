import { method } from '../method.js'
import { accountOptions, pubkey } from '../params.js'
import { ACCOUNT_OR_NULL, atSlot } from '../schemas.js'

/** One account, or `null` where there is none. */
export const getAccountInfo = method({
  name: 'getAccountInfo',
  summary: 'One account; `null` where there is none.',
  bound: 'timeout',
  params: [pubkey, accountOptions],
  result: atSlot(ACCOUNT_OR_NULL),
  run: (reads, key, { encoding, dataSlice }) => reads.account(key, encoding, dataSlice),
})
