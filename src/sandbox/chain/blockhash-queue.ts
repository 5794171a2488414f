import { toMapKey } from '../solana/addresses.js'

/** Age of a blockhash: valid for a transaction, too old, or never seen. */
export type BlockhashAge = 'recent' | 'expired' | 'unknown'

/** Expired hashes are remembered for this many times the age at which they expire. */
const EXPIRED_AGES = 10

/** Blockhashes that a transaction may name: those of the last `ageMax` blocks. */
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
      if (this.expired.size <= this.ageMax * EXPIRED_AGES) return
      this.expired.delete(oldest)
    }
  }

  ageOf(blockhash: Uint8Array): BlockhashAge {
    const id = toMapKey(blockhash)
    if (this.recent.has(id)) return 'recent'
    return this.expired.has(id) ? 'expired' : 'unknown'
  }
}
