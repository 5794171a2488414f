import { method } from '../method.js'
import { ignored } from '../params.js'
import { requireTip } from '../require-tip.js'
import { SLOT } from '../schemas.js'

/** The newest indexed slot, at which all reads are answered. */
export const getSlot = method({
  name: 'getSlot',
  summary: 'The newest indexed slot.',
  bound: 'none',
  params: [ignored],
  result: SLOT,
  run: context => Buffer.from(String(requireTip(context).slot)),
})
