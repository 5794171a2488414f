import { method } from '../method.js'
import { programConfig, pubkey } from '../params.js'
import { PAGE } from '../../shared/describe/schemas.js'

/** One page of a program's accounts, in ascending order of their keys' bytes. */
export const getProgramAccountsV2 = method({
  name: 'getProgramAccountsV2',
  summary: 'One page of a program’s accounts, in ascending order of their address bytes.',
  bound: 'budget',
  params: [pubkey, programConfig],
  result: PAGE,
  example: {
    params: [
      'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
      { limit: 1, filters: [{ dataSize: 165 }], dataSlice: { offset: 64, length: 8 } },
    ],
    result: {
      accounts: [
        {
          pubkey: '9BfqjzPM2VBpEgKSTJTET8gtQhM4TuYy3ki2dxafdsmh',
          account: {
            lamports: 1_002_039_280,
            data: ['AMqaOwAAAAA=', 'base64'],
            owner: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
            executable: false,
            rentEpoch: 18_446_744_073_709_551_615n,
            space: 165,
          },
        },
      ],
      count: 1,
      paginationKey: '9BfqjzPM2VBpEgKSTJTET8gtQhM4TuYy3ki2dxafdsmh',
    },
  },
  run: (reads, program, page) => reads.programPage({ program, ...page }, reads.owner),
})
