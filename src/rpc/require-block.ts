import { RpcError } from '../shared/errors.js'
import type { Commitment } from '../native/reads.js'
import type { Tip } from '../native/store.js'
import type { MethodContext } from './method.js'

/** The block that a caller wants: the newest of a commitment, if it is of this slot or later. */
export type WantedBlock = {
  readonly commitment: Commitment
  readonly minContextSlot: number | undefined
}

/** That block. Throws `noIndex` before the first, and `minContextSlot` where it is too early. */
export const requireBlock = (
  context: MethodContext,
  { commitment, minContextSlot = 0 }: WantedBlock,
): Tip => {
  const block = context.block(commitment)
  if (block === undefined) throw new RpcError('noIndex')
  if (block.slot < minContextSlot)
    throw new RpcError('minContextSlot', undefined, { contextSlot: block.slot })
  return block
}

/**
 * The same for a read that finds its block itself. That is this one or a later one: the slots of an
 * index never decrease.
 */
export const requireReached = (context: MethodContext, wanted: WantedBlock): void => {
  if (wanted.minContextSlot !== undefined) requireBlock(context, wanted)
}

/** Throws if the newest block is so old that no transaction may name its hash any more. */
export const requireBlockhashes = ({ areBlockhashesExpired }: MethodContext): void => {
  if (areBlockhashesExpired?.() !== true) return
  throw new RpcError('nodeUnhealthy', undefined, { numSlotsBehind: null })
}
