import { tokenFilter } from '../token-filter.js'
import { method } from '../method.js'
import { pageConfig, pubkey } from '../params.js'
import { atSlot, PAGE } from '../schemas.js'

/** One page of a wallet's token accounts, in ascending order of their keys' bytes. */
export const getTokenAccountsByOwnerV2 = method({
  name: 'getTokenAccountsByOwnerV2',
  summary: 'One page of a wallet’s token accounts, in ascending order of their address bytes.',
  bound: 'budget',
  params: [pubkey, tokenFilter, pageConfig],
  result: atSlot(PAGE),
  run: (reads, wallet, filter, page) => reads.ownerPage({ wallet, filter, ...page }),
})
