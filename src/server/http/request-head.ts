import { randomUUID } from 'node:crypto'
import type { HttpRequest } from '../compiled/request.js'
import type { HttpResponse } from '../compiled/response.js'
import type { Request } from '../../shared/http.js'
import type { ServerContext } from '../context.js'
import { formatAddress } from './address.js'
import { scanHeaders, type ScannedHeaders } from './scan-headers.js'

/** A request as handlers see it. Each value is looked up at its first use. */
export class RequestHead implements Request {
  readonly method: string
  readonly headers: ScannedHeaders
  ownsBody = false
  private readonly server: ServerContext
  /** Undefined once the client has disconnected or the reply is sent. */
  private res: HttpResponse | undefined
  /** Undefined once the headers are handled: a reply that is awaited does not keep them. */
  private req: HttpRequest | undefined
  private knownPath: string | undefined
  private knownQuery: string | undefined
  private knownHeaders: Map<string, string> | undefined
  private knownId: string | undefined
  private knownAddress: string | undefined
  private forwardedFor: string | undefined

  constructor(server: ServerContext, res: HttpResponse, req: HttpRequest, method: string) {
    this.server = server
    this.res = res
    this.req = req
    this.method = method
    this.headers = scanHeaders(req)
  }

  get path(): string {
    return (this.knownPath ??= this.liveRequest().getUrl())
  }

  get query(): string {
    return (this.knownQuery ??= this.liveRequest().getQuery())
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
    const value = this.liveRequest().getHeader(name)
    this.knownHeaders ??= new Map()
    this.knownHeaders.set(name, value)
    return value
  }

  /**
   * Keeps what X-Forwarded-For says about the client's address; whether it counts is decided where
   * the address is read.
   */
  keepForwardedFor(): void {
    if (this.server.proxies === undefined || !this.headers.isForwarded) return
    // All lines: a proxy that adds one of its own leaves the client's before it.
    const lines: string[] = []
    this.liveRequest().forEach((name, value) => {
      if (name === 'x-forwarded-for') lines.push(value)
    })
    this.forwardedFor = lines.join(',')
  }

  get hasForwardedFor(): boolean {
    return this.forwardedFor !== undefined
  }

  /** The headers are handled: `req` becomes invalid. */
  onHeadersHandled(): void {
    this.req = undefined
  }

  /** The reply is sent or the client has disconnected: `res` becomes invalid. */
  onGone(): void {
    this.res = undefined
  }

  private liveRequest(): HttpRequest {
    if (this.req !== undefined) return this.req
    throw new Error('Read it in open(): the head is not kept after its headers are handled')
  }

  private findAddress(): string {
    if (this.res === undefined) return ''
    const peer = new Uint8Array(this.res.getRemoteAddress())
    const { proxies } = this.server
    if (this.forwardedFor === undefined || proxies?.isTrustedPeer(peer) !== true)
      return formatAddress(peer)
    return proxies.clientOf(this.forwardedFor) ?? formatAddress(peer)
  }
}
