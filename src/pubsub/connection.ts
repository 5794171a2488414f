import { RpcError } from '../shared/errors.js'
import {
  CLOSE,
  type CloseCode,
  type Connection,
  type Follower,
  type Socket,
  type SubscriptionLimits,
} from '../shared/socket.js'
import type { SetTimer } from '../shared/event-loop/timers.js'
import { isMap } from '../shared/values.js'
import { NAMED_SUBSCRIBES, SUBSCRIBES, SUBSCRIPTION_METHODS, UNSUBSCRIBES } from './methods.js'
import type { AccessBound } from './access-bound.js'
import type { Options } from './options.js'
import { toSubscriptionId } from './params.js'
import type { Entry, Group, OnFrame, Registry } from './registry.js'
import type { SubscriptionRules, ToSubscription } from './subscription.js'

export type ConnectionParts = {
  readonly socket: Socket
  /** Names the socket to the fan-out. */
  readonly socketNumber: number
  readonly limits: SubscriptionLimits
  readonly registry: Registry
  /** Accounts in filters. */
  readonly filterKeys: AccessBound
  /** Subscriptions that are read for each block. */
  readonly blockReads: AccessBound
  readonly options: Options
  readonly rules: SubscriptionRules
  readonly setTimer: SetTimer
  readonly onFault: (fault: unknown) => void
  /** A subscription may have frames of what the store contains already. */
  readonly onBacklog: () => void
  readonly onClose: (connection: SubscriptionConnection) => void
}

/**
 * A signature may be confirmed already, and notifications may follow a cursor at once. They would
 * be in the segment of the reply, and a client that handles both in one turn (kit) has no listener
 * for them yet. A client on a busy machine reads late.
 */
const BACKLOG_WAIT_MS = 25

const toFrame =
  (id: number) =>
  (result: string): string =>
    `{"jsonrpc":"2.0","method":"submissionNotification","params":{"result":${result},"subscription":${id}}}`

const TRUE = Buffer.from('true')
const NO_ENTRIES: readonly Entry[] = []

/** The subscriptions of one socket. */
export class SubscriptionConnection implements Connection {
  private readonly parts: ConnectionParts
  private readonly entries = new Map<number, Entry>()
  /** The groups that the socket is in, by id. */
  private readonly groups = new Map<number, Group>()
  /** Subscriptions that read for themselves, by id. */
  private readonly followers = new Map<number, Follower>()
  /** Ids that have ended, the oldest first. */
  private readonly endedIds = new Set<number>()
  /** Subscriptions whose reply is not sent yet, by message. */
  private readonly unstarted = new Map<object, Entry[]>()
  private isClosed = false
  /** Its replays are paused. */
  private isHeld = false

  constructor(parts: ConnectionParts) {
    this.parts = parts
  }

  get size(): number {
    return this.entries.size
  }

  call(method: string, params: unknown, message: object): Uint8Array | undefined {
    // Nothing would release a subscription made after the close.
    if (this.isClosed) throw new RpcError('internal')
    const toSubscription = SUBSCRIBES.get(method)
    if (toSubscription === undefined && !UNSUBSCRIBES.has(method)) {
      if (SUBSCRIPTION_METHODS.has(method)) throw new RpcError('methodNotFound')
      return undefined
    }
    const toNamed = NAMED_SUBSCRIBES.get(method)
    if (toNamed !== undefined && isMap(params)) return this.subscribe(toNamed, [params], message)
    if (!Array.isArray(params)) throw new RpcError('paramsNotArray')
    return toSubscription === undefined
      ? this.unsubscribe(params)
      : this.subscribe(toSubscription, params, message)
  }

  afterReply(message: object): void {
    const entries = this.unstarted.get(message) ?? NO_ENTRIES
    this.unstarted.delete(message)
    const unshared: Entry[] = []
    for (const entry of entries) {
      if (entry.groups === undefined) unshared.push(entry)
      else if (!this.isClosed) this.start(entry)
    }
    if (unshared.length === 0) return
    // Nothing is missed meanwhile: passes find what the store contains already.
    this.parts.setTimer(() => {
      for (const entry of unshared) if (!this.isClosed) this.start(entry)
    }, BACKLOG_WAIT_MS)
  }

  onDrain(): void {
    if (this.isHeld) {
      this.hold(false)
      this.parts.onBacklog()
    }
    for (const follower of this.followers.values()) follower.onDrain()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    for (const follower of this.followers.values()) follower.close()
    this.followers.clear()
    this.hold(false)
    const { registry, onClose } = this.parts
    for (const entry of this.entries.values()) {
      registry.release(entry, this.groups.get(entry.id))
      this.count(entry, -1)
    }
    this.entries.clear()
    this.groups.clear()
    this.endedIds.clear()
    this.unstarted.clear()
    onClose(this)
  }

  /** Closes the socket if it has subscriptions. */
  drop(code: CloseCode, reason: string): void {
    if (this.entries.size > 0) this.closeSocket(code, reason)
  }

  private subscribe(
    toSubscription: ToSubscription,
    params: readonly unknown[],
    message: object,
  ): Uint8Array {
    const { blockReads, filterKeys, limits, registry, rules, socket, socketNumber } = this.parts
    const { accessId } = limits
    const subscription = toSubscription(params, rules, {
      accessId,
      socketNumber,
      checkKeys: count => filterKeys.check(accessId, count),
      checkReads: count => blockReads.check(accessId, count),
    })
    const { key } = subscription
    const known = key === undefined ? undefined : registry.find(key)
    if (known !== undefined && this.entries.has(known.id)) return Buffer.from(String(known.id))
    if (this.entries.size >= limits.subscriptionsMax) {
      limits.onExceeded()
      throw new RpcError('socketSubscriptions')
    }
    const onFrame: OnFrame = (frame, isLast, isReplayed) => {
      socket.send(frame)
      if (isLast) this.release(entry)
      if (isReplayed === true) this.holdIfSlow()
    }
    const entry = registry.acquire(subscription, key === undefined ? onFrame : undefined)
    this.entries.set(entry.id, entry)
    this.count(entry, 1)
    const unstarted = this.unstarted.get(message)
    if (unstarted === undefined) this.unstarted.set(message, [entry])
    else unstarted.push(entry)
    return Buffer.from(String(entry.id))
  }

  private unsubscribe(params: readonly unknown[]): Uint8Array {
    const id = toSubscriptionId(params)
    const entry = this.entries.get(id)
    if (entry === undefined) {
      if (this.endedIds.has(id)) return TRUE
      throw new RpcError('subscriptionId')
    }
    // Before the reply, so that no frame follows it.
    const group = this.groups.get(id)
    if (group !== undefined) this.parts.socket.unsubscribe(group.topic)
    this.release(entry)
    return TRUE
  }

  private start(entry: Entry): void {
    const { registry, socket, onBacklog, onFault } = this.parts
    // The message that subscribed may have unsubscribed again.
    if (this.entries.get(entry.id) !== entry) return
    try {
      registry.start(entry)
      const { follow } = entry.subscription
      if (follow !== undefined) {
        this.followers.set(entry.id, follow(socket, toFrame(entry.id)))
        return
      }
    } catch (fault) {
      // Closed, because the client would wait for notifications that never come.
      onFault(fault)
      return this.closeSocket(CLOSE.overload, 'subscription failed')
    }
    const group = registry.join(entry)
    if (group === undefined) return onBacklog()
    this.groups.set(entry.id, group)
    socket.subscribe(group.topic)
    if (entry.subscription.read !== undefined) onBacklog()
  }

  private holdIfSlow(): void {
    const { options, socket } = this.parts
    if (this.isHeld || socket.queuedBytes <= options.replayQueuedBytesMax) return
    this.hold(true)
    socket.notifyDrain()
  }

  private hold(isHeld: boolean): void {
    if (isHeld === this.isHeld) return
    this.isHeld = isHeld
    this.parts.registry.hold(this.parts.socketNumber, isHeld)
  }

  private release(entry: Entry): void {
    this.entries.delete(entry.id)
    this.followers.get(entry.id)?.close()
    this.followers.delete(entry.id)
    this.parts.registry.release(entry, this.groups.get(entry.id))
    this.count(entry, -1)
    this.groups.delete(entry.id)
    this.endedIds.add(entry.id)
    if (this.endedIds.size <= this.parts.options.idsRememberedMax) return
    const [oldest] = this.endedIds
    if (oldest !== undefined) this.endedIds.delete(oldest)
  }

  /** Counts what an id keeps, or no longer keeps, to the access. */
  private count({ subscription: { keyCount = 0, readCount = 0 } }: Entry, sign: 1 | -1): void {
    const { blockReads, filterKeys, limits } = this.parts
    filterKeys.add(limits.accessId, sign * keyCount)
    blockReads.add(limits.accessId, sign * readCount)
  }

  private closeSocket(code: CloseCode, reason: string): void {
    // First, so that nothing more is sent whenever the transport reports the close.
    this.close()
    this.parts.socket.close(code, reason)
  }
}
