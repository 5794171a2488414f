import { method } from '../method.js'
import { ignored } from '../params.js'
import { toTip } from '../require-tip.js'
import { SLOT } from '../schemas.js'

/** The slot that everything here is answered at. */
export const getSlot = method({
  name: 'getSlot',
  summary: 'The newest indexed slot.',
  bound: 'none',
  params: [ignored],
  result: SLOT,
  run: view => Buffer.from(String(toTip(view).slot)),
})
