import type { HttpResponse } from '../compiled/response.js'
import type { BodySource } from '../../shared/http.js'
import type { ReplyScheduler, ScheduledReply } from './reply-scheduler.js'

/**
 * Called once, when a large reply ends. Until the head is written the connection can still send
 * another reply.
 */
export type StreamEnd = (failure: unknown, isHeadWritten: boolean) => void

export type ReplyStreamParts = {
  readonly res: HttpResponse
  readonly source: BodySource
  readonly scheduler: ReplyScheduler
  /** Writes status and headers before the first chunk; undefined if they are written already. */
  readonly head: (() => void) | undefined
  /** Bytes of the body that are sent already. */
  readonly sentBytes: number
  /** Content-Length; undefined if the reply is chunked. */
  readonly totalBytes: number | undefined
}

/**
 * One large reply. Buffers at most one chunk beyond what the source buffers, so a client that stops
 * reading stops the reading of the source. Closes the source exactly once.
 */
export class ReplyStream implements ScheduledReply {
  /** When its last chunk was sent, or was there to be sent. */
  private progressAtMs: number
  private readonly res: HttpResponse
  private readonly source: BodySource
  private readonly scheduler: ReplyScheduler
  private readonly onEnd: StreamEnd
  private readonly totalBytes: number | undefined
  private head: (() => void) | undefined
  /** Bytes of the body before `chunk`. */
  sentBytes: number
  private buffer: Uint8Array | undefined
  /** The part of `buffer` that is not sent yet. */
  private chunk: Uint8Array | undefined
  private isReading = false
  private isEnded = false

  constructor(parts: ReplyStreamParts, onEnd: StreamEnd) {
    this.res = parts.res
    this.source = parts.source
    this.scheduler = parts.scheduler
    this.head = parts.head
    this.sentBytes = parts.sentBytes
    this.totalBytes = parts.totalBytes
    this.onEnd = onEnd
    this.progressAtMs = parts.scheduler.now()
    parts.scheduler.add(this)
    parts.res.onWritable(this.onWritable)
  }

  get stalledSinceMs(): number | undefined {
    return this.isReading ? undefined : this.progressAtMs
  }

  get refusedCount(): number {
    return this.source.refusedCount?.() ?? 0
  }

  /** Called in the tick of the reply, and then by the scheduler. */
  writeChunk(): void {
    if (this.isEnded || this.isReading || this.chunk !== undefined) return
    const buffer = this.scheduler.pool.acquire()
    this.buffer = buffer
    try {
      const count = this.source.read(buffer)
      if (typeof count === 'number') {
        this.write(count)
      } else {
        this.isReading = true
        count.then(this.onRead, this.onReadFailure)
      }
    } catch (error) {
      this.fail(error)
    }
  }

  /** The client has disconnected: `res` must not be used any more. */
  abort(): void {
    this.end(undefined)
  }

  abandon(): void {
    this.fail(new Error('The client stopped reading, or reads too slowly'))
  }

  private readonly onRead = (count: number): void => {
    this.isReading = false
    if (this.isEnded) return this.releaseBuffer()
    this.progressAtMs = this.scheduler.now()
    try {
      this.write(count)
    } catch (error) {
      this.fail(error)
    }
  }

  private readonly onReadFailure = (error: unknown): void => {
    this.isReading = false
    if (this.isEnded) return this.releaseBuffer()
    this.fail(error)
  }

  private write(count: number): void {
    const { buffer, totalBytes } = this
    if (buffer === undefined) return
    const limit = Math.min(buffer.byteLength, (totalBytes ?? Infinity) - this.sentBytes)
    if (!Number.isInteger(count) || count < 0 || count > limit) {
      return this.fail(new Error(`A reply of ${totalBytes} bytes gave ${count} more`))
    }
    if (count === 0) {
      if (totalBytes !== undefined) {
        return this.fail(new Error(`A reply of ${totalBytes} bytes ended after ${this.sentBytes}`))
      }
      this.res.cork(this.sendEnd)
      return this.end(undefined)
    }
    this.chunk = buffer.subarray(0, count)
    this.res.cork(this.send)
  }

  private readonly sendEnd = (): void => {
    this.sendHead()
    this.res.end('')
  }

  private sendHead(): void {
    const { head } = this
    this.head = undefined
    head?.()
  }

  private readonly send = (): void => {
    const { chunk, totalBytes } = this
    if (chunk === undefined) return
    this.sendHead()
    if (totalBytes === undefined) {
      // uWebSockets buffers what the kernel does not take. Nothing more is written until
      // `onWritable`.
      if (this.res.write(chunk)) this.sendNext(chunk.byteLength)
      else this.finishChunk(chunk.byteLength)
      return
    }
    const [isTaken, isDone] = this.res.tryEnd(chunk, totalBytes)
    if (isDone) this.end(undefined)
    else if (isTaken) this.sendNext(chunk.byteLength)
  }

  private readonly onWritable = (offset: number): boolean => {
    if (this.isEnded) return true
    const { buffer, totalBytes } = this
    try {
      if (totalBytes === undefined || this.chunk === undefined || buffer === undefined) {
        this.progressAtMs = this.scheduler.now()
        if (!this.isReading) this.scheduler.enqueue(this)
        return true
      }
      // `offset` counts the bytes of the body that the kernel has taken, including a part of this
      // chunk.
      const takenBytes = offset - this.sentBytes
      this.sentBytes = offset
      this.chunk = this.chunk.subarray(takenBytes)
      if (takenBytes > 0) this.progressAtMs = this.scheduler.now()
      this.send()
      return this.isEnded || this.chunk === undefined
    } catch (error) {
      this.fail(error)
      return true
    }
  }

  private sendNext(bytes: number): void {
    this.finishChunk(bytes)
    this.scheduler.enqueue(this)
  }

  private finishChunk(bytes: number): void {
    this.sentBytes += bytes
    this.progressAtMs = this.scheduler.now()
    this.chunk = undefined
    this.releaseBuffer()
  }

  private fail(error: unknown): void {
    if (this.isEnded) return
    const isHeadWritten = this.head === undefined
    this.end(error)
    // The client must notice that the reply is incomplete.
    if (isHeadWritten) this.res.close()
  }

  private end(failure: unknown): void {
    if (this.isEnded) return
    this.isEnded = true
    this.chunk = undefined
    this.scheduler.remove(this)
    // The source may still write to the buffer while a read is pending; then `onRead` releases it.
    if (!this.isReading) this.releaseBuffer()
    let cause = failure
    try {
      this.source.close()
    } catch (error) {
      cause ??= error
    }
    this.onEnd(cause, this.head === undefined)
  }

  private releaseBuffer(): void {
    if (this.buffer !== undefined) this.scheduler.pool.release(this.buffer)
    this.buffer = undefined
  }
}
