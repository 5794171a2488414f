import { RpcError } from '../shared/errors.js'
import type { Commitment } from '../native/reads.js'
import type { Tip } from '../native/store.js'
import type { MethodContext } from './method.js'

/** The newest block of a commitment. Throws `noIndex` before the first. */
export const requireBlock = (context: MethodContext, commitment: Commitment): Tip => {
  const block = context.block(commitment)
  if (block === undefined) throw new RpcError('noIndex')
  return block
}

/** Throws where the newest block is so old that no transaction may name its hash any more. */
export const requireBlockhashes = ({ areBlockhashesExpired }: MethodContext): void => {
  if (areBlockhashesExpired?.() !== true) return
  throw new RpcError('nodeUnhealthy', undefined, { numSlotsBehind: null })
}
