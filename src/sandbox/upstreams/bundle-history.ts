import type { Chain } from '../chain/chain.js'

/** Bounds of the bundle history of an engine. */
export const defaults = {
  /** When it is full, the oldest bundle is evicted. */
  bundleCountMax: 50_000,
  /** getInflightBundleStatuses knows a bundle for this long. */
  inflightMs: 300_000,
  /** getBundleStatuses finds a landed bundle for this many slots. */
  lookBackSlots: 300,
}
export type BundleHistoryOptions = typeof defaults

type Entry = {
  readonly signatures: readonly string[]
  readonly acceptedAtMs: number
  /** The slot it landed in, if it did. */
  readonly slot: number | undefined
}

/** Status of a landed bundle, as on the wire. */
export type BundleStatus = {
  readonly bundle_id: string
  readonly transactions: readonly string[]
  readonly slot: number
  readonly confirmation_status: 'confirmed' | 'finalized'
  readonly err: { readonly Ok: null }
}

/** Status of any requested id, as on the wire. */
export type InflightStatus = {
  readonly bundle_id: string
  readonly status: 'Invalid' | 'Pending' | 'Failed' | 'Landed'
  readonly landed_slot: number | null
}

/** Accepted bundles and whether they landed. */
export class BundleHistory {
  private readonly chain: Chain
  private readonly options: BundleHistoryOptions
  private readonly now: () => number
  private readonly entries = new Map<string, Entry>()

  constructor(chain: Chain, options: BundleHistoryOptions, now: () => number) {
    this.chain = chain
    this.options = options
    this.now = now
  }

  add(id: string, signatures: readonly string[], slot: number | undefined): void {
    // Deleted first, so that the map stays ordered by age.
    this.entries.delete(id)
    this.entries.set(id, { signatures, slot, acceptedAtMs: this.now() })
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.options.bundleCountMax) return
      this.entries.delete(oldest)
    }
  }

  /** Omits an id that is unknown, did not land, or landed too long ago. */
  statuses(ids: readonly string[]): BundleStatus[] {
    const { finalizedSlot, tip } = this.chain
    return ids.flatMap(id => {
      const entry = this.entries.get(id)
      const slot = entry?.slot
      if (entry === undefined || slot === undefined || slot > tip.slot) return []
      const depth = tip.slot - slot
      if (depth > this.options.lookBackSlots) return []
      return {
        bundle_id: id,
        transactions: entry.signatures,
        slot,
        confirmation_status: slot <= finalizedSlot ? 'finalized' : 'confirmed',
        err: { Ok: null },
      }
    })
  }

  /** Pending means in the open block. */
  inflight(ids: readonly string[]): InflightStatus[] {
    return ids.map(id => {
      const answer = (status: InflightStatus['status'], slot: number | null = null) => ({
        bundle_id: id,
        status,
        landed_slot: slot,
      })
      const entry = this.entries.get(id)
      if (entry === undefined || this.now() - entry.acceptedAtMs > this.options.inflightMs)
        return answer('Invalid')
      if (entry.slot === undefined) return answer('Failed')
      return entry.slot > this.chain.tip.slot ? answer('Pending') : answer('Landed', entry.slot)
    })
  }
}
