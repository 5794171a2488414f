import { method } from '../method.js'
import { ignored, pubkey } from '../params.js'
import { atSlot, HOLDER, list } from '../../shared/describe/schemas.js'

/** The largest holders of a mint, at most 20. */
export const getTokenLargestAccounts = method({
  name: 'getTokenLargestAccounts',
  summary:
    'The 20 largest holders of a mint, largest first; of equal ones the higher address first.',
  bound: 'timeout',
  params: [pubkey, ignored],
  result: atSlot(list(HOLDER)),
  errors: ['mintMissing', 'notTokenMint'],
  example: {
    params: ['So11111111111111111111111111111111111111112'],
    result: {
      context: { slot: 9 },
      value: [
        {
          address: '9BfqjzPM2VBpEgKSTJTET8gtQhM4TuYy3ki2dxafdsmh',
          amount: '1000000000',
          decimals: 9,
          uiAmount: 1,
          uiAmountString: '1',
        },
      ],
    },
  },
  run: (reads, mint) => reads.largestHolders(mint, reads.owner),
})
