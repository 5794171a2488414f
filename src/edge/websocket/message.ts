import type { LimitRefusal } from '../../native/access/limits.js'
import type { Principal } from '../../access/limiter/usage-limiter.js'
import type { RunSubmission } from '../../rpc/call-context.js'
import type { ByteShare } from '../../shared/byte-budget.js'
import { createChunksSource } from '../../server/http/body-source.js'
import { RpcError } from '../../shared/errors.js'
import type { BodySource, Reply } from '../../shared/http.js'
import type { Connection } from '../../shared/socket.js'
import { toOverLimit, UNAUTHORIZED } from '../admission.js'
import { ChargedCalls } from '../charged-calls.js'
import type { SocketHost } from './host.js'
import { findSubmission } from './submission-calls.js'

/** The session of a message. */
export type MessageSession = {
  readonly host: SocketHost
  readonly id: string
  readonly address: string
  readonly isClosed: boolean
  /** Its transactions may be raced by lanes that protect them only. */
  readonly wantsProtection: boolean
  /** False if its access has ended. Its socket may be closed by the client. */
  isEntitled(): boolean
  /** The connection that answers subscription methods. */
  connect(): Connection | undefined
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

/** One message of a WebSocket: what its calls are charged and ask for, until it is released. */
export class SocketMessage extends ChargedCalls<RpcError> {
  calledConnection = false
  /** A method of the connection threw an error. */
  hasFailed = false
  private readonly session: MessageSession
  /** Of the reply budget; undefined if its results are small. */
  private share: ByteShare | undefined
  private isBatch = false

  constructor(session: MessageSession, principal: Principal, bytes: number) {
    super(principal, session.host)
    this.session = session
    this.bytes = bytes
  }

  get id(): string {
    return this.session.id
  }

  override acquireBatch(calls: number, atOnce: number): number | RpcError {
    this.isBatch = true
    return super.acquireBatch(calls, atOnce)
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
    const { wantsProtection } = session
    return findSubmission(submissions, method, submitter, { turn, wantsProtection })
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

  /** Releases its budget and its limits. Called exactly once. */
  release(): void {
    this.share?.give()
    this.session.host.limiter.release(this.principal, this.atOnce)
  }

  private openShare(): ByteShare {
    return this.session.host.budget.open(this.owner)
  }

  get address(): string {
    return this.session.address
  }

  get slot(): number | undefined {
    return this.session.host.view.tipSlot
  }

  protected refuse(exceeded: LimitRefusal): RpcError {
    const error = toOverLimit(exceeded, this.session.host.onRefusal)
    this.session.onRefused()
    return error
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
