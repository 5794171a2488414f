import { toMapKey } from './addresses.js'

/** The block hashes that a transaction may name: those of the last `ageMax` blocks. */
export class BlockhashQueue {
  private readonly heights = new Map<string, number>()
  private readonly ageMax: number

  constructor(ageMax: number) {
    this.ageMax = ageMax
  }

  add(blockhash: Uint8Array, blockHeight: number): void {
    this.heights.set(toMapKey(blockhash), blockHeight)
    // A Map keeps the order of insertion, so the first key is the oldest hash.
    for (const oldest of this.heights.keys()) {
      if (this.heights.size <= this.ageMax) return
      this.heights.delete(oldest)
    }
  }

  /** True where a transaction of the next block may name it. */
  isRecent(blockhash: Uint8Array): boolean {
    return this.heights.has(toMapKey(blockhash))
  }
}
