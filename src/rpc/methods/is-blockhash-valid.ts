import { method } from '../method.js'
import { blockhash, ignored } from '../params.js'

/** Whether a transaction that names a blockhash may still land. */
export const isBlockhashValid = method({
  name: 'isBlockhashValid',
  summary: 'Whether a transaction that names this blockhash may still land.',
  bound: 'none',
  params: [blockhash, ignored],
  run: (view, hash) => view.blockhashValidity(hash),
})
