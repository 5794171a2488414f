import { RpcError } from '../shared/errors.js'
import type { Tip } from '../native/store.js'
import type { MethodContext } from './method.js'

/** The newest indexed block. Throws `noIndex` before the first. */
export const requireTip = (context: MethodContext): Tip => {
  const tip = context.tip()
  if (tip === undefined) throw new RpcError('noIndex')
  return tip
}
