/** Buffers of one size, so that a stream of pieces does not make a stream of garbage. */
export class PiecePool {
  private readonly free: Uint8Array[] = []
  private readonly pieceBytes: number
  private readonly keptMax: number

  constructor(pieceBytes: number, keptMax: number) {
    this.pieceBytes = pieceBytes
    this.keptMax = keptMax
  }

  take(): Uint8Array {
    return this.free.pop() ?? Buffer.allocUnsafeSlow(this.pieceBytes)
  }

  /** Nobody else may hold the buffer any more. */
  give(piece: Uint8Array): void {
    if (this.free.length < this.keptMax) this.free.push(piece)
  }
}
