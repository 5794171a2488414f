import { toMapKey } from '../solana/addresses.js'

/** Age of a blockhash: valid for a transaction, too old, or never seen. */
export type BlockhashAge = 'recent' | 'expired' | 'unknown'

/** Expired hashes are remembered for this many times the age at which they expire. */
const EXPIRED_AGES = 10

/** Blockhashes that a transaction may name: those of the last `ageMax` blocks. */
export class BlockhashQueue {
  /** With the height of the block of each. */
  private readonly recent = new Map<string, number>()
  private readonly expired = new Set<string>()
  private readonly ageMax: number

  constructor(ageMax: number) {
    this.ageMax = ageMax
  }

  add(blockhash: Uint8Array, blockHeight: number): void {
    this.recent.set(toMapKey(blockhash), blockHeight)
    // A map keeps the order of insertion, so the first key is the oldest hash.
    for (const oldest of this.recent.keys()) {
      if (this.recent.size <= this.ageMax) break
      this.recent.delete(oldest)
      this.expired.add(oldest)
    }
    for (const oldest of this.expired) {
      if (this.expired.size <= this.ageMax * EXPIRED_AGES) return
      this.expired.delete(oldest)
    }
  }

  /** The age by the block of `newestHeight`, which knows no hash of a later one. */
  ageOf(blockhash: Uint8Array, newestHeight: number): BlockhashAge {
    const id = toMapKey(blockhash)
    const height = this.recent.get(id)
    if (height !== undefined) return height <= newestHeight ? 'recent' : 'unknown'
    return this.expired.has(id) ? 'expired' : 'unknown'
  }
}
