import { method } from '../method.js'
import { block, blockhash } from '../params.js'
import { requireBlockhashes, requireReached } from '../require-block.js'
import { atSlot, FLAG } from '../../shared/describe/schemas.js'

/** Whether a transaction that names a blockhash may still land. */
export const isBlockhashValid = method({
  name: 'isBlockhashValid',
  summary: 'Whether a transaction that names this blockhash may still land.',
  bound: 'none',
  params: [blockhash, block],
  result: atSlot(FLAG),
  errors: ['noIndex', 'nodeUnhealthy'],
  example: {
    params: ['cGfHiC6Kgg3FpFZvgwGcswsCRtp4aBP2fzuXRQPizuN'],
    result: { context: { slot: 9 }, value: true },
  },
  run: (context, hash, wanted) => {
    requireBlockhashes(context)
    requireReached(context, wanted)
    return context.blockhashValidity(hash, wanted.commitment)
  },
})
