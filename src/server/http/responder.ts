import type { HttpResponse } from 'uWebSockets.js'
import type { BodySource, Reply } from '../../shared/http.js'
import { createBytesSource } from './bytes-source.js'
import { checkHead, writeHead } from './head.js'
import { isSource } from './reply-scheduler.js'
import { ReplyStream } from './reply-stream.js'
import type { Shared } from '../context.js'

/**
 * One response: written once, never after an abort. What is read of its request is in `Exchange`.
 */
export abstract class Responder {
  readonly method: string
  protected readonly shared: Shared
  protected readonly res: HttpResponse
  /** Answered or aborted: uWebSockets.js throws on every further use of `res`. */
  protected isGone = false
  /** The connection ends with this reply. */
  protected isClosing = false
  private isHeadWritten = false
  private hasAbortHandler = false
  private stream: ReplyStream | undefined

  constructor(shared: Shared, res: HttpResponse, method: string) {
    this.shared = shared
    this.res = res
    this.method = method
  }

  abstract get id(): string
  abstract get address(): string

  /** The reply is sent, or the client is gone. Called exactly once. */
  protected abstract onGone(): void

  /** uWebSockets.js ends the process where a handler returns with neither an answer nor this. */
  protected watchAbort(): void {
    if (this.hasAbortHandler) return
    this.hasAbortHandler = true
    this.res.onAborted(() => this.abort())
  }

  /** The source with whatever must be asked before each piece of it. */
  protected abstract guard(source: BodySource): BodySource

  /**
   * Sends a reply. `isCorked` holds within a callback of uWebSockets.js, where writes are joined
   * already.
   */
  protected send(reply: Reply, isCorked: boolean): void {
    if (this.isGone) return this.discard(reply.body)
    // The next pipelined request would undo the close: it must find this one unanswered (see
    // sendAndClose).
    if (this.isClosing && isCorked) return this.sendAndClose(reply)
    if (isCorked) this.tryWrite(reply)
    else this.res.cork(() => this.tryWrite(reply))
  }

  /**
   * Sends a reply and closes the connection. Not in the tick of the request: uWebSockets.js forgets
   * that it was to close when another request follows in the same packet, and would serve what may
   * be smuggled. Unanswered until the packet is parsed, the first one makes it close the connection
   * instead.
   */
  protected sendAndClose(reply: Reply): void {
    this.isClosing = true
    this.watchAbort()
    // By then the handler's buffer may hold another reply.
    const { body } = reply
    const kept = body instanceof Uint8Array ? { ...reply, body: Buffer.from(body) } : reply
    setImmediate(() => this.send(kept, false))
  }

  /** Gives back what a reply holds that will not be sent. */
  protected discard(body: unknown): void {
    if (!isSource(body)) return
    try {
      body.close()
    } catch (error) {
      this.shared.log.error({ err: error, requestId: this.id }, 'a reply could not be closed')
    }
  }

  private abort(): void {
    if (this.isGone) return
    this.isGone = true
    this.shared.abortedCount++
    this.stream?.abort()
    this.onGone()
  }

  protected finish(): void {
    this.isGone = true
    this.onGone()
  }

  private tryWrite(reply: Reply): void {
    try {
      this.write(reply)
    } catch (error) {
      this.shared.log.error({ err: error, requestId: this.id }, 'a reply could not be written')
      this.writeInternal()
    }
  }

  private writeInternal(): void {
    if (this.isGone) return
    // Half a reply cannot be taken back: the client must see that it is not whole.
    if (this.isHeadWritten) this.res.close()
    else this.write(this.shared.failures.internal)
  }

  private write(reply: Reply): void {
    if (reply.status !== 200 || reply.headers !== undefined) checkHead(reply)
    const { body } = reply
    const { replyDirectBytesMax } = this.shared.options
    if (this.method === 'HEAD') return this.writeHeadOnly(reply)
    if (typeof body === 'string') {
      // A UTF-16 unit is at most three bytes.
      if (body.length * 3 <= replyDirectBytesMax) return this.writeDirect(reply, body)
      return this.writeBytes(reply, Buffer.from(body))
    }
    if (body instanceof Uint8Array) return this.writeBytes(reply, body)
    if (body.byteLength !== 0) return this.writeSource(reply, body)
    this.discard(body)
    this.writeDirect(reply, '')
  }

  private writeBytes(reply: Reply, body: Uint8Array): void {
    const { options, failures } = this.shared
    if (body.byteLength <= options.replyDirectBytesMax) return this.writeDirect(reply, body)
    if (this.shared.replyBytesInFlight + body.byteLength > options.repliesInFlightBytesMax) {
      return this.write(failures.unavailable)
    }
    this.writeSource(reply, this.copy(body))
  }

  /** The handler's buffer is written anew after this tick, so what is sent later is copied. */
  private copy(bytes: Uint8Array): BodySource {
    const { shared } = this
    const copied = Buffer.allocUnsafeSlow(bytes.byteLength)
    copied.set(bytes)
    shared.replyBytesInFlight += copied.byteLength
    return createBytesSource(copied, () => {
      shared.replyBytesInFlight -= copied.byteLength
    })
  }

  private writeDirect(reply: Reply, body: Uint8Array | string): void {
    const { res, shared } = this
    const isClosing = this.isClosing || shared.isDraining
    writeHead(res, reply, isClosing)
    this.isHeadWritten = true
    if (shared.backlog.isProbe(body.length) && !isClosing) return this.writeProbe(body)
    res.end(body, isClosing)
    this.finish()
  }

  private writeProbe(body: Uint8Array | string): void {
    const { res, shared } = this
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const isDone = res.tryEnd(bytes, bytes.byteLength)[1]
    if (isDone) return this.finish()
    const sentBytes = res.getWriteOffset()
    if (sentBytes > 0) {
      // The kernel's buffer is full with this very reply: the rest goes as the client reads.
      const source = this.copy(bytes.subarray(sentBytes))
      this.startStream({ source, head: undefined, sentBytes, totalBytes: bytes.byteLength })
      return
    }
    // Not a byte: earlier replies still wait.
    if (shared.backlog.note(this.address)) {
      shared.log.warn({ requestId: this.id, address: this.address }, 'closed: replies are not read')
      this.watchAbort()
      res.close()
      return
    }
    res.end(bytes)
    this.finish()
  }

  private writeSource(reply: Reply, unguarded: BodySource): void {
    const { res, shared } = this
    const source = this.guard(unguarded)
    if (this.isClosing) {
      void this.writeWhole(reply, source)
      return
    }
    const head = (): void => {
      writeHead(res, reply, shared.isDraining)
      // While draining it is the client that closes: what it had sent before is answered, too.
      if (shared.isDraining) res.writeHeader('Connection', 'close')
      this.isHeadWritten = true
    }
    this.startStream({ source, head, sentBytes: 0, totalBytes: source.byteLength }).step()
  }

  /**
   * Only `end` closes a connection in order, and only where it writes the whole body: after `write`
   * or `tryEnd` this build of uWebSockets.js puts its `Connection: close` into the body.
   */
  private async writeWhole(reply: Reply, source: BodySource): Promise<void> {
    const { res, shared } = this
    const { pieceBytes, repliesInFlightBytesMax } = shared.options
    this.watchAbort()
    const pieces: Uint8Array[] = []
    let heldBytes = 0
    let whole: Reply = reply
    try {
      while (!this.isGone) {
        const piece = Buffer.allocUnsafe(pieceBytes)
        const count = await source.read(piece)
        if (count === 0) break
        if (shared.replyBytesInFlight + count > repliesInFlightBytesMax) {
          whole = shared.failures.unavailable
          pieces.length = 0
          break
        }
        pieces.push(piece.subarray(0, count))
        heldBytes += count
        shared.replyBytesInFlight += count
      }
    } catch (error) {
      shared.log.warn({ err: error, requestId: this.id }, 'a reply broke off')
      whole = shared.failures.internal
    }
    shared.replyBytesInFlight -= heldBytes
    this.discard(source)
    if (this.isGone) return
    const isWhole = whole === reply
    res.cork(() =>
      isWhole ? this.writeDirect(reply, Buffer.concat(pieces)) : this.tryWrite(whole),
    )
  }

  private startStream(from: {
    readonly source: BodySource
    readonly head: (() => void) | undefined
    readonly sentBytes: number
    readonly totalBytes: number | undefined
  }): ReplyStream {
    const { res, shared } = this
    this.watchAbort()
    const stream = new ReplyStream({ res, pump: shared.pump, ...from }, failure => {
      this.stream = undefined
      if (failure === undefined) return this.isGone ? undefined : this.finish()
      shared.log.warn({ err: failure, requestId: this.id }, 'a reply broke off')
      if (!this.isGone && !this.isHeadWritten) res.cork(() => this.writeInternal())
    })
    this.stream = stream
    return stream
  }

  private writeHeadOnly(reply: Reply): void {
    const { res } = this
    const { body } = reply
    const byteLength = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
    this.discard(body)
    const isClosing = this.isClosing || this.shared.isDraining
    writeHead(res, reply, isClosing)
    this.isHeadWritten = true
    if (isClosing) {
      res.end('', true)
    } else {
      // endWithoutBody(length) of this build never counts as answered.
      if (byteLength !== undefined) res.writeHeader('Content-Length', String(byteLength))
      res.endWithoutBody()
    }
    this.finish()
  }
}
