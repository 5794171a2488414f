import { randomUUID } from 'node:crypto'
import type { HttpRequest } from '../compiled/request.js'
import type { HttpResponse } from '../compiled/response.js'
import type { Request } from '../../shared/http.js'
import type { ServerContext } from '../context.js'
import { formatAddress } from './address.js'
import { scanHeaders, type ScannedHeaders } from './scan-headers.js'

/** A request as handlers see it. */
export class RequestHead implements Request {
  readonly method: string
  readonly headers: ScannedHeaders
  ownsBody = false
  private readonly server: ServerContext
  /** Undefined once the client has disconnected or the reply is sent. */
  private res: HttpResponse | undefined
  private readonly req: HttpRequest
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
    return this.req.url
  }

  get query(): string {
    return this.req.query
  }

  get id(): string {
    return (this.knownId ??= randomUUID())
  }

  get address(): string {
    return (this.knownAddress ??= this.findAddress())
  }

  header(name: string): string {
    return this.req.getHeader(name)
  }

  /**
   * Keeps what X-Forwarded-For says about the client's address; whether it counts is decided where
   * the address is read.
   */
  keepForwardedFor(): void {
    if (this.server.proxies === undefined || !this.headers.isForwarded) return
    // All lines: a proxy that adds one of its own leaves the client's before it.
    const lines: string[] = []
    this.req.forEach((name, value) => {
      if (name === 'x-forwarded-for') lines.push(value)
    })
    this.forwardedFor = lines.join(',')
  }

  get hasForwardedFor(): boolean {
    return this.forwardedFor !== undefined
  }

  /** The reply is sent or the client has disconnected: `res` becomes invalid. */
  onGone(): void {
    this.res = undefined
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
