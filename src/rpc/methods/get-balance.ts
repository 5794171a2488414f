import { method } from '../method.js'
import { ignored, pubkey } from '../params.js'
import { atSlot, LAMPORTS } from '../schemas.js'

/** Lamports of an account, at the indexed slot. */
export const getBalance = method({
  name: 'getBalance',
  summary: 'The lamports of an account; 0 where there is none.',
  bound: 'none',
  params: [pubkey, ignored],
  result: atSlot(LAMPORTS),
  run: (context, key) => context.balance(key),
})
