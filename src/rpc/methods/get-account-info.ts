import { method } from '../method.js'
import { accountOptions, pubkey } from '../params.js'

/** One account, or `null` where there is none. */
export const getAccountInfo = method({
  name: 'getAccountInfo',
  summary: 'One account; `null` where there is none.',
  bound: 'timeout',
  params: [pubkey, accountOptions],
  run: (reads, key, { encoding, dataSlice }) => reads.account(key, encoding, dataSlice),
})
