import type { Chain } from '../chain/chain.js'

/** Options of what an engine remembers of bundles. */
export const defaults = {
  /** Bundles that are remembered; the oldest is forgotten for one more. */
  bundleCountMax: 50_000,
  /** In flight is asked about for so long. */
  inflightMs: 300_000,
  /** Landed bundles are found for so many slots. */
  lookBackSlots: 300,
}
export type BundleLedgerOptions = typeof defaults

type Entry = {
  readonly signatures: readonly string[]
  readonly acceptedAtMs: number
  /** Where it landed; `undefined` where it did not. */
  readonly slot: number | undefined
}

/** What an engine answers of one bundle that landed. */
export type BundleStatus = {
  readonly bundle_id: string
  readonly transactions: readonly string[]
  readonly slot: number
  readonly confirmation_status: 'confirmed' | 'finalized'
  readonly err: { readonly Ok: null }
}

/** What an engine answers of any id that it is asked about. */
export type InflightStatus = {
  readonly bundle_id: string
  readonly status: 'Invalid' | 'Pending' | 'Failed' | 'Landed'
  readonly landed_slot: number | null
}

/** Accepted bundles and what became of them. */
export class BundleLedger {
  private readonly chain: Chain
  private readonly options: BundleLedgerOptions
  private readonly now: () => number
  private readonly entries = new Map<string, Entry>()

  constructor(chain: Chain, options: BundleLedgerOptions, now: () => number) {
    this.chain = chain
    this.options = options
    this.now = now
  }

  add(id: string, signatures: readonly string[], slot: number | undefined): void {
    // Behind the others again: the order is that of age.
    this.entries.delete(id)
    this.entries.set(id, { signatures, slot, acceptedAtMs: this.now() })
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.options.bundleCountMax) return
      this.entries.delete(oldest)
    }
  }

  /** Nothing stands for an id that is unknown, did not land, or landed long ago. */
  statuses(ids: readonly string[]): BundleStatus[] {
    const { tip, options } = this.chain
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
        confirmation_status: depth >= options.finalizedAfterSlots ? 'finalized' : 'confirmed',
        err: { Ok: null },
      }
    })
  }

  /** Pending is what stands in a block that is still open. */
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
