import { method } from '../method.js'
import { block } from '../params.js'
import { requireBlock } from '../require-block.js'
import { SLOT } from '../../shared/describe/schemas.js'

/** Height of the newest block at a commitment. */
export const getBlockHeight = method({
  name: 'getBlockHeight',
  summary: 'The height of the block at that slot.',
  bound: 'none',
  params: [block],
  result: SLOT,
  errors: ['noIndex', 'nodeUnhealthy'],
  example: {
    params: [],
    result: 8,
  },
  run: (context, wanted) => Buffer.from(String(requireBlock(context, wanted).blockHeight)),
})
