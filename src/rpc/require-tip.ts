import { RpcError } from '../shared/errors.js'
import type { Tip } from '../native/store.js'
import type { View } from './method.js'

/** The newest indexed block. Throws `noIndex` before the first. */
export const toTip = (view: View): Tip => {
  const tip = view.tip()
  if (tip === undefined) throw new RpcError('noIndex')
  return tip
}
