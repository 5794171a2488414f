/**
 * How a slot gets a second bank, or its bank's messages an unusual order:
 *
 * - `handover`: the leader abandons the bank for one with another parent; its writes come late.
 * - `equivocation`: two banks are frozen, and one is confirmed; the other's block comes again.
 * - `dead`: the slot fails, another version of it becomes final without having been confirmed.
 * - `skipped`: the slot has writes and no block.
 * - `undecided`: two banks are frozen and no status comes: the child's parent hash decides.
 * - `early`: accounts come before their bank, and the status before the block.
 * - `replayed`: the block is replayed in another bank.
 */
export const BANK_FAULTS = [
  'handover',
  'equivocation',
  'dead',
  'skipped',
  'undecided',
  'early',
  'replayed',
] as const
export type BankFault = (typeof BANK_FAULTS)[number]

/** Whether a hidden slot is omitted always, or from live streams but not from replays. */
export type Hidden = 'always' | 'live'

/** A confirmed slot and its parent. */
export type Confirmed = { readonly slot: number; readonly parentSlot: number }

/** Faults to inject into open or future slots. */
export class SlotFaults {
  readonly omitted = new Map<number, Hidden>()
  /** Slots whose block names a false parent hash. */
  readonly forgedParents = new Set<number>()
  /** Slots that are sent twice, including their statuses. */
  readonly doubled = new Set<number>()
  /** Slots that are sent after their successor. */
  readonly swapped = new Set<number>()
  /** Slots that are followed by two forks. */
  readonly forked = new Set<number>()
  /** Slots that are followed by a confirmed block which the chain does not have: its blockhash. */
  readonly orphaned = new Map<number, string>()
  /** Slots whose whole block lacks one of the accounts that it announces. */
  readonly shortened = new Set<number>()
  /** Slots with a second bank. */
  readonly banks = new Map<number, BankFault>()
  /** Earlier slots cannot be replayed. */
  replayFloor = 0
  private delayed: Confirmed | undefined

  /** The slots to send, in order, when this one is confirmed. */
  order(confirmed: Confirmed): Confirmed[] {
    const { delayed } = this
    this.delayed = undefined
    if (delayed !== undefined) return [confirmed, delayed]
    if (!this.swapped.has(confirmed.slot)) return [confirmed]
    this.delayed = confirmed
    return []
  }

  repeatsOf(slot: number): number {
    return this.doubled.has(slot) ? 1 : 0
  }

  isForked(slot: number): boolean {
    return this.forked.has(slot)
  }
}
