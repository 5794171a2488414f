/**
 * Joins the pieces of one body. uWebSockets.js empties each piece on return, so each one is copied.
 */
export class BodyBuffer {
  private bytes: Uint8Array = new Uint8Array(0)
  private length = 0
  private readonly claimedBytes: number
  private readonly stepBytesMax: number

  /** `claimedBytes` is what Content-Length says; undefined where the body is chunked. */
  constructor(claimedBytes: number | undefined, stepBytesMax: number) {
    this.claimedBytes = claimedBytes ?? Number.MAX_SAFE_INTEGER
    this.stepBytesMax = stepBytesMax
  }

  /** Bytes of memory held. */
  get capacity(): number {
    return this.bytes.byteLength
  }

  get byteLength(): number {
    return this.length
  }

  /** Bytes of memory that will be held once `pieceBytes` more have come. */
  capacityWith(pieceBytes: number): number {
    const needed = this.length + pieceBytes
    if (needed <= this.bytes.byteLength) return this.bytes.byteLength
    // Doubling keeps the copies linear; the step keeps a claim of 8 MiB with one byte behind it
    // cheap.
    const ahead = Math.min(needed, this.stepBytesMax)
    return Math.max(needed, Math.min(this.claimedBytes, needed + ahead))
  }

  append(piece: Uint8Array): void {
    const capacity = this.capacityWith(piece.byteLength)
    if (capacity > this.bytes.byteLength) {
      const grown = Buffer.allocUnsafeSlow(capacity)
      grown.set(this.bytes.subarray(0, this.length))
      this.bytes = grown
    }
    this.bytes.set(piece, this.length)
    this.length += piece.byteLength
  }

  /** What has come so far, without a copy. */
  view(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }
}
