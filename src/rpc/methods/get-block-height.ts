import { method } from '../method.js'
import { ignored } from '../params.js'
import { requireTip } from '../require-tip.js'
import { SLOT } from '../schemas.js'

/** Height of the newest indexed block. */
export const getBlockHeight = method({
  name: 'getBlockHeight',
  summary: 'The height of the newest indexed block.',
  bound: 'none',
  params: [ignored],
  result: SLOT,
  run: context => Buffer.from(String(requireTip(context).blockHeight)),
})
