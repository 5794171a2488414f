import { method } from '../method.js'
import { commitment, pubkey } from '../params.js'
import { atSlot, LAMPORTS } from '../schemas.js'

/** Lamports of an account, at the slot that the context names. */
export const getBalance = method({
  name: 'getBalance',
  summary: 'The lamports of an account; 0 where there is none.',
  bound: 'none',
  params: [pubkey, commitment],
  result: atSlot(LAMPORTS),
  run: (context, key, at) => context.balance(key, at),
})
