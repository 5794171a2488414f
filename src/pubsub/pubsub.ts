import type { Fanout } from '../native/fanout.js'
import { CLOSE, type Connection, type Socket } from '../shared/socket.js'
import { createConnection, type OwnConnection } from './connection.js'
import { createDriver, type Driver } from './driver.js'
import type { Options } from './options.js'
import type { SetTimer } from './penalties.js'
import { createRegistry } from './registry.js'
import type { IndexedScope, Transactions } from './subscription.js'

/** How the subscriptions of one network stand at one edge; counts are since it was made. */
export type PubSubStats = {
  /** Held by sockets; one id may be held by many. */
  readonly subscriptions: number
  readonly ids: number
  /** Made, each of which may go to many sockets. */
  readonly frames: number
  readonly bytes: number
  /** Sockets that were closed because frames were missed or the store was replaced. */
  readonly dropped: number
}

/** The subscriptions of one network at one edge. */
export type PubSub = {
  connect(socket: Socket, limits: { readonly subscriptionsMax: number }): Connection
  /** The tip has moved, or may have. Never throws. */
  advance(): void
  /** Another store: whoever listens is told by a close. `undefined` where there is none. */
  replaceStore(open: (() => Fanout) | undefined): void
  stats(): PubSubStats
  close(): void
}

export type PubSubParts = {
  readonly network: string
  readonly transactions: Transactions
  /** Undefined where the whole chain is indexed. */
  readonly scope?: IndexedScope | undefined
  readonly options: Options
  /** Sends a frame to every socket that listens to the topic. The frame is not kept. */
  readonly publish: (topic: string, frame: Uint8Array) => void
  readonly onFault: (fault: unknown) => void
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly setTimer: SetTimer
}

export const createPubSub = (parts: PubSubParts): PubSub => {
  const { network, transactions, scope, options, publish, onFault, now, setTimer } = parts
  const registry = createRegistry(network, options.subscriptionsMax)
  const offer = { filtersMax: options.filtersMax, transactions, scope }
  const connections = new Set<OwnConnection>()
  let driver: Driver | undefined
  /** Opens the store that is to be followed, for as long as that has not succeeded. */
  let opening: (() => Fanout) | undefined
  let openFailure: string | undefined
  let frames = 0
  let bytes = 0
  let dropped = 0

  const drop = (reason: string): void => {
    const before = connections.size
    for (const connection of [...connections]) connection.drop(CLOSE.restart, reason)
    dropped += before - connections.size
  }

  const onFrame = (id: number, frame: Uint8Array, isLast: boolean): void => {
    // It may have been given up since the pass began.
    const entry = registry.byId(id)
    if (entry === undefined) return
    if (entry.topic !== undefined) publish(entry.topic, frame)
    else entry.onFrame?.(frame, isLast)
  }

  const follow = (fanout: Fanout): void => {
    try {
      registry.use(fanout)
    } catch (fault) {
      // Some are not there, and would never hear anything.
      onFault(fault)
      drop('subscription failed')
    }
  }

  const open = (): void => {
    if (opening === undefined) return
    try {
      const fanout = opening()
      opening = undefined
      openFailure = undefined
      driver = createDriver({
        fanout,
        onFrame,
        onLost: () => drop('missed slots'),
        onPass: (frameCount, byteCount) => {
          frames += frameCount
          bytes += byteCount
        },
        onFault,
      })
      follow(fanout)
    } catch (fault) {
      // It is tried again at the next tip; the same reason is told once.
      const reason = fault instanceof Error ? fault.message : String(fault)
      if (reason !== openFailure) onFault(fault)
      openFailure = reason
    }
  }

  const advance = (): void => {
    open()
    driver?.advance()
  }

  const leave = (): void => {
    driver?.close()
    driver = undefined
    registry.use(undefined)
  }

  return {
    connect: (socket, { subscriptionsMax }) => {
      const connection = createConnection({
        socket,
        subscriptionsMax,
        registry,
        options,
        offer,
        now,
        setTimer,
        onFault,
        onSignature: advance,
        onClose: gone => connections.delete(gone),
      })
      connections.add(connection)
      return connection
    },
    advance,
    replaceStore: next => {
      // Before the first store nothing was missed: who listens already goes on.
      const wasFollowed = driver !== undefined
      leave()
      if (wasFollowed) drop('index replaced')
      opening = next
      advance()
    },
    stats: () => {
      const { ids, holders } = registry.size()
      return { subscriptions: holders, ids, frames, bytes, dropped }
    },
    close: () => {
      opening = undefined
      leave()
      for (const connection of [...connections]) connection.close()
    },
  }
}
