import type { HttpResponse } from 'uWebSockets.js'
import type { BodySource } from '../../shared/http.js'
import type { Pump } from './reply-scheduler.js'

/**
 * Told once how a large reply ended. Without a head, nothing was written: the connection can still
 * answer.
 */
export type StreamEnd = (failure: unknown, isHeadWritten: boolean) => void

/**
 * One large reply on its way. Holds at most one piece beyond what the source holds: a client that
 * stops reading stops the reading of the source. Closes the source exactly once.
 */
export class ReplyStream {
  /** When the last piece left. */
  progressAtMs: number
  private readonly res: HttpResponse
  private readonly source: BodySource
  private readonly pump: Pump
  private readonly onEnd: StreamEnd
  /** Content-Length; undefined where the reply is chunked. */
  private readonly totalBytes: number | undefined
  /** Writes status and headers before the first piece; undefined once it has. */
  private head: (() => void) | undefined
  /** Bytes of the body before `piece`. */
  private sentBytes: number
  private buffer: Uint8Array | undefined
  private piece: Uint8Array | undefined
  private isReading = false
  private isOver = false

  /** `sentBytes` of the reply are already on their way. */
  constructor(
    {
      res,
      source,
      pump,
      head,
      sentBytes,
      totalBytes,
    }: {
      readonly res: HttpResponse
      readonly source: BodySource
      readonly pump: Pump
      readonly head: (() => void) | undefined
      readonly sentBytes: number
      readonly totalBytes: number | undefined
    },
    onEnd: StreamEnd,
  ) {
    this.res = res
    this.source = source
    this.pump = pump
    this.head = head
    this.sentBytes = sentBytes
    this.totalBytes = totalBytes
    this.onEnd = onEnd
    this.progressAtMs = pump.now()
    pump.add(this)
    res.onWritable(this.onWritable)
  }

  /** Reads and writes one piece. Called in the tick of the reply, and then by the pump. */
  step(): void {
    if (this.isOver || this.isReading || this.piece !== undefined) return
    const buffer = this.pump.pool.take()
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

  /** The client is gone: uWebSockets.js has forgotten the response. */
  abort(): void {
    this.end(undefined)
  }

  /** The client is there, but takes nothing. */
  giveUp(): void {
    this.fail(new Error('The client stopped reading'))
  }

  private readonly onRead = (count: number): void => {
    this.isReading = false
    if (this.isOver) return this.release()
    try {
      this.write(count)
    } catch (error) {
      this.fail(error)
    }
  }

  private readonly onReadFailure = (error: unknown): void => {
    this.isReading = false
    if (this.isOver) return this.release()
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
    this.piece = buffer.subarray(0, count)
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
    const { piece, totalBytes } = this
    if (piece === undefined) return
    this.sendHead()
    if (totalBytes === undefined) {
      // What the kernel does not take stays in uWebSockets.js: this piece, and nothing until it is
      // writable.
      if (this.res.write(piece)) this.next(piece.byteLength)
      else this.wait(piece.byteLength)
      return
    }
    const [isTaken, isDone] = this.res.tryEnd(piece, totalBytes)
    if (isDone) this.end(undefined)
    else if (isTaken) this.next(piece.byteLength)
  }

  private readonly onWritable = (offset: number): boolean => {
    if (this.isOver) return true
    const { buffer, totalBytes } = this
    try {
      if (totalBytes === undefined || this.piece === undefined || buffer === undefined) {
        this.progressAtMs = this.pump.now()
        if (!this.isReading) this.pump.enqueue(this)
        return true
      }
      // `offset` counts the whole body, and what the kernel took of the piece before.
      const takenBytes = offset - this.sentBytes
      this.sentBytes = offset
      this.piece = this.piece.subarray(takenBytes)
      if (takenBytes > 0) this.progressAtMs = this.pump.now()
      this.send()
      return this.isOver || this.piece === undefined
    } catch (error) {
      this.fail(error)
      return true
    }
  }

  private next(bytes: number): void {
    this.wait(bytes)
    this.pump.enqueue(this)
  }

  private wait(bytes: number): void {
    this.sentBytes += bytes
    this.progressAtMs = this.pump.now()
    this.piece = undefined
    this.release()
  }

  private fail(error: unknown): void {
    if (this.isOver) return
    const isHeadWritten = this.head === undefined
    this.end(error)
    // Half a reply cannot be taken back: the client must see that it is not whole.
    if (isHeadWritten) this.res.close()
  }

  private end(failure: unknown): void {
    if (this.isOver) return
    this.isOver = true
    this.piece = undefined
    this.pump.remove(this)
    // While a read is pending its buffer is not ours: it goes back when the read settles.
    if (!this.isReading) this.release()
    let cause = failure
    try {
      this.source.close()
    } catch (error) {
      cause ??= error
    }
    this.onEnd(cause, this.head === undefined)
  }

  private release(): void {
    if (this.buffer !== undefined) this.pump.pool.give(this.buffer)
    this.buffer = undefined
  }
}
