import type { SizedSource } from '../../shared/http.js'
import type { ReplyScheduler, ScheduledReply } from '../http/reply-scheduler.js'

export type FrameStreamParts = {
  readonly source: SizedSource
  readonly scheduler: ReplyScheduler
  /** Writes the next bytes of the frame, and returns how many were taken. May close the socket. */
  readonly write: (piece: Uint8Array) => number
  /** Called once. After a failure the socket cannot send anything more if the frame has begun. */
  readonly onEnd: (failure: unknown, hasBegun: boolean) => void
}

/**
 * One long message: a frame whose payload is read and written piece by piece, as its client takes
 * it. Only one piece is in memory here. Closes the source exactly once.
 */
export class FrameStream implements ScheduledReply {
  /** Bytes that are not written yet. */
  remainingBytes: number
  private readonly parts: FrameStreamParts
  private buffer: Uint8Array | undefined
  /** The part of `buffer` that is not written yet. */
  private piece: Uint8Array | undefined
  /** When its last piece was taken, or was there to be taken. */
  private progressAtMs: number
  private hasBegun = false
  private isReading = false
  private isEnded = false

  /** The first piece is written in a later turn: not while a message is handled. */
  constructor(parts: FrameStreamParts) {
    this.parts = parts
    this.remainingBytes = parts.source.byteLength
    this.progressAtMs = parts.scheduler.now()
    parts.scheduler.add(this)
    parts.scheduler.enqueue(this)
  }

  get stalledSinceMs(): number | undefined {
    return this.isReading ? undefined : this.progressAtMs
  }

  get sentBytes(): number {
    return this.parts.source.byteLength - this.remainingBytes
  }

  get refusedCount(): number {
    return this.parts.source.refusedCount?.() ?? 0
  }

  writeChunk(): void {
    if (this.isEnded || this.isReading || this.piece !== undefined) return
    const { scheduler, source } = this.parts
    const buffer = scheduler.pool.acquire()
    this.buffer = buffer
    try {
      const count = source.read(buffer)
      if (typeof count === 'number') return this.write(count)
      this.isReading = true
      count.then(this.onRead, this.onReadFailure)
    } catch (error) {
      this.end(error)
    }
  }

  /** The client takes bytes again. */
  onWritable(): void {
    if (!this.isEnded && this.piece !== undefined) this.tryWritePiece()
  }

  /** The socket is closed. */
  abort(): void {
    this.end(undefined)
  }

  abandon(): void {
    this.end(new Error('The client stopped reading, or reads too slowly'))
  }

  private readonly onRead = (count: number): void => {
    this.isReading = false
    if (this.isEnded) return this.releaseBuffer()
    try {
      this.write(count)
    } catch (error) {
      this.end(error)
    }
  }

  private readonly onReadFailure = (error: unknown): void => {
    this.isReading = false
    if (this.isEnded) return this.releaseBuffer()
    this.end(error)
  }

  private write(count: number): void {
    const { buffer, remainingBytes } = this
    const { source } = this.parts
    if (buffer === undefined) return
    const limit = Math.min(buffer.byteLength, remainingBytes)
    if (!Number.isInteger(count) || count < 1 || count > limit)
      return this.end(new Error(`A frame of ${source.byteLength} bytes gave ${count} more`))
    this.hasBegun = true
    this.noteProgress()
    this.piece = buffer.subarray(0, count)
    this.writePiece(this.piece)
  }

  private tryWritePiece(): void {
    try {
      if (this.piece !== undefined) this.writePiece(this.piece)
    } catch (error) {
      this.end(error)
    }
  }

  private writePiece(piece: Uint8Array): void {
    const { scheduler, write } = this.parts
    const taken = write(piece)
    // The socket may have been closed behind the last byte.
    if (this.isEnded) return
    this.remainingBytes -= taken
    if (taken < piece.length) {
      this.piece = piece.subarray(taken)
      return
    }
    this.piece = undefined
    this.releaseBuffer()
    this.noteProgress()
    if (this.remainingBytes === 0) this.end(undefined)
    else scheduler.enqueue(this)
  }

  private noteProgress(): void {
    this.progressAtMs = this.parts.scheduler.now()
  }

  private end(failure: unknown): void {
    if (this.isEnded) return
    this.isEnded = true
    this.piece = undefined
    this.remainingBytes = 0
    const { scheduler, source, onEnd } = this.parts
    scheduler.remove(this)
    // The source may still write to the buffer while a read is pending; then `onRead` releases it.
    if (!this.isReading) this.releaseBuffer()
    let cause = failure
    try {
      source.close()
    } catch (error) {
      cause ??= error
    }
    onEnd(cause, this.hasBegun)
  }

  private releaseBuffer(): void {
    if (this.buffer !== undefined) this.parts.scheduler.pool.release(this.buffer)
    this.buffer = undefined
  }
}
