import { method } from '../method.js'
import { block, pubkey } from '../params.js'
import { requireReached } from '../require-block.js'
import { atSlot, LAMPORTS } from '../../shared/describe/schemas.js'

/** Lamports of an account, at the slot that the context names. */
export const getBalance = method({
  name: 'getBalance',
  summary: 'The lamports of an account; 0 if there is none.',
  bound: 'none',
  params: [pubkey, block],
  result: atSlot(LAMPORTS),
  errors: ['noIndex', 'nodeUnhealthy', 'outsideScope', 'indexIncomplete'],
  example: {
    params: ['SysvarC1ock11111111111111111111111111111111'],
    result: { context: { slot: 9 }, value: 1_169_280 },
  },
  run: (context, key, wanted) => {
    try {
      requireReached(context, wanted)
    } catch (early) {
      // First it fails if the index lacks the account: the upstream then looks at the slot.
      context.balance(key, wanted.commitment)
      throw early
    }
    return context.balance(key, wanted.commitment)
  },
})
