import type { Options } from '../options.js'

/** Smaller buffers are not pooled: they are cheap garbage. */
const POOLED_BYTES_MIN = 1024

/** Free buffers of one size. */
type Shelf = {
  readonly free: Uint8Array[]
  /** The fewest that were free since the last sweep: so many were not needed. */
  unused: number
}

/**
 * Buffers of bodies, reused. Each new one would be garbage by the byte: V8 then marks its heap in
 * steps of 5 ms and more, which hold the event loop for everybody.
 */
export class BodyPool {
  private readonly options: Pick<Options, 'bodiesPooledBytesMax' | 'bodiesPooledMs'>
  private readonly shelves = new Map<number, Shelf>()
  private freeBytes = 0
  private timer: NodeJS.Timeout | undefined

  constructor(options: Pick<Options, 'bodiesPooledBytesMax' | 'bodiesPooledMs'>) {
    this.options = options
  }

  /** Bytes that are kept for reuse. */
  get pooledBytes(): number {
    return this.freeBytes
  }

  /** Bytes of the buffer that `take` returns: a power of two from 1 KiB on. */
  sizeOf(bytes: number): number {
    return bytes < POOLED_BYTES_MIN ? bytes : 2 ** Math.ceil(Math.log2(bytes))
  }

  /** A buffer of `sizeOf(bytes)` bytes, whose content is arbitrary. */
  take(bytes: number): Uint8Array {
    const size = this.sizeOf(bytes)
    const shelf = this.shelves.get(size)
    const buffer = shelf?.free.pop()
    if (shelf === undefined || buffer === undefined) return Buffer.allocUnsafeSlow(size)
    shelf.unused = Math.min(shelf.unused, shelf.free.length)
    this.freeBytes -= size
    return buffer
  }

  /** The caller must not use the buffer after this. */
  give(buffer: Uint8Array): void {
    const size = buffer.byteLength
    if (size < POOLED_BYTES_MIN || this.freeBytes + size > this.options.bodiesPooledBytesMax) return
    const shelf = this.shelves.get(size) ?? { free: [], unused: 0 }
    this.shelves.set(size, shelf)
    shelf.free.push(buffer)
    this.freeBytes += size
    this.timer ??= setInterval(() => this.sweep(), this.options.bodiesPooledMs).unref()
  }

  close(): void {
    clearInterval(this.timer)
    this.timer = undefined
    this.shelves.clear()
    this.freeBytes = 0
  }

  /** Drops what was not needed since the last time. */
  private sweep(): void {
    for (const [size, shelf] of this.shelves) {
      shelf.free.length -= shelf.unused
      this.freeBytes -= size * shelf.unused
      shelf.unused = shelf.free.length
    }
    if (this.freeBytes === 0) this.close()
  }
}
