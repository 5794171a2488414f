import { RpcError } from '../shared/errors.js'
import { CLOSE, type CloseCode, type Connection, type Socket } from '../shared/socket.js'
import { SUBSCRIBES, SUBSCRIPTION_METHODS, UNSUBSCRIBES } from './methods.js'
import type { Options } from './options.js'
import { toSubscriptionId } from './params.js'
import { createPenalties, type SetTimer } from './penalties.js'
import type { Entry, Registry } from './registry.js'
import type { Offer, ToSubscription } from './subscription.js'

/** A connection as the part that made it sees it. */
export type OwnConnection = Connection & {
  /** Ends the socket, if it listens to anything. */
  drop(code: CloseCode, reason: string): void
}

export type ConnectionParts = {
  readonly socket: Socket
  readonly subscriptionsMax: number
  readonly registry: Registry
  readonly options: Options
  readonly offer: Offer
  readonly now: () => number
  readonly setTimer: SetTimer
  readonly onFault: (fault: unknown) => void
  /** A signature may be known already: somebody should look. */
  readonly onSignature: () => void
  readonly onClose: (connection: OwnConnection) => void
}

const TRUE = Buffer.from('true')
const NOTHING: readonly Entry[] = []

export const createConnection = (parts: ConnectionParts): OwnConnection => {
  const { socket, registry, options, offer } = parts
  const held = new Map<number, Entry>()
  /** Ids that ended, the oldest first. */
  const ended = new Set<number>()
  /** What a message subscribed to whose reply has not left yet. */
  const pending = new Map<object, Entry[]>()
  let isClosed = false

  const penalties = createPenalties({
    options,
    now: parts.now,
    setTimer: parts.setTimer,
    onTooMany: () => end(CLOSE.overload, 'too many failing subscriptions'),
  })

  const remember = (id: number): void => {
    ended.add(id)
    if (ended.size <= options.idsRememberedMax) return
    const [oldest] = ended
    if (oldest !== undefined) ended.delete(oldest)
  }

  const forget = (entry: Entry): void => {
    held.delete(entry.id)
    remember(entry.id)
    registry.release(entry)
  }

  const close = (): void => {
    if (isClosed) return
    isClosed = true
    for (const entry of held.values()) registry.release(entry)
    held.clear()
    ended.clear()
    pending.clear()
    penalties.close()
    parts.onClose(connection)
  }

  const end = (code: CloseCode, reason: string): void => {
    // First, so that nothing is sent to it any more, whenever the transport tells of its end.
    close()
    socket.close(code, reason)
  }

  const subscribe = (
    toSubscription: ToSubscription,
    params: readonly unknown[],
    message: object,
  ): Uint8Array => {
    const subscription = toSubscription(params, offer)
    const { key } = subscription
    const known = key === undefined ? undefined : registry.find(key)
    if (known !== undefined && held.has(known.id)) return Buffer.from(String(known.id))
    if (held.size >= parts.subscriptionsMax) throw new RpcError('socketSubscriptions')
    const onFrame = (frame: Uint8Array, isLast: boolean): void => {
      socket.send(frame)
      if (isLast) forget(entry)
    }
    const entry = registry.hold(subscription, key === undefined ? onFrame : undefined)
    held.set(entry.id, entry)
    const begun = pending.get(message)
    if (begun === undefined) pending.set(message, [entry])
    else begun.push(entry)
    return Buffer.from(String(entry.id))
  }

  const unsubscribe = (params: readonly unknown[]): Uint8Array => {
    const id = toSubscriptionId(params)
    const entry = held.get(id)
    if (entry === undefined) {
      if (ended.has(id)) return TRUE
      throw new RpcError('subscriptionId')
    }
    // Now and not after the reply: no frame follows it.
    if (entry.topic !== undefined) socket.unsubscribe(entry.topic)
    forget(entry)
    return TRUE
  }

  const answer = (method: string, params: unknown, message: object): Uint8Array | undefined => {
    const toSubscription = SUBSCRIBES.get(method)
    if (toSubscription === undefined && !UNSUBSCRIBES.has(method)) {
      if (SUBSCRIPTION_METHODS.has(method)) throw new RpcError('methodNotFound')
      return undefined
    }
    if (!Array.isArray(params)) throw new RpcError('paramsNotArray')
    return toSubscription === undefined
      ? unsubscribe(params)
      : subscribe(toSubscription, params, message)
  }

  const begin = (entry: Entry): void => {
    // It may have been unsubscribed from by the message that subscribed to it.
    if (held.get(entry.id) !== entry) return
    try {
      registry.start(entry)
    } catch (fault) {
      // Nothing would ever come, and nothing would say so.
      parts.onFault(fault)
      return end(CLOSE.overload, 'subscription failed')
    }
    if (entry.topic === undefined) parts.onSignature()
    else socket.subscribe(entry.topic)
  }

  const connection: OwnConnection = {
    call: (method, params, message) => {
      // What it would hold could not be given back.
      if (isClosed) throw new RpcError('internal')
      try {
        const result = answer(method, params, message)
        if (result !== undefined) penalties.forgive()
        return result
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        return penalties.refuse(error)
      }
    },
    afterReply: message => {
      const begun = pending.get(message) ?? NOTHING
      pending.delete(message)
      for (const entry of begun) if (!isClosed) begin(entry)
    },
    close,
    drop: (code, reason) => {
      if (held.size > 0) end(code, reason)
    },
  }
  return connection
}
