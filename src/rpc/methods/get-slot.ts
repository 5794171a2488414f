import { method } from '../method.js'
import { commitment } from '../params.js'
import { requireBlock } from '../require-block.js'
import { SLOT } from '../../shared/describe/schemas.js'

/** The newest slot of the index at a commitment. */
export const getSlot = method({
  name: 'getSlot',
  summary: 'The newest indexed slot that is finalized, or confirmed.',
  bound: 'none',
  params: [commitment],
  result: SLOT,
  errors: ['noIndex', 'nodeUnhealthy'],
  example: {
    params: [],
    result: 9,
  },
  run: (context, at) => Buffer.from(String(requireBlock(context, at).slot)),
})
