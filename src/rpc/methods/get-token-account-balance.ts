import { method } from '../method.js'
import { ignored, pubkey } from '../params.js'
import { atSlot, TOKEN_AMOUNT } from '../schemas.js'

/** The amount in a token account. */
export const getTokenAccountBalance = method({
  name: 'getTokenAccountBalance',
  summary: 'The amount that a token account holds.',
  bound: 'timeout',
  params: [pubkey, ignored],
  result: atSlot(TOKEN_AMOUNT),
  run: (reads, key) => reads.tokenBalance(key),
})
