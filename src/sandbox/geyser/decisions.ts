import type { Commitment } from '../chain/block.js'

type Decision = Exclude<Commitment, 'processed'>

/**
 * A validator of Alpenglow reports one event by two threads: either status may come first, and the
 * confirmation of a block that its child has finalized may be missing. The order depends on the
 * slot only, so that a client that fails once fails again.
 */
const ORDERS: readonly (readonly Decision[])[] = [
  ['confirmed', 'finalized'],
  ['finalized', 'confirmed'],
  ['confirmed', 'finalized'],
  ['finalized'],
]

/** Statuses of a block that is confirmed and final at once, in the order in which they are sent. */
export const decisionsOf = (slot: number): readonly Decision[] => ORDERS[slot % ORDERS.length] ?? []
