import { randomUUID } from 'node:crypto'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { RpcError } from '../../shared/errors.js'
import {
  isReply,
  type BodySource,
  type Reply,
  type Request,
  type Route,
} from '../../shared/http.js'
import { formatAddress, type Proxies } from './address.js'
import { BodyBuffer } from './body-buffer.js'
import { isTaken } from './content-type.js'
import { toFailure } from './failures.js'
import { Responder } from './responder.js'
import type { Shared } from '../context.js'

/** A route with what can be prepared for it. */
export type Mounted = {
  readonly route: Route
  readonly bodyTooLarge: Reply
  readonly contentTypeRefused: Reply
}

/** One request from its headers to the last byte of its reply. Handlers see it as a `Request`. */
export class Exchange extends Responder implements Request {
  private readonly mounted: Mounted
  /** Valid only while the headers are handled; uWebSockets.js reuses its memory. */
  private req: HttpRequest | undefined
  /** What `open` returned. */
  protected context: unknown = undefined
  private isOpened = false
  /** `handle` has not settled yet. */
  private isPending = false
  /** Still taking body pieces; what comes after a refusal is dropped. */
  private isReading = false
  private body: BodyBuffer | undefined
  private bodyBytes = 0
  private knownAddress: string | undefined
  private forwardedFor: string | undefined
  private knownPath: string | undefined
  private knownQuery: string | undefined
  private knownHeaders: Map<string, string> | undefined
  private knownId: string | undefined

  constructor(
    shared: Shared,
    mounted: Mounted,
    { res, req, method }: { res: HttpResponse; req: HttpRequest; method: string },
  ) {
    super(shared, res, method)
    this.mounted = mounted
    this.req = req
  }

  get path(): string {
    return (this.knownPath ??= this.live().getUrl())
  }

  get query(): string {
    return (this.knownQuery ??= this.live().getQuery())
  }

  get id(): string {
    return (this.knownId ??= randomUUID())
  }

  get address(): string {
    return (this.knownAddress ??= this.findAddress())
  }

  header(name: string): string {
    const known = this.knownHeaders?.get(name)
    if (known !== undefined) return known
    const value = this.live().getHeader(name)
    this.knownHeaders ??= new Map()
    this.knownHeaders.set(name, value)
    return value
  }

  /** Handles the headers. Nothing escapes: an exception here would end the process. */
  begin(): void {
    const { shared, mounted, req } = this
    shared.requestsCount++
    shared.requestsInFlight++
    const { scan } = shared
    if (req === undefined || !scan.scan(req)) return this.refuse(shared.failures.badRequest, true)
    const { bodyBytesMax, contentType } = mounted.route
    const claimedBytes = scan.contentLength
    const isTooLong = claimedBytes !== undefined && claimedBytes > bodyBytesMax
    // A body of unknown end is not worth its reading, once it is refused.
    const isCostly = scan.isChunked || isTooLong

    const refusal = this.open(req)
    this.req = undefined
    if (refusal !== undefined) return this.refuse(refusal, isCostly)
    if (contentType !== undefined && !isTaken(contentType, scan.contentType)) {
      return this.refuse(mounted.contentTypeRefused, isCostly)
    }
    // A body that a route has no use for is skipped by uWebSockets.js.
    if (bodyBytesMax === 0) return this.run(NO_BODY)
    if (isTooLong) return this.refuse(mounted.bodyTooLarge, true)
    if (shared.bodyBytesInFlight >= shared.options.bodiesInFlightBytesMax) {
      return this.refuse(shared.failures.unavailable, true)
    }
    this.isReading = true
    this.watchAbort()
    this.res.onData((chunk, isLast) => this.take(chunk, isLast, claimedBytes))
  }

  protected override onGone(): void {
    this.isReading = false
    if (!this.isPending) this.release()
  }

  private open(req: HttpRequest): Reply | undefined {
    const { proxies } = this.shared
    try {
      if (proxies !== undefined) this.noteProxies(proxies, req)
      const opened = this.mounted.route.open(this)
      if (isReply(opened)) return opened
      this.context = opened
      this.isOpened = true
      return undefined
    } catch (error) {
      return this.toReply(error)
    }
  }

  private refuse(reply: Reply, isCostly: boolean): void {
    this.isReading = false
    const added = this.mounted.route.refusalHeaders?.()
    const whole =
      added === undefined ? reply : { ...reply, headers: { ...reply.headers, ...added } }
    if (isCostly) this.sendAndClose(whole)
    else this.send(whole, true)
  }

  private live(): HttpRequest {
    if (this.req !== undefined) return this.req
    throw new Error(
      'Read it in open(): uWebSockets.js forgets a request when its headers are handled',
    )
  }

  /**
   * Keeps what the headers say of the client's address; whether it counts is looked at where the
   * address is.
   */
  private noteProxies(proxies: Proxies, req: HttpRequest): void {
    const proxied = formatAddress(new Uint8Array(this.res.getProxiedRemoteAddress()))
    if (proxied !== '' && proxies.isTrustedPeer(new Uint8Array(this.res.getRemoteAddress()))) {
      this.knownAddress = proxied
      // A second PROXY header on this connection would replace the first: so there is no second
      // request.
      this.isClosing = true
      return
    }
    if (!this.shared.scan.isForwarded) return
    const lines: string[] = []
    // Every line: a proxy that adds one of its own leaves the client's before it.
    req.forEach((name, value) => {
      if (name === 'x-forwarded-for') lines.push(value)
    })
    this.forwardedFor = lines.join(',')
  }

  private findAddress(): string {
    if (this.isGone) return ''
    const peer = new Uint8Array(this.res.getRemoteAddress())
    const { proxies } = this.shared
    if (this.forwardedFor === undefined || proxies?.isTrustedPeer(peer) !== true)
      return formatAddress(peer)
    return proxies.clientOf(this.forwardedFor) ?? formatAddress(peer)
  }

  private take(chunk: ArrayBuffer, isLast: boolean, claimedBytes: number | undefined): void {
    if (!this.isReading) return
    const { shared, mounted, body } = this
    const piece = new Uint8Array(chunk)
    const byteLength = (body === undefined ? 0 : body.byteLength) + piece.byteLength
    if (byteLength > mounted.route.bodyBytesMax) return this.refuse(mounted.bodyTooLarge, true)
    // Most bodies are one piece, and that one needs no copy.
    if (isLast && body === undefined) return this.run(piece)

    const buffer = (this.body ??= new BodyBuffer(claimedBytes, shared.options.bodyStepBytesMax))
    const grownBytes = buffer.capacityWith(piece.byteLength) - buffer.capacity
    if (shared.bodyBytesInFlight + grownBytes > shared.options.bodiesInFlightBytesMax) {
      return this.refuse(shared.failures.unavailable, true)
    }
    this.holdBody(grownBytes)
    buffer.append(piece)
    if (isLast) this.run(buffer.view())
  }

  /** All of the request is here. */
  protected run(body: Uint8Array): void {
    this.isReading = false
    let reply: Reply | Promise<Reply>
    try {
      reply = this.recheck() ?? this.mounted.route.handle(this.context, body, this)
    } catch (error) {
      return this.send(this.toReply(error), true)
    }
    if (!(reply instanceof Promise)) return this.send(reply, true)
    this.isPending = true
    // What the handler keeps of a body of one piece counts as well.
    if (this.bodyBytes === 0) this.holdBody(body.byteLength)
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
    return route.recheck === undefined ? undefined : route.recheck(this.context, this)
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
        if (this.recheck() !== undefined) throw new Error('What let it in has been taken back')
        return source.read(into)
      },
      close: () => source.close(),
    }
  }

  private holdBody(bytes: number): void {
    this.bodyBytes += bytes
    this.shared.bodyBytesInFlight += bytes
  }

  private toReply(error: unknown): Reply {
    const { log, failures } = this.shared
    if (error instanceof RpcError && error.row.status !== undefined) {
      return toFailure(error, failures.describe)
    }
    log.error({ err: error, requestId: this.id }, 'a handler threw')
    return failures.internal
  }

  /** Reached once per request: its reply is gone, and its handler has nothing more to do. */
  private release(): void {
    const { shared, mounted } = this
    shared.requestsInFlight--
    shared.bodyBytesInFlight -= this.bodyBytes
    if (!this.isOpened || mounted.route.done === undefined) return
    try {
      mounted.route.done(this.context)
    } catch (error) {
      shared.log.error({ err: error, requestId: this.id }, 'a handler threw')
    }
  }
}

const NO_BODY = new Uint8Array(0)
