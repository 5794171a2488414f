import type { UsageLimiter, Principal } from '../../access/limiter/usage-limiter.js'
import { RpcError } from '../../shared/errors.js'
import type { Log } from '../../shared/log.js'
import { CLOSE, type CloseCode, type Connection, type Socket } from '../../shared/socket.js'
import { toOverLimit, type AdmissionParts } from '../admission.js'
import type { NetworkView } from '../network-view.js'
import type { Options } from '../../processes/options.js'
import type { SocketGroup } from './group.js'
import { SocketMessage } from './message.js'

/** Bytes of replies that wait for their WebSockets, over a whole edge. */
export type ReplyBudget = { heldBytes: number; readonly heldBytesMax: number }

/** What the sessions of one network at one location share. */
export type SocketHost = {
  readonly location: string
  readonly view: NetworkView
  readonly limiter: UsageLimiter
  readonly options: Pick<Options, 'socketCallsMax' | 'socketRefusedBytesMax'>
  readonly budget: ReplyBudget
  /** What is read at a time where nobody knows how much comes. */
  readonly pieceBytes: number
  /** Unix milliseconds. */
  readonly now: () => number
  readonly onRefusal: AdmissionParts['onRefusal']
  readonly log: Log
  readonly isLogged: boolean
  /** Who answers subscriptions; undefined where nobody does. */
  readonly connect: (
    socket: Socket,
    limits: { readonly subscriptionsMax: number },
  ) => Connection | undefined
}

// As web3.js and kit send it every 5 s.
const PING = Buffer.from('{"jsonrpc":"2.0","method":"ping"}')
/** A reply longer than this waits until the client has taken what came before. */
const LARGE_BYTES = 64 * 1024
const BUSY = new RpcError('overloaded')

/**
 * JSON-RPC over one WebSocket. There are many that do nothing, so it holds no more than it must.
 */
export class SocketSession {
  readonly host: SocketHost
  readonly group: SocketGroup
  /** Who opened it: counted there until it closes, whatever its access becomes. */
  readonly principal: Principal
  private socket: Socket | undefined
  private connection: Connection | undefined
  /** Messages that are not answered yet. */
  private callCount = 0
  /** Replies that are whole and wait for room. */
  private waiting: { readonly message: SocketMessage; readonly body: Uint8Array | string }[] = []
  private refusedBytes = 0

  constructor(host: SocketHost, group: SocketGroup, principal: Principal) {
    this.host = host
    this.group = group
    this.principal = principal
  }

  get id(): string {
    return this.socket?.id ?? ''
  }

  get isClosed(): boolean {
    return this.socket === undefined || this.socket.isClosed
  }

  /** Whether anything may still be sent; looks at its access first. */
  isOpen(): boolean {
    return !this.isClosed && this.group.isValid(this.host.now()) && !this.isClosed
  }

  onOpen(socket: Socket): void {
    this.socket = socket
    this.group.sessions.add(this)
  }

  onMessage(socket: Socket, body: Uint8Array): void {
    const { host, group } = this
    const { limiter, options } = host
    const nowMs = host.now()
    if (!group.isValid(nowMs) || PING.equals(body)) return
    if (this.callCount >= options.socketCallsMax) return this.refuse(socket, body, BUSY)
    const principal = limiter.principalOf(group.grant)
    const exceeded = limiter.acquire(principal, nowMs)
    if (exceeded !== undefined)
      return this.refuse(socket, body, toOverLimit(exceeded, host.onRefusal))
    this.refusedBytes = 0
    if (host.isLogged) this.log(body)
    const message = new SocketMessage(this, principal)
    const reply = host.view.dispatch.handle(body, message)
    if (!(reply instanceof Promise)) return message.answer(reply, false)
    this.callCount++
    reply
      .then(settled => {
        this.callCount--
        message.answer(settled, true)
      })
      .catch((fault: unknown) => {
        host.log.error({ err: fault, socketId: this.id }, 'a message was not answered')
        this.close(CLOSE.fault, 'internal error')
      })
  }

  onDrain(socket: Socket): void {
    for (;;) {
      if (this.waiting.length > 0 && socket.queuedBytes > 0) return socket.notifyDrain()
      const next = this.waiting.shift()
      if (next === undefined) return
      if (!this.isOpen()) return next.message.leave()
      next.message.send(next.body)
    }
  }

  onClose(): void {
    const { connection, group, host, waiting } = this
    this.socket = undefined
    this.connection = undefined
    this.waiting = []
    group.sessions.delete(this)
    host.limiter.releaseSocket(this.principal)
    for (const { message } of waiting) message.leave()
    connection?.close()
  }

  close(code: CloseCode, reason: string): void {
    this.socket?.close(code, reason)
  }

  /** Who answers its subscriptions, made at the first one. */
  connect(): Connection | undefined {
    const { socket } = this
    if (socket === undefined) return undefined
    const { subscriptionsPerSocketMax } = this.group.grant.limits
    this.connection ??= this.host.connect(socket, { subscriptionsMax: subscriptionsPerSocketMax })
    return this.connection
  }

  /** Whether a reply is better sent later: the client takes what came before first. */
  mustWait(body: Uint8Array | string): boolean {
    if (body.length <= LARGE_BYTES) return false
    return this.waiting.length > 0 || (this.socket?.queuedBytes ?? 0) > 0
  }

  wait(message: SocketMessage, body: Uint8Array | string): void {
    this.waiting.push({ message, body })
    this.socket?.notifyDrain()
  }

  /** `own` is the message where it held a call of the connection. */
  send(body: Uint8Array | string, own: SocketMessage | undefined): void {
    this.socket?.send(body)
    if (own !== undefined) this.connection?.afterReply(own)
  }

  private refuse(socket: Socket, body: Uint8Array, error: RpcError): void {
    const { host } = this
    this.refusedBytes += body.length
    if (this.refusedBytes > host.options.socketRefusedBytesMax)
      return socket.close(CLOSE.overload, 'over a limit')
    const reply = host.view.dispatch.refuse(body, error, { id: socket.id })
    if (reply !== '') socket.send(reply)
  }

  private log(body: Uint8Array): void {
    const { host, group, id } = this
    const { tokenId, network } = group.grant
    const { location } = host
    host.log.debug({ socketId: id, tokenId, location, network, bytes: body.length }, 'message')
  }
}
