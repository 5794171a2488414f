import type { Fanout } from '../native/fanout.js'
import { RpcError } from '../shared/errors.js'
import type { Options } from './options.js'
import type { Subscription } from './subscription.js'

/** Ids are numbers in JSON and u32 in the native addon. */
const ID_MAX = 2 ** 32 - 1

/** Sockets that get the frames of an id in the same turn of the event loop. */
export type Group = {
  /** Topic that the frames are published on. */
  readonly topic: string
  /** Number of sockets. */
  size: number
}

export type OnFrame = (frame: Uint8Array, isLast: boolean, isReplayed?: boolean) => void

/** One subscription id. */
export type Entry = {
  readonly id: number
  /** The sockets of a shared id; undefined if `onFrame` takes the frames. */
  readonly groups: Group[] | undefined
  readonly subscription: Subscription
  /** Takes the frames of a subscription that is not shared; `isLast` ends it. */
  readonly onFrame: OnFrame | undefined
  /** Connections that are subscribed. */
  refCount: number
  /** Frames are made for it. */
  isStarted: boolean
}

/** `turnFramesMax` bounds the sockets of a group. */
export type RegistryBounds = Pick<Options, 'subscriptionsMax' | 'turnFramesMax'>

/** The subscription ids of one network at one edge. */
export class Registry {
  private readonly network: string
  private readonly bounds: RegistryBounds
  private readonly byKey = new Map<string, Entry>()
  private readonly entries = new Map<number, Entry>()
  /** Those that are read for each block. */
  private readonly reading = new Set<Entry>()
  private fanout: Fanout | undefined
  private lastId = 0
  private refCount = 0

  constructor(network: string, bounds: RegistryBounds) {
    this.network = network
    this.bounds = bounds
  }

  find(key: string): Entry | undefined {
    return this.byKey.get(key)
  }

  byId(id: number): Entry | undefined {
    return this.entries.get(id)
  }

  /** The ids that are read for each block. */
  readers(): Iterable<Entry> {
    return this.reading
  }

  /** Ids, and the subscriptions of all connections to them. */
  size(): { readonly ids: number; readonly subscriptions: number } {
    return { ids: this.entries.size, subscriptions: this.refCount }
  }

  /** Subscribes one connection, to an existing id or a new one. Throws over the bound. */
  acquire(subscription: Subscription, onFrame: Entry['onFrame']): Entry {
    if (this.refCount >= this.bounds.subscriptionsMax) throw new RpcError('nodeSubscriptions')
    const { key } = subscription
    const known = key === undefined ? undefined : this.byKey.get(key)
    const entry = known ?? this.create(subscription, onFrame)
    entry.refCount += 1
    this.refCount += 1
    return entry
  }

  /** Starts the frames of an id. Throws what the fan-out throws. */
  start(entry: Entry): void {
    if (entry.isStarted) return
    if (this.fanout !== undefined) entry.subscription.add(this.fanout, entry.id)
    entry.isStarted = true
  }

  /** The group that a socket takes a place in; undefined for an id that is not shared. */
  join({ id, groups }: Entry): Group | undefined {
    if (groups === undefined) return undefined
    let group = groups.find(({ size }) => size < this.bounds.turnFramesMax)
    if (group === undefined) {
      const number = groups.length === 0 ? '' : `:${groups.length}`
      group = { topic: `${this.network}:${id}${number}`, size: 0 }
      groups.push(group)
    }
    group.size += 1
    return group
  }

  /** Unsubscribes one connection, whose socket is in the group. The last one ends the id. */
  release(entry: Entry, group?: Group): void {
    if (group !== undefined) group.size -= 1
    entry.refCount -= 1
    this.refCount -= 1
    if (entry.refCount > 0) return
    this.entries.delete(entry.id)
    this.reading.delete(entry)
    if (entry.subscription.key !== undefined) this.byKey.delete(entry.subscription.key)
    if (entry.isStarted) this.fanout?.remove(entry.id)
  }

  /** Pauses what is replayed for a socket, or lets it go on. */
  hold(socketNumber: number, isHeld: boolean): void {
    this.fanout?.hold(socketNumber, isHeld)
  }

  /** Replaces the fan-out that makes the frames, and starts all started ids there. */
  setFanout(fanout: Fanout | undefined): void {
    this.fanout = fanout
    if (fanout === undefined) return
    for (const { id, isStarted, subscription } of this.entries.values())
      if (isStarted) subscription.add(fanout, id)
  }

  private create(subscription: Subscription, onFrame: Entry['onFrame']): Entry {
    const id = this.nextId()
    const { key } = subscription
    const groups = key === undefined ? undefined : []
    const entry = { id, groups, subscription, onFrame, refCount: 0, isStarted: false }
    this.entries.set(id, entry)
    if (subscription.read !== undefined) this.reading.add(entry)
    if (key !== undefined) this.byKey.set(key, entry)
    return entry
  }

  // From 1: some clients take 0 for no id. After a wrap, ids in use are skipped.
  private nextId(): number {
    do this.lastId = this.lastId === ID_MAX ? 1 : this.lastId + 1
    while (this.entries.has(this.lastId))
    return this.lastId
  }
}
