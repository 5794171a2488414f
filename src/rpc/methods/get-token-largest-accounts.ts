import { method } from '../method.js'
import { ignored, pubkey } from '../params.js'
import { atSlot, HOLDER, list } from '../schemas.js'

/** The largest holders of a mint, at most 20. */
export const getTokenLargestAccounts = method({
  name: 'getTokenLargestAccounts',
  summary:
    'The 20 largest holders of a mint, largest first; of equal ones the higher address first.',
  bound: 'timeout',
  params: [pubkey, ignored],
  result: atSlot(list(HOLDER)),
  run: (reads, mint) => reads.largestHolders(mint),
})
