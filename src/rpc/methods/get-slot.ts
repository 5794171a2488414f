import { method } from '../method.js'
import { block } from '../params.js'
import { requireBlock } from '../require-block.js'
import { SLOT } from '../../shared/describe/schemas.js'

/** The newest slot of the index at a commitment. */
export const getSlot = method({
  name: 'getSlot',
  summary: 'The newest indexed slot that is finalized, or confirmed.',
  bound: 'none',
  params: [block],
  result: SLOT,
  errors: ['noIndex', 'nodeUnhealthy'],
  example: {
    params: [],
    result: 9,
  },
  run: (context, wanted) => Buffer.from(String(requireBlock(context, wanted).slot)),
})
