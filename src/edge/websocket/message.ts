import type { Principal } from '../../access/limiter/usage-limiter.js'
import { NO_METHOD } from '../../access/usage/meter.js'
import type { CallContext, RunSubmission } from '../../rpc/call-context.js'
import type { ByteShare } from '../../shared/byte-budget.js'
import { createChunksSource } from '../../server/http/body-source.js'
import { RpcError, type CallError } from '../../shared/errors.js'
import type { BodySource, Reply, SizedSource } from '../../shared/http.js'
import type { Connection } from '../../shared/socket.js'
import { failureOf, toOverLimit, UNAUTHORIZED } from '../admission.js'
import type { SocketHost } from './host.js'
import { findSubmission } from './submission-calls.js'

/** The session of a message. */
export type MessageSession = {
  readonly host: SocketHost
  readonly id: string
  readonly address: string
  readonly isClosed: boolean
  /** False where nothing may be sent: the socket is closed, or its access has ended. */
  revalidate(): boolean
  /** False where its access has ended. Its socket may be closed by the client. */
  isEntitled(): boolean
  /** The connection that answers subscription methods. */
  connect(): Connection | undefined
  /** Sends a reply that is kept; a long one once the client has taken the earlier ones. */
  sendOrWait(message: SocketMessage, body: Uint8Array | string | SizedSource): void
  /** `connectionMessage` is the message where it called a method of the connection. */
  send(body: Uint8Array | string, connectionMessage: SocketMessage | undefined): void
  /** Sends it later and later, where failures are repeated. */
  sendDelayed(body: Uint8Array | string, connectionMessage: SocketMessage | undefined): void
  /** Counts a failure whose answer is sent at once. */
  countFailure(): void
  /** A method of the connection succeeded. */
  onSuccess(): void
  /** The message was refused after it was admitted. */
  onRefused(): void
}

/** A longer reply is sent in pieces, once the client has taken what was sent before. */
export const LONG_BYTES = 64 * 1024
/** Memory for a source of unknown length: the first chunk, in which most end, and each later. */
const CHUNK_BYTES = 64 * 1024
const LONG_CHUNK_BYTES = 256 * 1024
const NO_BYTES = new Uint8Array(0)

const isSized = (source: BodySource): source is SizedSource => source.byteLength !== undefined

/** One message of a WebSocket, from its arrival to its reply. */
export class SocketMessage implements CallContext {
  private readonly session: MessageSession
  private readonly principal: Principal
  /** Calls that are charged as in flight. */
  private atOnce = 1
  /** Requests that its calls or its reply are charged as. */
  private charged = 1
  /** Of the reply budget; undefined where its results are small. */
  private share: ByteShare | undefined
  private isBatch = false
  private calledConnection = false
  /** A method of the connection threw an error. */
  private hasFailed = false

  constructor(session: MessageSession, principal: Principal) {
    this.session = session
    this.principal = principal
  }

  get id(): string {
    return this.session.id
  }

  get tokenId(): string {
    return this.principal.grant.tokenId
  }

  get owner(): string {
    return this.principal.grant.accessId
  }

  acquireBatch(calls: number, atOnce: number): number | RpcError {
    const { limiter, now, onRefusal } = this.session.host
    this.isBatch = true
    const granted = limiter.acquireBatch(this.principal, { calls, atOnce }, now)
    if (typeof granted !== 'number') return this.refuse(toOverLimit(granted, onRefusal))
    this.atOnce = granted
    this.charged = calls
    return granted
  }

  chargeReply(requests: number): void {
    if (requests <= this.charged) return
    const { limiter, now } = this.session.host
    limiter.chargeReply(this.principal, { from: this.charged, to: requests }, now)
    this.charged = requests
  }

  acquireMore(requests: number): RpcError | undefined {
    const { limiter, now, onRefusal } = this.session.host
    const exceeded = limiter.acquireMore(this.principal, requests, now)
    return exceeded === undefined ? undefined : this.refuse(toOverLimit(exceeded, onRefusal))
  }

  onCall(method: string = NO_METHOD, error?: CallError, elapsedMs?: number): void {
    const failure = error && failureOf(error, () => this.session.address)
    this.principal.meter.addCall(method, { failure, elapsedMs }, this.session.host.now())
  }

  callConnectionMethod(method: string, params: unknown): Uint8Array | undefined {
    this.calledConnection = true
    try {
      const result = this.session.connect()?.call(method, params, this)
      if (result !== undefined) this.session.onSuccess()
      return result
    } catch (error) {
      if (error instanceof RpcError) this.hasFailed = true
      throw error
    }
  }

  submissionOf(method: string): RunSubmission | undefined {
    const { session, principal } = this
    const { submissions, turn } = session.host
    if (submissions === undefined) return undefined
    const { grant } = principal
    const recheck = (): Reply | undefined => (session.isEntitled() ? undefined : UNAUTHORIZED)
    const submitter = { grant, principal, recheck, request: session }
    return findSubmission(submissions, method, submitter, turn)
  }

  /**
   * A frame begins with its length: a source that does not know it is read to its end, and so are
   * those of a batch, which wait for each other. Any other long one is read as its client takes it.
   */
  async collect(source: BodySource): Promise<Uint8Array | BodySource> {
    const { byteLength } = source
    if (!this.isBatch && byteLength !== undefined && byteLength > LONG_BYTES) return source
    const chunks: Uint8Array[] = []
    let bytes = 0
    try {
      while (!this.session.isClosed) {
        const left = (byteLength ?? Infinity) - bytes
        const chunk = Buffer.allocUnsafeSlow(
          Math.min(left, chunks.length === 0 ? CHUNK_BYTES : LONG_CHUNK_BYTES),
        )
        const count = await this.fill(source, chunk)
        if (count > 0) chunks.push(chunk.subarray(0, count))
        bytes += count
        if (count < chunk.length || bytes === byteLength) break
      }
    } finally {
      source.close()
    }
    const [first = NO_BYTES] = chunks
    return chunks.length > 1 ? createChunksSource(chunks, this.openShare()) : first
  }

  /** Sends the reply. `isStable` means that its bytes do not change after this tick. */
  answer({ body }: Reply, isStable: boolean): void {
    const { session } = this
    if (typeof body !== 'string' && !(body instanceof Uint8Array)) return this.answerLong(body)
    if (!session.revalidate() || body.length === 0) return this.release()
    if (this.hasFailed) return this.sendDelayed(isStable ? body : Buffer.from(body))
    if (isStable) session.sendOrWait(this, body)
    else this.send(body)
  }

  private answerLong(body: BodySource): void {
    const { session } = this
    if (session.revalidate() && isSized(body)) {
      // Not delayed: it answers calls that were charged, too.
      if (this.hasFailed) session.countFailure()
      return session.sendOrWait(this, body)
    }
    body.close()
    this.release()
    if (body.byteLength === undefined) throw new Error('A reply to a WebSocket has no length')
  }

  /** All of a long reply is sent, or its socket is closed. */
  onSent(connection: Connection | undefined): void {
    if (this.calledConnection) connection?.afterReply(this)
    this.release()
  }

  /** Sends a complete reply and releases the message. */
  send(body: Uint8Array | string): void {
    try {
      this.session.send(body, this.calledConnection ? this : undefined)
    } finally {
      this.release()
    }
  }

  /** Releases its budget and its limits. Called exactly once. */
  release(): void {
    this.share?.give()
    this.session.host.limiter.release(this.principal, this.atOnce)
  }

  private openShare(): ByteShare {
    return this.session.host.budget.open(this.owner)
  }

  private refuse(error: RpcError): RpcError {
    this.session.onRefused()
    return error
  }

  /** Sends an error when its time has come. While it waits it is not in flight. */
  private sendDelayed(body: Uint8Array | string): void {
    this.release()
    this.session.sendDelayed(body, this)
  }

  /** Reads until `chunk` is full or the source ends. */
  private async fill(source: BodySource, chunk: Uint8Array): Promise<number> {
    this.share ??= this.openShare()
    if (!this.share.tryTake(chunk.length)) throw new RpcError('overloaded')
    const { turn } = this.session.host
    let filled = 0
    while (filled < chunk.length && !this.session.isClosed) {
      if (turn.isOver) await turn.next()
      const count = await source.read(chunk.subarray(filled))
      if (count === 0) break
      filled += count
    }
    return filled
  }
}
