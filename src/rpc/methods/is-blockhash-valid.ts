import { method } from '../method.js'
import { blockhash, ignored } from '../params.js'
import { atSlot, FLAG } from '../schemas.js'

/** Whether a transaction that names a blockhash may still land. */
export const isBlockhashValid = method({
  name: 'isBlockhashValid',
  summary: 'Whether a transaction that names this blockhash may still land.',
  bound: 'none',
  params: [blockhash, ignored],
  result: atSlot(FLAG),
  run: (context, hash) => context.blockhashValidity(hash),
})
