import type { BodyPool } from './body-pool.js'

/** From this part of the longest step on, the buffer grows by the longest step. */
const LAST_STEP_PART = 8

/**
 * Joins the chunks of one body. uWebSockets reuses the memory of a chunk, so each one is copied.
 */
export class BodyBuffer {
  private bytes: Uint8Array = new Uint8Array(0)
  private length = 0
  private readonly pool: BodyPool
  private readonly bytesMax: number
  private readonly stepBytesMax: number

  /** No more than `bytesMax` are appended: the Content-Length, or the bound of the route. */
  constructor(pool: BodyPool, bytesMax: number, stepBytesMax: number) {
    this.pool = pool
    this.bytesMax = bytesMax
    this.stepBytesMax = stepBytesMax
  }

  /** Bytes of memory allocated. */
  get capacity(): number {
    return this.bytes.byteLength
  }

  get byteLength(): number {
    return this.length
  }

  /** Bytes of memory allocated once `chunkBytes` more are appended. */
  capacityWith(chunkBytes: number): number {
    const needed = this.length + chunkBytes
    if (needed <= this.bytes.byteLength) return this.bytes.byteLength
    // Doubling keeps the copies linear. The last step is the longest, because a copy of some MiB
    // holds the event loop for milliseconds; it limits what a large Content-Length with few bytes
    // behind it costs.
    const isLong = needed * LAST_STEP_PART >= this.stepBytesMax
    const ahead = isLong ? this.stepBytesMax : needed
    return this.pool.sizeOf(Math.max(needed, Math.min(this.bytesMax, needed + ahead)))
  }

  append(chunk: Uint8Array): void {
    const capacity = this.capacityWith(chunk.byteLength)
    if (capacity > this.bytes.byteLength) {
      const grown = this.pool.take(capacity)
      grown.set(this.view())
      this.pool.give(this.bytes)
      this.bytes = grown
    }
    this.bytes.set(chunk, this.length)
    this.length += chunk.byteLength
  }

  /** The bytes that were received, without a copy; valid until the next `append` or `release`. */
  view(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }

  /** Its memory may be another body's from now on. */
  release(): void {
    this.pool.give(this.bytes)
    this.bytes = new Uint8Array(0)
    this.length = 0
  }
}
