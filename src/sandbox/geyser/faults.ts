/** Nobody hears a slot, or only those who replay it later. */
export type Hidden = 'always' | 'live'

/** A slot that is to be said, and what it follows. */
export type Confirmed = { readonly slot: number; readonly parentSlot: number }

/** What the feed is to say wrong, for tests. Slots are open ones, or still to come. */
export class GeyserFaults {
  readonly omitted = new Map<number, Hidden>()
  /** The block names a parent hash that never was. */
  readonly forgedParents = new Set<number>()
  /** Said twice, statuses included. */
  readonly doubled = new Set<number>()
  /** Said after the slot behind it. */
  readonly swapped = new Set<number>()
  /** Followed by two blocks that are none. */
  readonly forked = new Set<number>()
  /** Slots before it cannot be replayed. */
  replayFloor = 0
  private late: Confirmed | undefined

  /** What to say now that this slot is confirmed, in order. */
  order(confirmed: Confirmed): Confirmed[] {
    const { late } = this
    this.late = undefined
    if (late !== undefined) return [confirmed, late]
    if (!this.swapped.has(confirmed.slot)) return [confirmed]
    this.late = confirmed
    return []
  }

  repeatsOf(slot: number): number {
    return this.doubled.has(slot) ? 1 : 0
  }

  isForked(slot: number): boolean {
    return this.forked.has(slot)
  }
}
