import type { Principal } from '../../access/limiter/usage-limiter.js'
import type { ByteShare } from '../../shared/byte-budget.js'
import { RpcError } from '../../shared/errors.js'
import type { BodySource, Reply, SizedSource } from '../../shared/http.js'
import { CLOSE, type CloseCode, type Connection, type Socket } from '../../shared/socket.js'
import { createBytesSource } from '../../server/http/body-source.js'
import { toOverLimit, UNAUTHORIZED } from '../admission.js'
import type { AccessPause } from './access-pauses.js'
import { FailureBackoff } from './failure-backoff.js'
import type { SocketGroup } from './group.js'
import type { SocketHost } from './host.js'
import { isTransaction, TransactionFrames } from './transaction-frames.js'
import { LONG_BYTES, SocketMessage, type MessageSession } from './message.js'

// As web3.js and kit send it every 5 s, to keep a connection open.
const PING = Buffer.from('{"jsonrpc":"2.0","method":"ping"}')
const OVERLOADED = new RpcError('overloaded')
/** How far a refused message is searched for its method. */
const METHOD_BYTES_MAX = 512

/** A reply that is sent in pieces. */
type LongReply = { readonly message: SocketMessage; readonly source: SizedSource }

const isSized = (source: BodySource): source is SizedSource => source.byteLength !== undefined

const drop = ({ message, source }: LongReply): void => {
  source.close()
  message.release()
}

/** A refused message counts once for each of these bytes: it is searched for its id. */
const REFUSED_BYTES = 4 * 1024
/** One that is longer than 64 KiB is not. */
const REFUSED_COUNT_MAX = 16

/** True for a message that clients repeat without a pause where it fails. It is not parsed. */
const isSubscribe = (body: Uint8Array): boolean =>
  Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, METHOD_BYTES_MAX)).includes(
    'ubscribe"',
  )

/** JSON-RPC over one WebSocket. Most are idle, so state is allocated only when it is needed. */
export class SocketSession implements MessageSession {
  readonly host: SocketHost
  readonly group: SocketGroup
  /** Who opened the socket. It is charged to this principal until it closes. */
  readonly principal: Principal
  readonly wantsProtection: boolean
  private socket: Socket | undefined
  private connection: Connection | undefined
  /** Messages without a reply. */
  private callCount = 0
  /** Complete replies that wait until earlier ones are taken. */
  private waiting: LongReply[] = []
  /** A long reply is being sent. */
  private isSending = false
  /** Bytes of messages refused since the last accepted one, of which older ones count less. */
  private refusedBytes = 0
  private refusedAtMs = 0
  /** Of the access; undefined while the socket is not open. */
  private pause: AccessPause | undefined
  private backoff: FailureBackoff | undefined
  /** Created at the first transaction. */
  private frames: TransactionFrames | undefined
  /** Of the reply budget, for delayed errors. */
  private delayed: ByteShare | undefined
  /** When a ping was last accepted without being charged. */
  private freePingMs = -Infinity

  constructor(
    host: SocketHost,
    group: SocketGroup,
    { principal, wantsProtection }: Pick<SocketSession, 'principal' | 'wantsProtection'>,
  ) {
    this.host = host
    this.group = group
    this.principal = principal
    this.wantsProtection = wantsProtection
  }

  get id(): string {
    return this.socket?.id ?? ''
  }

  get address(): string {
    return this.group.address
  }

  get isClosed(): boolean {
    return this.socket?.isClosed ?? true
  }

  get isBusy(): boolean {
    return this.callCount > 0 || this.waiting.length > 0 || this.isSending
  }

  get subscriptionCount(): number {
    return this.connection?.size ?? 0
  }

  /** False if nothing may be sent: the socket is closed, or its access has ended. */
  private revalidate(): boolean {
    return !this.isClosed && this.group.revalidateOrClose(this.host.now()) && !this.isClosed
  }

  isEntitled(): boolean {
    return this.group.revalidateOrClose(this.host.now())
  }

  onOpen(socket: Socket): void {
    this.socket = socket
    this.group.members.add(this)
    this.pause = this.host.pauses.of(this.accessId)
    this.pause.add(socket)
  }

  onMessage(socket: Socket, body: Uint8Array, isBinary: boolean): void {
    const { host, group } = this
    const { limiter, options } = host
    if (!group.revalidateOrClose(host.now()) || this.takesPing(socket, body)) return
    if (isBinary && this.takesTransaction(socket, body)) return
    if (this.callCount >= options.socketCallsMax) return this.refuse(socket, body, OVERLOADED)
    const principal = limiter.principalOf(group.grant)
    const exceeded = limiter.acquire(principal, host.now, this)
    if (exceeded !== undefined)
      return this.refuse(socket, body, toOverLimit(exceeded, host.onRefusal))
    this.refusedBytes = 0
    this.answerDirectly(socket, principal)
    if (host.isLogged) this.log(body)
    const message = new SocketMessage(this, principal, body.length)
    const reply = host.view.dispatch.handle(body, message)
    if (!(reply instanceof Promise)) return this.reply(message, reply, false)
    if (++this.callCount >= options.socketCallsMax) socket.answerDirectly('')
    reply
      .then(settled => {
        this.callCount--
        this.reply(message, settled, true)
      })
      .catch((fault: unknown) => {
        host.log.error({ err: fault, socketId: this.id }, 'a message was not answered')
        this.close(CLOSE.fault, 'internal error')
      })
  }

  onDrain(socket: Socket): void {
    this.connection?.onDrain()
    if (this.waiting.length === 0 || this.isSending) return
    if (socket.queuedBytes > 0) return socket.notifyDrain()
    const next = this.waiting.shift()
    if (next === undefined) return
    if (this.revalidate()) return this.sendLong(socket, next)
    drop(next)
  }

  onClose(): void {
    const { backoff, connection, group, host, pause, socket, waiting } = this
    this.socket = undefined
    if (socket !== undefined) pause?.remove(socket)
    backoff?.close()
    this.delayed?.give()
    this.connection = undefined
    this.waiting = []
    group.members.delete(this)
    host.limiter.releaseSocket(this.principal)
    for (const reply of waiting) drop(reply)
    connection?.close()
  }

  close(code: CloseCode, reason: string, discards?: boolean): void {
    this.socket?.close(code, reason, discards)
  }

  /** Created at the first subscription method. */
  connect(): Connection | undefined {
    const { group, host, principal, socket } = this
    if (socket === undefined) return undefined
    group.hasSubscribed = true
    this.connection ??= host.connect(socket, {
      accessId: this.accessId,
      get subscriptionsMax() {
        return group.grant.limits.subscriptionsPerSocketMax
      },
      onExceeded: () => host.limiter.addRefusedSubscription(principal, host.now()),
    })
    return this.connection
  }

  onSuccess(): void {
    this.backoff?.reset()
  }

  onRefused(): void {
    if (this.socket !== undefined) this.pause?.refuse(this.socket)
  }

  /** Frames that are no message cost as much as one that is refused. */
  onIdleFrames(socket: Socket, count: number): void {
    this.pause?.refuse(socket, count)
  }

  /** True for a ping. One that comes too early counts as a refused message. */
  private takesPing(socket: Socket, body: Uint8Array): boolean {
    if (!PING.equals(body)) return false
    const nowMs = this.host.now()
    if (nowMs - this.freePingMs >= this.host.options.socketPingMs) this.freePingMs = nowMs
    else this.countRefusal(socket, body)
    return true
  }

  /** Counts a refused message; closes a socket that sends too long ones, pauses one of too many. */
  private countRefusal(socket: Socket, { length }: Uint8Array): void {
    const { now, options } = this.host
    const nowMs = now()
    const elapsedMs = Math.max(0, nowMs - this.refusedAtMs)
    this.refusedBytes =
      this.refusedBytes / 2 ** (elapsedMs / options.socketFailuresHalveMs) + length
    this.refusedAtMs = nowMs
    if (this.refusedBytes > options.socketRefusedBytesMax)
      return socket.close(CLOSE.overload, 'over a limit')
    this.pause?.refuse(socket, Math.min(Math.ceil(length / REFUSED_BYTES), REFUSED_COUNT_MAX))
  }

  /** Sends the reply of a message. `isStable`: its bytes do not change after this tick. */
  private reply(message: SocketMessage, { body }: Reply, isStable: boolean): void {
    if (typeof body !== 'string' && !(body instanceof Uint8Array))
      return this.replyLong(message, body)
    if (!this.revalidate() || body.length === 0) return message.release()
    if (message.hasFailed) {
      // While it waits it is not in flight.
      message.release()
      return this.sendDelayed(isStable ? body : Buffer.from(body), message)
    }
    if (isStable && typeof body !== 'string' && body.length > LONG_BYTES)
      return this.sendOrWait({ message, source: this.toSource(body) })
    try {
      this.send(body, message)
    } finally {
      message.release()
    }
  }

  private replyLong(message: SocketMessage, body: BodySource): void {
    if (isSized(body) && this.revalidate()) {
      // Not delayed: it replies to calls that were charged, too.
      if (message.hasFailed) this.delay(() => {})
      return this.sendOrWait({ message, source: body })
    }
    body.close()
    message.release()
    if (!isSized(body)) throw new Error('A reply to a WebSocket has no length')
  }

  /** A long reply is sent once the client has taken the earlier ones. */
  private sendOrWait(reply: LongReply): void {
    const { socket, waiting } = this
    if (socket === undefined) return drop(reply)
    if (waiting.length === 0 && !this.isSending && socket.queuedBytes === 0)
      return this.sendLong(socket, reply)
    waiting.push(reply)
    socket.notifyDrain()
  }

  /** Sends a whole reply, of a message if it has called the connection. */
  private send(body: Uint8Array | string, message?: SocketMessage): void {
    this.socket?.send(body)
    if (message?.calledConnection === true) this.connection?.afterReply(message)
  }

  /** Sends it later and later, where failures are repeated. */
  private sendDelayed(body: Uint8Array | string, message?: SocketMessage): void {
    const { budget } = this.host
    const bytes = body.length
    const share = (this.delayed ??= budget.open(this.accessId))
    if (!share.tryTake(bytes)) return this.send(body, message)
    this.delay(() => {
      share.give(bytes)
      if (this.revalidate()) this.send(body, message)
    })
  }

  private get accessId(): string {
    return this.principal.grant.accessId
  }

  private delay(send: () => void): void {
    const { options, timers } = this.host
    this.backoff ??= new FailureBackoff(options, timers)
    this.backoff.delay(send)
  }

  /** What an upstream answered is in memory already. */
  private toSource(body: Uint8Array): SizedSource {
    const share = this.host.budget.open(this.accessId)
    share.take(body.length)
    return createBytesSource(body, share)
  }

  private sendLong(socket: Socket, { message, source }: LongReply): void {
    this.isSending = true
    socket.sendSource(source, () => {
      this.isSending = false
      if (message.calledConnection) this.connection?.afterReply(message)
      message.release()
      if (this.waiting.length > 0) socket.notifyDrain()
    })
  }

  private refuse(socket: Socket, body: Uint8Array, error: RpcError): void {
    const { host } = this
    // The next accepted message must be counted here.
    socket.answerDirectly('')
    this.countRefusal(socket, body)
    if (socket.isClosed) return
    const reply = host.view.dispatch.refuse(body, error, { id: socket.id })
    if (reply === '') return
    if (isSubscribe(body)) this.sendDelayed(reply)
    else socket.send(reply)
  }

  /** Later point reads need not come here as long as what was decided holds. */
  private answerDirectly(socket: Socket, principal: Principal): void {
    const { direct, view } = this.host
    if (direct === undefined) return
    const { token, version } = this.group
    direct.register(principal, { token, version, lane: view.lane })
    socket.answerDirectly(token)
  }

  /** True for a transaction of a network that takes them. */
  private takesTransaction(socket: Socket, body: Uint8Array): boolean {
    const { group, host } = this
    const { limiter, options, submissions } = host
    if (submissions === undefined || !isTransaction(body)) return false
    const handler = submissions.submissions.transactionHandlerOf(group.grant)
    if (handler === undefined) return false
    this.frames ??= new TransactionFrames(frame => {
      if (this.revalidate()) this.socket?.send(frame, true)
    })
    const { frames } = this
    // Those that were refused wait behind those in flight.
    if (frames.size >= 2 * options.socketCallsMax) {
      socket.close(CLOSE.overload, 'over a limit')
      return true
    }
    const principal = limiter.principalOf(group.grant)
    const isFull = this.callCount >= options.socketCallsMax
    const exceeded = isFull ? undefined : limiter.acquire(principal, host.now, this)
    if (isFull || exceeded !== undefined) {
      frames.refuse(exceeded === undefined ? OVERLOADED : toOverLimit(exceeded, host.onRefusal))
      // The next accepted message must be counted here.
      socket.answerDirectly('')
      this.countRefusal(socket, body)
      return true
    }
    this.refusedBytes = 0
    const recheck = (): Reply | undefined => (this.isEntitled() ? undefined : UNAUTHORIZED)
    const submitter = { grant: group.grant, principal, recheck, request: this }
    const form = { race: { isProtected: this.wantsProtection, isJson: false } }
    this.callCount++
    frames
      .add(body, () => submissions.submissions.submit(handler, submitter, body, form))
      .catch((fault: unknown) => {
        host.log.error({ err: fault, socketId: this.id }, 'a transaction was not answered')
        this.close(CLOSE.fault, 'internal error')
      })
      .finally(() => {
        this.callCount--
        limiter.release(principal, 1)
      })
    return true
  }

  private log(body: Uint8Array): void {
    const { host, group, id } = this
    const { tokenId, network } = group.grant
    const { location } = host
    host.log.debug({ socketId: id, tokenId, location, network, bytes: body.length }, 'message')
  }
}
