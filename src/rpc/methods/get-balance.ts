import { method } from '../method.js'
import { commitment, pubkey } from '../params.js'
import { atSlot, LAMPORTS } from '../../shared/describe/schemas.js'

/** Lamports of an account, at the slot that the context names. */
export const getBalance = method({
  name: 'getBalance',
  summary: 'The lamports of an account; 0 if there is none.',
  bound: 'none',
  params: [pubkey, commitment],
  result: atSlot(LAMPORTS),
  errors: ['noIndex', 'nodeUnhealthy', 'outsideScope', 'indexIncomplete'],
  example: {
    params: ['SysvarC1ock11111111111111111111111111111111'],
    result: { context: { slot: 9 }, value: 1_169_280 },
  },
  run: (context, key, at) => context.balance(key, at),
})
