/** Buffers of one size, reused so that long replies create no garbage. */
export class ChunkPool {
  private readonly free: Uint8Array[] = []
  private readonly chunkBytes: number
  private readonly pooledMax: number

  constructor(chunkBytes: number, pooledMax: number) {
    this.chunkBytes = chunkBytes
    this.pooledMax = pooledMax
  }

  acquire(): Uint8Array {
    return this.free.pop() ?? Buffer.allocUnsafeSlow(this.chunkBytes)
  }

  /** The caller must not use the buffer after this. */
  release(chunk: Uint8Array): void {
    if (this.free.length < this.pooledMax) this.free.push(chunk)
  }
}
