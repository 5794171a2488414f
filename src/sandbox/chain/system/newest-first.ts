const COUNT_BYTES = 8

/** A list of bounded length with its newest entry first, as the sysvars of hashes have it. */
export class NewestFirst {
  private readonly bytes: Buffer
  private readonly entryBytes: number
  private count = 0

  constructor(countMax: number, entryBytes: number) {
    this.entryBytes = entryBytes
    this.bytes = Buffer.alloc(COUNT_BYTES + countMax * entryBytes)
  }

  /** Inserts an entry of these two parts, and returns the account's data. */
  add(first: Uint8Array, second: Uint8Array): Buffer {
    const { bytes, entryBytes } = this
    bytes.copyWithin(COUNT_BYTES + entryBytes, COUNT_BYTES, bytes.length - entryBytes)
    bytes.set(first, COUNT_BYTES)
    bytes.set(second, COUNT_BYTES + first.length)
    this.count = Math.min(this.count + 1, (bytes.length - COUNT_BYTES) / entryBytes)
    bytes.writeBigUInt64LE(BigInt(this.count))
    return Buffer.from(bytes)
  }
}
