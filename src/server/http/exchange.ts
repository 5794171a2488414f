import type { HttpRequest } from '../compiled/request.js'
import type { HttpResponse } from '../compiled/response.js'
import { RpcError } from '../../shared/errors.js'
import { isReply, type BodySource, type Reply, type Route } from '../../shared/http.js'
import type { ByteShare } from '../../shared/byte-budget.js'
import type { ServerContext } from '../context.js'
import { BodyBuffer } from './body-buffer.js'
import { isAccepted } from './content-type.js'
import { toFailure } from './failures.js'
import { RequestHead } from './request-head.js'
import { Responder } from './responder.js'

/** A route with the refusals prepared for it. */
export type MountedRoute = {
  readonly route: Route
  readonly bodyTooLarge: Reply
  readonly contentTypeRefused: Reply
}

/**
 * The rest of a body up to this length is read before a refusal: a read may have cut it, and a
 * reply before its end would end the connection, with all requests that were sent ahead.
 */
const REFUSED_BODY_BYTES_MAX = 16 * 1024
/** How long the rest may take: a client that sends nothing more must read its refusal, too. */
const REFUSED_BODY_MS = 1_000

const NO_BODY = new Uint8Array(0)

/** One request, from its headers to the last byte of its reply. */
export class Exchange extends Responder {
  private readonly mounted: MountedRoute
  /** What `open` returned. */
  protected context: unknown = undefined
  private isOpened = false
  /** `handle` has not settled yet. */
  private isPending = false
  /** Body chunks are accepted; after a refusal they are dropped. */
  private isReading = false
  /** Ends the wait for the rest of a refused body. */
  private refusalTimer: NodeJS.Timeout | undefined
  /** The rest of the body cannot be skipped: it has no bound. */
  private mustClose = true
  private body: BodyBuffer | undefined
  /** Of the budget of bodies; undefined if none was taken. */
  private bodyShare: ByteShare | undefined

  constructor(
    server: ServerContext,
    mounted: MountedRoute,
    { res, req, method }: { res: HttpResponse; req: HttpRequest; method: string },
  ) {
    super(server, res, new RequestHead(server, res, req, method))
    this.mounted = mounted
  }

  /** Handles the headers. Catches everything: an exception here would end the process. */
  begin(): void {
    const { server, mounted, request } = this
    server.requestsCount++
    server.requestsInFlight++
    const { headers } = request
    this.isClosing = headers.isAncient
    if (!headers.isWellFormed) return this.refuse(server.failures.badRequest, true)
    const { bodyBytesMax, contentType } = mounted.route
    const claimedBytes = headers.contentLength
    const isTooLong = claimedBytes !== undefined && claimedBytes > bodyBytesMax
    // uWebSockets skips the body of a refused request, so that its client reads the refusal.
    this.mustClose =
      headers.isChunked ||
      (claimedBytes !== undefined && claimedBytes > server.options.lingerBytesMax)

    const refusal = this.open()
    if (refusal !== undefined) return this.refuseHead(refusal)
    if (contentType !== undefined && !isAccepted(contentType, headers.contentType)) {
      return this.refuseHead(mounted.contentTypeRefused)
    }
    // uWebSockets skips the body.
    if (bodyBytesMax === 0) return this.run(NO_BODY)
    if (isTooLong) return this.refuseHead(mounted.bodyTooLarge)
    if (!server.bodies.hasRoom(this.owner)) return this.refuseHead(server.failures.unavailable)
    this.isReading = true
    this.watchAbort()
    this.res.onData((chunk, isLast) => this.onChunk(chunk, isLast, claimedBytes))
  }

  protected get id(): string {
    return this.request.id
  }

  protected header(name: string): string {
    return this.request.header(name)
  }

  protected override onGone(): void {
    this.isReading = false
    clearTimeout(this.refusalTimer)
    this.request.onGone()
    if (!this.isPending) this.release()
  }

  private open(): Reply | undefined {
    try {
      this.request.keepForwardedFor()
      const opened = this.mounted.route.open(this.request)
      if (isReply(opened)) return opened
      this.context = opened
      this.isOpened = true
      this.owner = this.mounted.route.ownerOf?.(opened)
      if (this.mounted.route.isAuthenticated === true) this.onAuthenticated()
      return undefined
    } catch (error) {
      return this.toReply(error)
    }
  }

  private onAuthenticated(): void {
    const isFirst = this.res.setAuthenticated()
    // A connection of a proxy carries many clients.
    if (isFirst || this.request.hasForwardedFor)
      this.mounted.route.onClient?.(this.context, this.request)
  }

  /**
   * Refuses a request at its head, once the rest of a short body has come or its time is over. A
   * route without a body does not wait for one.
   */
  private refuseHead(reply: Reply): void {
    const { isBodyComing, contentLength = 0 } = this.request.headers
    const isShort = isBodyComing && contentLength <= REFUSED_BODY_BYTES_MAX
    if (this.mustClose || !isShort || this.mounted.route.bodyBytesMax === 0)
      return this.refuse(reply, this.mustClose)
    this.watchAbort()
    this.refusalTimer = setTimeout(() => this.refuse(reply, true), REFUSED_BODY_MS)
    this.res.onData((_, isLast) => {
      if (isLast && !this.isGone && !this.isClosing) this.refuse(reply, false)
    })
  }

  private refuse(reply: Reply, mustClose: boolean): void {
    this.isReading = false
    clearTimeout(this.refusalTimer)
    const added = this.mounted.route.refusalHeaders?.()
    const whole =
      added === undefined ? reply : { ...reply, headers: { ...reply.headers, ...added } }
    if (mustClose) this.sendAndClose(whole)
    else this.send(whole, true)
  }

  private onChunk(chunk: Uint8Array, isLast: boolean, claimedBytes: number | undefined): void {
    if (!this.isReading) return
    const { server, mounted, body } = this
    const byteLength = (body === undefined ? 0 : body.byteLength) + chunk.byteLength
    if (byteLength > mounted.route.bodyBytesMax)
      return this.refuse(mounted.bodyTooLarge, this.mustClose)
    // Most bodies are one chunk, which needs no copy.
    if (isLast && body === undefined) return this.run(chunk)

    const { bodyStepBytesMax } = server.options
    const bytesMax = claimedBytes ?? mounted.route.bodyBytesMax
    const buffer = (this.body ??= new BodyBuffer(server.bodyPool, bytesMax, bodyStepBytesMax))
    const grownBytes = buffer.capacityWith(chunk.byteLength) - buffer.capacity
    const share = (this.bodyShare ??= server.bodies.open(this.owner))
    if (!share.tryTake(grownBytes)) return this.refuse(server.failures.unavailable, this.mustClose)
    buffer.append(chunk)
    if (!isLast) return
    this.request.ownsBody = true
    this.run(buffer.view())
  }

  /** The whole request is received. */
  protected run(body: Uint8Array): void {
    this.isReading = false
    let reply: Reply | Promise<Reply>
    try {
      reply = this.recheck() ?? this.mounted.route.handle(this.context, body, this.request)
    } catch (error) {
      return this.send(this.toReply(error), true)
    }
    if (!(reply instanceof Promise)) return this.send(reply, true)
    this.isPending = true
    // The handler may keep a body of one chunk, so it counts too.
    if (this.bodyShare === undefined && body.byteLength > 0) {
      this.bodyShare = this.server.bodies.open(this.owner)
      this.bodyShare.take(body.byteLength)
    }
    this.watchAbort()
    reply.then(
      settled => this.settle(settled),
      error => this.settle(this.toReply(error)),
    )
  }

  private settle(reply: Reply): void {
    this.isPending = false
    if (this.isGone) {
      this.discard(reply.body)
      return this.release()
    }
    const refusal = this.recheckSafely()
    if (refusal === undefined) return this.send(reply, false)
    this.discard(reply.body)
    this.send(refusal, false)
  }

  private recheck(): Reply | undefined {
    const { route } = this.mounted
    return route.recheck === undefined ? undefined : route.recheck(this.context, this.request)
  }

  private recheckSafely(): Reply | undefined {
    try {
      return this.recheck()
    } catch (error) {
      return this.toReply(error)
    }
  }

  protected override guard(source: BodySource): BodySource {
    if (this.mounted.route.recheck === undefined) return source
    return {
      byteLength: source.byteLength,
      read: into => {
        if (this.recheck() !== undefined) throw new Error('The access was taken back')
        return source.read(into)
      },
      ...(source.refusedCount !== undefined && {
        refusedCount: () => source.refusedCount?.() ?? 0,
      }),
      close: () => source.close(),
    }
  }

  private toReply(error: unknown): Reply {
    const { log, failures } = this.server
    if (error instanceof RpcError && error.row.status !== undefined) {
      return toFailure(error, failures.describe)
    }
    log.error({ err: error, requestId: this.id }, 'a handler threw')
    return failures.internal
  }

  /** Called once per request, when its reply is sent and its handler has settled. */
  private release(): void {
    const { server, mounted } = this
    server.requestsInFlight--
    this.body?.release()
    this.bodyShare?.give()
    if (!this.isOpened || mounted.route.done === undefined) return
    try {
      mounted.route.done(this.context)
    } catch (error) {
      server.log.error({ err: error, requestId: this.id }, 'a handler threw')
    }
  }
}
