import { tokenFilter } from '../token-filter.js'
import { method } from '../method.js'
import { pageConfig, pubkey } from '../params.js'
import { atSlot, PAGE } from '../../shared/describe/schemas.js'

/** One page of a wallet's token accounts, in ascending order of their keys' bytes. */
export const getTokenAccountsByOwnerV2 = method({
  name: 'getTokenAccountsByOwnerV2',
  summary: 'One page of a wallet’s token accounts, in ascending order of their address bytes.',
  bound: 'budget',
  params: [pubkey, tokenFilter, pageConfig],
  result: atSlot(PAGE),
  example: {
    params: [
      'HLczw3CjQuc9iCdY34U8iLrXDJardP6cEsD97K2ZDTzZ',
      { mint: 'So11111111111111111111111111111111111111112' },
      { dataSlice: { offset: 0, length: 0 } },
    ],
    result: {
      context: { slot: 9 },
      value: {
        accounts: [
          {
            pubkey: '9BfqjzPM2VBpEgKSTJTET8gtQhM4TuYy3ki2dxafdsmh',
            account: {
              lamports: 1_002_039_280,
              data: ['', 'base64'],
              owner: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
              executable: false,
              rentEpoch: 18_446_744_073_709_551_615n,
              space: 165,
            },
          },
        ],
        count: 1,
        paginationKey: null,
      },
    },
  },
  run: (reads, wallet, filter, page) => reads.ownerPage({ wallet, filter, ...page }, reads.owner),
})
