import { RpcError } from '../shared/errors.js'
import type { Fanout } from '../native/fanout.js'
import type { Subscription } from './subscription.js'

/** Ids go on the wire as numbers, and to the kernel as u32. */
const ID_MAX = 2 ** 32 - 1

/** What listens to the frames of one id. */
export type Entry = {
  readonly id: number
  /** Where its frames are published; undefined where `onFrame` takes them. */
  readonly topic: string | undefined
  readonly subscription: Subscription
  /**
   * Takes the frames of a subscription that is shared with nobody, and is told which is the last.
   */
  readonly onFrame: ((frame: Uint8Array, isLast: boolean) => void) | undefined
  /** Connections that hold it. */
  holders: number
  /** Whether frames are made for it. */
  isStarted: boolean
}

/** Who listens to what on one network of an edge. */
export type Registry = {
  /** What a key stands for now. */
  find(key: string): Entry | undefined
  byId(id: number): Entry | undefined
  /** One holder more, of what is there or of a new id. Throws over the bound. */
  hold(subscription: Subscription, onFrame: Entry['onFrame']): Entry
  /** Frames are made from now on. May throw what the fan-out throws. */
  start(entry: Entry): void
  /** One holder less; without any, the id is gone. */
  release(entry: Entry): void
  /** The fan-out that makes the frames from now on; all that has started starts there. */
  use(fanout: Fanout | undefined): void
  /** How many ids there are, and how many hold them. */
  size(): { readonly ids: number; readonly holders: number }
}

export const createRegistry = (network: string, subscriptionsMax: number): Registry => {
  const byKey = new Map<string, Entry>()
  const byId = new Map<number, Entry>()
  let fanout: Fanout | undefined
  let lastId = 0
  let holders = 0

  // From 1: hand-written clients take 0 for no id. After a wrap those that still live are passed
  // over.
  const nextId = (): number => {
    do lastId = lastId === ID_MAX ? 1 : lastId + 1
    while (byId.has(lastId))
    return lastId
  }

  const create = (subscription: Subscription, onFrame: Entry['onFrame']): Entry => {
    const id = nextId()
    const { key } = subscription
    const topic = key === undefined ? undefined : `${network}:${id}`
    const entry = { id, topic, subscription, onFrame, holders: 0, isStarted: false }
    byId.set(id, entry)
    if (key !== undefined) byKey.set(key, entry)
    return entry
  }

  return {
    find: key => byKey.get(key),
    byId: id => byId.get(id),
    hold: (subscription, onFrame) => {
      if (holders >= subscriptionsMax) throw new RpcError('nodeSubscriptions')
      const { key } = subscription
      const known = key === undefined ? undefined : byKey.get(key)
      const entry = known ?? create(subscription, onFrame)
      entry.holders += 1
      holders += 1
      return entry
    },
    start: entry => {
      if (entry.isStarted) return
      if (fanout !== undefined) entry.subscription.add(fanout, entry.id)
      entry.isStarted = true
    },
    release: entry => {
      entry.holders -= 1
      holders -= 1
      if (entry.holders > 0) return
      byId.delete(entry.id)
      if (entry.subscription.key !== undefined) byKey.delete(entry.subscription.key)
      if (entry.isStarted) fanout?.remove(entry.id)
    },
    use: next => {
      fanout = next
      if (next === undefined) return
      for (const entry of byId.values()) if (entry.isStarted) entry.subscription.add(next, entry.id)
    },
    size: () => ({ ids: byId.size, holders }),
  }
}
