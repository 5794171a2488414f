import type { Principal } from '../../access/limiter/usage-limiter.js'
import type { Origin } from '../../rpc/dispatch.js'
import { RpcError } from '../../shared/errors.js'
import type { BodySource, Reply } from '../../shared/http.js'
import { toOverLimit } from '../admission.js'
import type { SocketSession } from './session.js'

/** One message of a WebSocket, from its first byte to its reply. */
export class SocketMessage implements Origin {
  readonly session: SocketSession
  private readonly principal: Principal
  /** How many calls it counts as in flight. */
  private atOnce = 1
  /** Bytes of results that were read for it. */
  private heldBytes = 0
  /** It held a call of the connection. */
  private isOwn = false

  constructor(session: SocketSession, principal: Principal) {
    this.session = session
    this.principal = principal
  }

  get id(): string {
    return this.session.id
  }

  get tokenId(): string {
    return this.principal.grant.tokenId
  }

  acquireBatch(calls: number, atOnce: number): RpcError | undefined {
    const { limiter, now, onRefusal } = this.session.host
    const exceeded = limiter.acquireBatch(this.principal, { calls, atOnce }, now())
    if (exceeded !== undefined) return toOverLimit(exceeded, onRefusal)
    this.atOnce = atOnce
    return undefined
  }

  onFailure(): void {
    this.principal.meter.addError()
  }

  own(method: string, params: unknown): Uint8Array | Promise<Uint8Array> | undefined {
    this.isOwn = true
    return this.session.connect()?.call(method, params, this)
  }

  async collect(source: BodySource): Promise<Uint8Array> {
    const { pieceBytes } = this.session.host
    const pieces: Uint8Array[] = []
    try {
      while (!this.session.isClosed) {
        const piece = Buffer.allocUnsafeSlow(source.byteLength ?? pieceBytes)
        const count = await this.fill(source, piece)
        if (count > 0) pieces.push(piece.subarray(0, count))
        if (count < piece.length || count === source.byteLength) break
      }
    } finally {
      source.close()
    }
    const [first] = pieces
    return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
  }

  /**
   * Hands the reply to the socket. `isKept` says that its bytes stay as they are after this tick.
   */
  answer({ body }: Reply, isKept: boolean): void {
    const { session } = this
    if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
      // Every result is collected before.
      body.close()
      this.leave()
      throw new Error('A reply to a WebSocket is not whole')
    }
    if (!session.isOpen() || body.length === 0) return this.leave()
    if (isKept && session.mustWait(body)) return session.wait(this, body)
    this.send(body)
  }

  /** Sends what is whole, and lets the next one in. */
  send(body: Uint8Array | string): void {
    try {
      this.session.send(body, this.isOwn ? this : undefined)
    } finally {
      this.leave()
    }
  }

  /** Gives back what it holds. Called exactly once. */
  leave(): void {
    const { limiter, budget } = this.session.host
    budget.heldBytes -= this.heldBytes
    limiter.release(this.principal, this.atOnce)
  }

  /** Reads until `piece` is full or the source has ended. */
  private async fill(source: BodySource, piece: Uint8Array): Promise<number> {
    const { budget } = this.session.host
    if (budget.heldBytes + piece.length > budget.heldBytesMax) throw new RpcError('overloaded')
    budget.heldBytes += piece.length
    this.heldBytes += piece.length
    let filled = 0
    while (filled < piece.length && !this.session.isClosed) {
      const count = await source.read(piece.subarray(filled))
      if (count === 0) break
      filled += count
    }
    return filled
  }
}
