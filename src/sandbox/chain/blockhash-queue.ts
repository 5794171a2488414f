import { toMapKey } from '../solana/addresses.js'

/** How a block hash stands: good for a transaction, too old for one, or never seen. */
export type BlockhashAge = 'recent' | 'expired' | 'unknown'

/**
 * Expired hashes are told from unknown ones for this many times the age that they were good for.
 */
const MEMORY_AGES = 10

/** The block hashes that a transaction may name: those of the last `ageMax` blocks. */
export class BlockhashQueue {
  private readonly recent = new Set<string>()
  private readonly expired = new Set<string>()
  private readonly ageMax: number

  constructor(ageMax: number) {
    this.ageMax = ageMax
  }

  add(blockhash: Uint8Array): void {
    this.recent.add(toMapKey(blockhash))
    // A Set keeps the order of insertion, so the first key is the oldest hash.
    for (const oldest of this.recent) {
      if (this.recent.size <= this.ageMax) break
      this.recent.delete(oldest)
      this.expired.add(oldest)
    }
    for (const oldest of this.expired) {
      if (this.expired.size <= this.ageMax * MEMORY_AGES) return
      this.expired.delete(oldest)
    }
  }

  /** Recent is what a transaction of the next block may name. */
  ageOf(blockhash: Uint8Array): BlockhashAge {
    const id = toMapKey(blockhash)
    if (this.recent.has(id)) return 'recent'
    return this.expired.has(id) ? 'expired' : 'unknown'
  }
}
