import { method } from '../method.js'
import { commitment } from '../params.js'
import { requireBlock } from '../require-block.js'
import { SLOT } from '../../shared/describe/schemas.js'

/** Height of the newest block at a commitment. */
export const getBlockHeight = method({
  name: 'getBlockHeight',
  summary: 'The height of the block at that slot.',
  bound: 'none',
  params: [commitment],
  result: SLOT,
  errors: ['noIndex', 'nodeUnhealthy'],
  example: {
    params: [],
    result: 8,
  },
  run: (context, at) => Buffer.from(String(requireBlock(context, at).blockHeight)),
})
