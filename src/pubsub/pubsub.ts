import type { Fanout } from '../native/fanout.js'
import { RpcError } from '../shared/errors.js'
import { LoopTurn } from '../shared/event-loop/loop-turn.js'
import {
  CLOSE,
  type Connection,
  type FollowSubmissions,
  type Socket,
  type SubscriptionLimits,
} from '../shared/socket.js'
import type { Timers } from '../shared/event-loop/timers.js'
import { AccessBound } from './access-bound.js'
import { BlockReads } from './block-reads.js'
import { SubscriptionConnection } from './connection.js'
import { createDriver, type Driver } from './driver.js'
import type { Options } from './options.js'
import { Registry } from './registry.js'
import type { IndexedScope, PrepareFees, SubscriptionRules, Transactions } from './subscription.js'

/** Subscriptions of one network at one edge: current numbers, and counts since the start. */
export type PubSubStats = {
  /** Subscriptions of all sockets; many may share one id. */
  readonly subscriptions: number
  readonly ids: number
  /** Frames made; each may be sent to many sockets. */
  readonly frames: number
  readonly bytes: number
  /** Sockets closed because frames were missed or the store was replaced. */
  readonly dropped: number
  /** Reads of slots whose changes are damaged on the disk. */
  readonly damaged: number
}

export type PubSubParts = {
  readonly network: string
  readonly transactions: Transactions
  /** Undefined where the whole chain is indexed. */
  readonly scope?: IndexedScope | undefined
  /** Undefined where nothing can be submitted. */
  readonly followSubmissions?: FollowSubmissions | undefined
  /** Undefined where no fees are read. */
  readonly fees?: { readonly prepare: PrepareFees; slot(): number | undefined } | undefined
  readonly options: Options
  /** Sends a frame to every socket that is subscribed to the topic. The frame is not kept. */
  readonly publish: (topic: string, frame: Uint8Array) => void
  readonly timers: Timers
  readonly onFault: (fault: unknown) => void
  /** The changes of a slot can no longer be read; once for each slot. */
  readonly onDamaged: (slot: number) => void
}

const toKeysError = (max: number): RpcError => new RpcError('subscriptionKeys', { max })
const toReadsError = (max: number): RpcError => new RpcError('blockReads', { max })

/** The subscriptions of one network at one edge. */
export class PubSub {
  private readonly parts: PubSubParts
  private readonly registry: Registry
  private readonly rules: SubscriptionRules
  private readonly filterKeys: AccessBound
  private readonly readBound: AccessBound
  private readonly blockReads: BlockReads
  private readonly turn: LoopTurn
  private readonly connections = new Set<SubscriptionConnection>()
  private driver: Driver | undefined
  /** Opens the fan-out of the live store, until that has succeeded. */
  private openFanout: (() => Fanout) | undefined
  private openFailure: string | undefined
  private socketCount = 0
  private frames = 0
  private bytes = 0
  private dropped = 0
  private damaged = 0
  private lastDamaged: number | undefined

  constructor(parts: PubSubParts) {
    const { fees, followSubmissions, network, options, timers, transactions, scope } = parts
    this.parts = parts
    this.registry = new Registry(network, options)
    this.turn = new LoopTurn(options.turnMs, timers.now)
    const { accessKeysMax, accessReadsMax, keysMax, readsMax } = options
    this.filterKeys = new AccessBound(accessKeysMax, keysMax, toKeysError)
    this.readBound = new AccessBound(accessReadsMax, readsMax, toReadsError)
    this.blockReads = new BlockReads({
      readers: () => this.registry.readers(),
      slot: () => fees?.slot(),
      send: (id, frame) => this.send(id, frame, false, false),
      onFault: parts.onFault,
    })
    const { filtersMax, filterKeysMax } = options
    const prepareFees = fees?.prepare
    this.rules = {
      ...{ filtersMax, filterKeysMax, transactions, scope },
      followSubmissions,
      prepareFees,
    }
  }

  connect(socket: Socket, limits: SubscriptionLimits): Connection {
    const { filterKeys, readBound: blockReads, registry, rules } = this
    const { options, onFault, timers } = this.parts
    const connection = new SubscriptionConnection({
      socket,
      // Reused after 2^32 sockets of this edge.
      socketNumber: this.socketCount++ >>> 0,
      limits,
      registry,
      filterKeys,
      blockReads,
      options,
      rules,
      setTimer: timers.setTimer,
      onFault,
      onBacklog: () => this.advance(),
      onClose: closed => this.connections.delete(closed),
    })
    this.connections.add(connection)
    return connection
  }

  /** Publishes what the store has gained. Call it when the tip has moved. Never throws. */
  advance(): void {
    this.openStore()
    this.driver?.advance()
    this.blockReads.advance()
  }

  /**
   * Follows another store, and closes sockets with subscriptions. `undefined` where there is none.
   */
  replaceStore(openFanout: (() => Fanout) | undefined): void {
    // Before the first store nothing was missed.
    const hadStore = this.driver !== undefined
    this.closeStore()
    if (hadStore) this.drop('index replaced')
    this.openFanout = openFanout
    this.advance()
  }

  stats(): PubSubStats {
    const { frames, bytes, dropped, damaged } = this
    return { ...this.registry.size(), frames, bytes, dropped, damaged }
  }

  close(): void {
    this.openFanout = undefined
    this.blockReads.close()
    this.closeStore()
    for (const connection of [...this.connections]) connection.close()
  }

  private openStore(): void {
    if (this.openFanout === undefined) return
    const { onFault } = this.parts
    try {
      const fanout = this.openFanout()
      this.openFanout = undefined
      this.openFailure = undefined
      this.driver = createDriver({
        fanout,
        send: (id, frame, isLast, isReplayed) => this.send(id, frame, isLast, isReplayed),
        onLost: () => this.drop('missed slots'),
        onDamaged: slot => this.countDamaged(slot),
        onPass: (frameCount, byteCount) => {
          this.frames += frameCount
          this.bytes += byteCount
        },
        onFault,
        turnFramesMax: this.parts.options.turnFramesMax,
        turn: this.turn,
      })
      this.useFanout(fanout)
    } catch (fault) {
      // Retried at the next tip; the same failure is reported once.
      const reason = fault instanceof Error ? fault.message : String(fault)
      if (reason !== this.openFailure) onFault(fault)
      this.openFailure = reason
    }
  }

  private useFanout(fanout: Fanout): void {
    try {
      this.registry.setFanout(fanout)
    } catch (fault) {
      // Some subscriptions are missing there, and would never get a notification.
      this.parts.onFault(fault)
      this.drop('subscription failed')
    }
  }

  private closeStore(): void {
    this.driver?.close()
    this.driver = undefined
    this.registry.setFanout(undefined)
  }

  /** Sends a frame to one group of sockets after the other, and yields how many they are. */
  private *send(
    id: number,
    frame: Uint8Array,
    isLast: boolean,
    isReplayed: boolean,
  ): Iterable<number> {
    // The id may have ended since the pass began.
    const entry = this.registry.byId(id)
    if (entry?.groups === undefined) {
      entry?.onFrame?.(frame, isLast, isReplayed)
      yield 1
      return
    }
    for (const { topic, size } of entry.groups) {
      if (size === 0) continue
      this.parts.publish(topic, frame)
      yield size
    }
  }

  private countDamaged(slot: number): void {
    this.damaged += 1
    if (slot !== this.lastDamaged) this.parts.onDamaged(slot)
    this.lastDamaged = slot
  }

  private drop(reason: string): void {
    const before = this.connections.size
    for (const connection of [...this.connections]) connection.drop(CLOSE.restart, reason)
    this.dropped += before - this.connections.size
  }
}
