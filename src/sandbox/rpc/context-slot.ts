import type { Members } from '../../shared/values.js'
import { RpcFailure } from './failure.js'
import { toSlot } from './params.js'

/** Throws if the newest slot of a commitment is before the caller's minimum, as a node does. */
export const requireContextSlot = (slot: number, { minContextSlot }: Members): void => {
  if (slot >= (toSlot(minContextSlot) ?? 0)) return
  const message = 'Minimum context slot has not been reached'
  throw new RpcFailure(-32016, message, { contextSlot: slot })
}
