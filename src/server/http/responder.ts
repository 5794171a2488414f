import type { HttpResponse } from '../compiled/response.js'
import type { BodySource, Reply } from '../../shared/http.js'
import type { ServerContext } from '../context.js'
import type { ByteShare } from '../../shared/byte-budget.js'
import { createBytesSource, createChunksSource, isBodySource } from './body-source.js'
import { checkHead, writeHead } from './head.js'
import { ReplyStream, type ReplyStreamParts } from './reply-stream.js'
import type { RequestHead } from './request-head.js'

/**
 * What a client does not take at once of a reply of this length counts as a large reply. Less is
 * kept by uWebSockets.
 */
const COUNTED_BYTES_MIN = 256 * 1024

/** One response: written once, never after an abort. `Exchange` handles its request. */
export abstract class Responder {
  protected readonly server: ServerContext
  protected readonly res: HttpResponse
  protected readonly request: RequestHead
  /** Who takes the memory of the request; undefined if it is nobody's. */
  protected owner: string | undefined = undefined
  /** Answered or aborted: uWebSockets throws on any further use of `res`. */
  protected isGone = false
  /** The connection closes after this reply. */
  protected isClosing = false
  private isHeadWritten = false
  private hasAbortHandler = false
  private stream: ReplyStream | undefined

  constructor(server: ServerContext, res: HttpResponse, request: RequestHead) {
    this.server = server
    this.res = res
    this.request = request
  }

  /** The reply is sent, or the client has disconnected. Called exactly once. */
  protected abstract onGone(): void

  /**
   * uWebSockets ends the process where a handler returns with neither a reply nor an abort
   * handler.
   */
  protected watchAbort(): void {
    if (this.hasAbortHandler) return
    this.hasAbortHandler = true
    this.res.onAborted(() => this.abort())
  }

  /** Wraps a source with the check that is made before each read of it. */
  protected abstract guard(source: BodySource): BodySource

  /**
   * Sends a reply. `isCorked` is true within a callback of uWebSockets, which joins writes by
   * itself.
   */
  protected send(reply: Reply, isCorked: boolean): void {
    if (this.isGone) return this.discard(reply.body)
    if (this.isClosing && isCorked) return this.sendAndClose(reply)
    if (isCorked) this.tryWrite(reply)
    else this.res.cork(() => this.tryWrite(reply))
  }

  /**
   * Sends a reply and closes the connection, in a later tick than the request's: where the rest of
   * the packet is malformed, the parser answers instead.
   */
  protected sendAndClose(reply: Reply): void {
    this.isClosing = true
    this.watchAbort()
    // Copied: the handler may reuse its buffer for another reply.
    const { body } = reply
    const copied = body instanceof Uint8Array ? { ...reply, body: Buffer.from(body) } : reply
    setImmediate(() => this.send(copied, false))
  }

  /** Closes the source of a reply that will not be sent. */
  protected discard(body: unknown): void {
    if (!isBodySource(body)) return
    try {
      body.close()
    } catch (error) {
      this.server.log.error(
        { err: error, requestId: this.request.id },
        'a reply could not be closed',
      )
    }
  }

  private abort(): void {
    if (this.isGone) return
    this.isGone = true
    this.server.abortedCount++
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
      this.server.log.error(
        { err: error, requestId: this.request.id },
        'a reply could not be written',
      )
      this.writeInternal()
    }
  }

  private writeInternal(): void {
    if (this.isGone) return
    // After the head, only a closed connection shows the client that the reply is incomplete.
    if (this.isHeadWritten) this.res.close()
    else this.write(this.server.failures.internal)
  }

  private write(reply: Reply): void {
    if (reply.status !== 200 || reply.headers !== undefined) checkHead(reply)
    const { body } = reply
    const { replyDirectBytesMax } = this.server.options
    const { method } = this.request
    if (method === 'HEAD' || (method === 'OPTIONS' && reply.status === 204))
      return this.writeHeadOnly(reply)
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
    const { options, failures } = this.server
    if (body.byteLength <= options.replyDirectBytesMax) return this.writeDirect(reply, body)
    const source = this.copy(body)
    if (source === undefined) return this.write(failures.unavailable)
    this.writeSource(reply, source)
  }

  /**
   * The handler reuses its buffer after this tick, so bytes that are sent later are copied.
   * Undefined where there is no room for them.
   */
  private copy(bytes: Uint8Array): BodySource | undefined {
    const share = this.server.replies.open(this.owner)
    if (!share.tryTake(bytes.byteLength)) return undefined
    const copied = Buffer.allocUnsafeSlow(bytes.byteLength)
    copied.set(bytes)
    return createBytesSource(copied, share)
  }

  private writeDirect(reply: Reply, body: Uint8Array | string): void {
    const { res, server } = this
    const isClosing = this.isClosing || server.isDraining
    writeHead(res, reply, isClosing)
    this.isHeadWritten = true
    if (body.length >= COUNTED_BYTES_MIN && !isClosing) return this.writeCounted(body)
    res.end(body, isClosing)
    this.finish()
  }

  /** Writes what the client takes, and the rest as it reads. */
  private writeCounted(body: Uint8Array | string): void {
    const { res } = this
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const totalBytes = bytes.byteLength
    if (res.tryEnd(bytes, totalBytes)[1]) return this.finish()
    const sentBytes = res.getWriteOffset()
    const source = this.copy(bytes.subarray(sentBytes))
    if (source === undefined) return this.closeWithoutRoom()
    this.startStream({ source, head: undefined, sentBytes, totalBytes })
  }

  /** A part of the reply was taken and the rest cannot be kept: its client must notice that. */
  private closeWithoutRoom(): void {
    const { id: requestId, address } = this.request
    this.server.log.warn({ requestId, address }, 'connection closed: no room for unread replies')
    this.watchAbort()
    this.res.close()
  }

  private writeSource(reply: Reply, unguarded: BodySource): void {
    const source = this.guard(unguarded)
    // HTTP/1.0 has no chunks: only a length tells its client that the reply is whole.
    if (this.isClosing && source.byteLength === undefined) void this.gather(reply, source)
    else this.streamSource(reply, source)
  }

  private streamSource(reply: Reply, source: BodySource): void {
    const { res, server } = this
    const head = (): void => {
      const isClosing = this.isClosing || server.isDraining
      writeHead(res, reply, isClosing)
      this.isHeadWritten = true
    }
    this.startStream({ source, head, sentBytes: 0, totalBytes: source.byteLength }).writeChunk()
  }

  /** Reads a source of unknown length to its end, and sends it with its length. */
  private async gather(reply: Reply, source: BodySource): Promise<void> {
    const { server, res } = this
    this.watchAbort()
    const share = server.replies.open(this.owner)
    const gathered = await this.readAll(source, share)
    this.discard(source)
    if (this.isGone || !Array.isArray(gathered)) share.give()
    if (this.isGone) return
    res.cork(() => {
      this.tryWrite(
        Array.isArray(gathered)
          ? { ...reply, body: createChunksSource(gathered, share) }
          : gathered,
      )
    })
  }

  /** The chunks of a source, or the refusal to send in its place. */
  private async readAll(source: BodySource, share: ByteShare): Promise<Uint8Array[] | Reply> {
    const { failures, log, options } = this.server
    const chunks: Uint8Array[] = []
    try {
      while (!this.isGone) {
        const chunk = Buffer.allocUnsafeSlow(options.chunkBytes)
        const count = await source.read(chunk)
        if (count === 0) break
        if (!share.tryTake(chunk.byteLength)) return failures.unavailable
        chunks.push(chunk.subarray(0, count))
      }
      return chunks
    } catch (error) {
      log.warn({ err: error, requestId: this.request.id }, 'a reply was not completed')
      return failures.internal
    }
  }

  private startStream(
    from: Pick<ReplyStreamParts, 'source' | 'head' | 'sentBytes' | 'totalBytes'>,
  ): ReplyStream {
    const { res, server } = this
    this.watchAbort()
    const stream = new ReplyStream({ res, scheduler: server.scheduler, ...from }, failure => {
      this.stream = undefined
      if (failure === undefined) return this.isGone ? undefined : this.finish()
      const { id: requestId } = this.request
      server.log.warn({ err: failure, requestId }, 'a reply was not completed')
      if (!this.isGone && !this.isHeadWritten) res.cork(() => this.writeInternal())
    })
    this.stream = stream
    return stream
  }

  private writeHeadOnly(reply: Reply): void {
    const { res, server } = this
    const { body, status } = reply
    const byteLength = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
    this.discard(body)
    const isClosing = this.isClosing || server.isDraining
    writeHead(res, reply, isClosing)
    this.isHeadWritten = true
    if (isClosing) {
      res.end('', true)
    } else {
      if (byteLength !== undefined && status !== 204)
        res.writeHeader('Content-Length', String(byteLength))
      res.endWithoutBody()
    }
    this.finish()
  }
}
