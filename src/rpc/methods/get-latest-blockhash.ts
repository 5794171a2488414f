import { method } from '../method.js'
import { block } from '../params.js'
import { requireBlockhashes, requireReached } from '../require-block.js'
import { atSlot, PUBKEY, record, SLOT } from '../../shared/describe/schemas.js'

/** Blockhash of the newest block at a commitment, and the last height at which it is valid. */
export const getLatestBlockhash = method({
  name: 'getLatestBlockhash',
  summary: 'The newest blockhash, and the last block height at which it is valid.',
  bound: 'none',
  params: [block],
  result: atSlot(record({ blockhash: PUBKEY, lastValidBlockHeight: SLOT })),
  errors: ['noIndex', 'nodeUnhealthy'],
  example: {
    params: [],
    result: {
      context: { slot: 9 },
      value: {
        blockhash: 'cGfHiC6Kgg3FpFZvgwGcswsCRtp4aBP2fzuXRQPizuN',
        lastValidBlockHeight: 158,
      },
    },
  },
  run: (context, wanted) => {
    requireBlockhashes(context)
    requireReached(context, wanted)
    return context.latestBlockhash(wanted.commitment)
  },
})
