import { method } from '../method.js'
import { accountOptions, pubkey } from '../params.js'
import { ACCOUNT_OR_NULL, atSlot, orUnchanged } from '../../shared/describe/schemas.js'

/** One account, or `null` if there is none. */
export const getAccountInfo = method({
  name: 'getAccountInfo',
  summary: 'One account; `null` if there is none.',
  bound: 'timeout',
  params: [pubkey, accountOptions],
  result: atSlot(orUnchanged(ACCOUNT_OR_NULL)),
  example: {
    params: [
      'SysvarC1ock11111111111111111111111111111111',
      { dataSlice: { offset: 32, length: 8 } },
    ],
    result: {
      context: { slot: 9 },
      value: {
        lamports: 1_169_280,
        data: ['APFTZQAAAAA=', 'base64'],
        owner: 'Sysvar1111111111111111111111111111111111111',
        executable: false,
        rentEpoch: 18_446_744_073_709_551_615n,
        space: 40,
      },
    },
  },
  run: (reads, key, { encoding, dataSlice, changedSinceSlot }) =>
    reads.account(key, encoding, dataSlice, reads.owner, changedSinceSlot),
})
