import { isDeepStrictEqual } from 'node:util'
import type { LimitTable } from '../access/limiter/limit-table.js'
import {
  toChainProviderConfig,
  toControlConfig,
  toEdgeConfig,
  toFollowerConfig,
  toGeyserConfig,
  toIndexerConfig,
  toSenderConfig,
} from '../config/child-config.js'
import type { Config } from '../config/config.js'
import { grpcAddresses, grpcListeners, quicAddresses } from '../config/listeners.js'
import { peerListeners } from '../config/peer-listeners.js'
import type { ChainOverride } from '../ingest/feed/sources.js'
import type { ListeningSockets } from '../server/listening-sockets.js'
import type { Log } from '../shared/log.js'
import { startChild, type Child, type ChildOptions } from './child.js'
import type { Role } from './messages.js'
import { replaceAfter, replaceBeside, replaceInTurn } from './replacement.js'
import type { ChildDescription, EdgePlace, Predecessor } from './takeover.js'

/** Before the network in the name of an indexer. */
const INDEXER_NAME = 'indexer '

/** Edges read what the others write, and hand submissions to the sender. */
const START_ORDER: readonly Role[] = ['follower', 'control', 'indexer', 'sender', 'edge', 'geyser']
/** Each needs those after it. */
export const STOP_ORDER: readonly Role[] = [...START_ORDER.toReversed(), 'chain-provider']
/** Those whose successor is ready before they end. */
const BESIDE: ReadonlySet<Role> = new Set(['sender', 'edge', 'geyser'])

type ChildParts = Pick<ChildOptions, 'role' | 'name' | 'assignment' | 'listeners'> & {
  readonly onRestart?: () => void
}

export type ServiceChildrenParts = Pick<ChildOptions, 'onEvent' | 'onExit' | 'onFailure'> & {
  readonly limits: LimitTable
  readonly sockets: ListeningSockets
  /** The chain that a chain provider has announced. */
  readonly chain: () => ChainOverride | undefined
  /** The edges that serve or take connections are others. */
  readonly onEdges: () => unknown
  readonly log: Log
}

/** A change from one configuration to another one. */
export type ConfigChange = {
  readonly from: Config
  readonly to: Config
  /** Aborted where the service stops. */
  readonly signal: AbortSignal
  /** The supervisor whose children are replaced by those of this process. */
  readonly predecessor?: Predecessor | undefined
}

/** Starts one in place of a child. */
type Start = (child: ChildDescription) => Child

/** How long a replacement may take, and when it is aborted. */
type Bounds = Pick<ConfigChange, 'signal'> & { readonly startMs: number; readonly drainMs: number }

/** What a child receives of a configuration. */
const partOf = ({ role, name }: Child, config: Config): unknown => {
  if (role === 'edge') return toEdgeConfig(config)
  if (role === 'geyser') return toGeyserConfig(config)
  if (role === 'control') return toControlConfig(config)
  if (role === 'follower') return toFollowerConfig(config)
  if (role === 'sender') return toSenderConfig(config)
  if (role === 'indexer') return toIndexerConfig(config, name.slice(INDEXER_NAME.length))
  return toChainProviderConfig(config)
}

/** The child processes of the service: what each is started with, and how each is replaced. */
export class ServiceChildren {
  readonly all: Child[] = []
  private readonly parts: ServiceChildrenParts
  private readonly places = new Map<Child, EdgePlace>()
  /** Those that drain while their successors serve. */
  private readonly retiring = new Set<Child>()
  /** Those of another supervisor, which run. */
  private readonly adopted = new WeakSet<Child>()

  constructor(parts: ServiceChildrenParts) {
    this.parts = parts
  }

  /** All but those that drain while their successors serve. */
  get serving(): readonly Child[] {
    return this.all.filter(child => !this.retiring.has(child))
  }

  /** Slots that no edge has. */
  freeSlots(): number[] {
    const used = new Set(Array.from(this.places.values(), ({ slot }) => slot))
    const slots = Array.from({ length: this.parts.limits.edgeCount }, (_, slot) => slot)
    return slots.filter(slot => !used.has(slot))
  }

  /** Slots of the edges that have connections, and of those that take new ones. */
  edgeSlots(): { readonly serving: readonly number[]; readonly accepting: readonly number[] } {
    const edges = [...this.places].filter(([{ role }]) => role === 'edge')
    const serving = edges.filter(([edge]) => edge.isReady || this.adopted.has(edge))
    const accepting = serving.filter(([edge]) => !this.retiring.has(edge))
    const slotsOf = (edges: typeof serving): number[] => edges.map(([, { slot }]) => slot)
    return { serving: slotsOf(serving), accepting: slotsOf(accepting) }
  }

  /** Those that a successor of this process replaces, in the order of a start. */
  describe(): readonly ChildDescription[] {
    return this.inStartOrder().map(child => {
      const { role, name } = child
      return { role, name, place: this.places.get(child) }
    })
  }

  /** Adds a child of another supervisor. */
  adopt(child: Child, place: EdgePlace | undefined): Child {
    this.all.push(child)
    this.adopted.add(child)
    if (place !== undefined) this.places.set(child, place)
    return child
  }

  /** Ends a child for a successor of this process. */
  async retire(name: string, drainMs: number): Promise<void> {
    const child = this.serving.find(one => one.name === name)
    if (child === undefined) return
    if (BESIDE.has(child.role)) this.retiring.add(child)
    await child.stop(drainMs, { isReplaced: true })
    this.remove(child)
  }

  /** Starts a child again that was retired. */
  restore(child: ChildDescription, config: Config): Child {
    return this.startLike(child, config)
  }

  withRole(...roles: readonly Role[]): Child[] {
    return this.all.filter(({ role }) => roles.includes(role))
  }

  /** All that can be replaced, in the order of a start. */
  inStartOrder(): Child[] {
    const position = (child: Child): number => this.places.get(child)?.position ?? 0
    return START_ORDER.flatMap(role => this.withRole(role)).toSorted((one, other) =>
      one.role === other.role ? position(one) - position(other) : 0,
    )
  }

  /** Those whose part of the configuration changes, in the order of a start. */
  changedBy({ from, to }: Pick<ConfigChange, 'from' | 'to'>): Child[] {
    return this.inStartOrder().filter(
      child => !isDeepStrictEqual(partOf(child, from), partOf(child, to)),
    )
  }

  /**
   * Replaces children one at a time. Where one cannot be replaced, those that were are restored,
   * and the call rejects.
   */
  private replace(children: readonly Child[], change: ConfigChange): Promise<void> {
    const { from, to, signal, predecessor } = change
    const { startMs, drainMs } = from.processes
    const bounds = { startMs, drainMs, signal }
    const next: Start = child => this.startLike(child, to)
    const former: Start = child =>
      predecessor === undefined
        ? this.startLike(child, from)
        : this.adopt(predecessor.restore(child), child.place)
    return replaceInTurn(children, {
      replace: child => this.replaceOne(child, { next, former, bounds }),
      restore: child => this.replaceOne(child, { next: former, former: next, bounds }),
      signal,
      log: this.parts.log,
    })
  }

  /** Replaces children, and starts or ends the one that only some configurations have. */
  async change(children: readonly Child[], change: ConfigChange): Promise<void> {
    await this.replace(children, change)
    await this.syncGeyser(change)
  }

  addChainProvider(config: Config, name: string, options: unknown): void {
    const part = toChainProviderConfig(config)
    const assignment = () => ({ config: part, options })
    this.add(config, { role: 'chain-provider', name, assignment })
  }

  addFollower(config: Config): Child {
    const part = toFollowerConfig(config)
    return this.add(config, {
      role: 'follower',
      name: 'follower',
      assignment: () => ({ config: part }),
    })
  }

  addControl(config: Config): Child {
    const part = toControlConfig(config)
    return this.add(config, {
      role: 'control',
      name: 'control',
      listeners: this.parts.sockets.at([config.dashboard, ...peerListeners(config)], 0),
      assignment: listeners => ({ config: part, listeners }),
    })
  }

  /** A start rebuilds a store that the configuration does not fit, a reload or upgrade must not. */
  addIndexer(config: Config, network: string, mayRebuild: boolean): Child {
    const part = toIndexerConfig(config, network)
    return this.add(config, {
      role: 'indexer',
      name: `${INDEXER_NAME}${network}`,
      assignment: () => ({ config: part, network, chain: this.parts.chain(), mayRebuild }),
    })
  }

  addSender(config: Config): Child {
    const part = toSenderConfig(config)
    return this.add(config, {
      role: 'sender',
      name: 'sender',
      assignment: () => ({ config: part }),
    })
  }

  addEdge(config: Config, place: EdgePlace): Child {
    const { limits, sockets } = this.parts
    const { position, slot: index } = place
    const part = toEdgeConfig(config)
    const addresses = part.locations.flatMap(({ listeners }) =>
      listeners.map(({ host, port }) => ({ host, port })),
    )
    const datagrams = part.locations.flatMap(quicAddresses)
    const edge = this.add(config, {
      role: 'edge',
      name: `edge ${position}`,
      listeners: { ...sockets.at(addresses, position), ...sockets.at(datagrams, index) },
      assignment: listeners => ({ config: part, index, position, listeners }),
      // Its requests in flight ended with it and must not count against the limits.
      onRestart: () => {
        limits.clearEdge(index)
        this.parts.onEdges()
      },
    })
    this.places.set(edge, place)
    return edge
  }

  /** Those that confirm changes of accesses. */
  confirming(): Child[] {
    return (['sender', 'edge', 'geyser'] as const).flatMap(role => this.withRole(role))
  }

  addGeyserIfWanted(config: Config): void {
    if (grpcListeners(config).length > 0) this.addGeyser(config)
  }

  /** The process of gRPC, where a location has a port for it. */
  addGeyser(config: Config, place: EdgePlace = { position: 0, slot: this.freeSlot() }): Child {
    const { limits, sockets } = this.parts
    const { slot: index } = place
    const part = toGeyserConfig(config)
    const geyser = this.add(config, {
      role: 'geyser',
      name: 'geyser',
      listeners: sockets.at(part.locations.flatMap(grpcAddresses), 0),
      assignment: listeners => ({ config: part, index, listeners, chain: this.parts.chain() }),
      // As of an edge.
      onRestart: () => limits.clearEdge(index),
    })
    this.places.set(geyser, place)
    return geyser
  }

  /** After a reload: starts the process of gRPC with the first port, and ends it with the last. */
  private async syncGeyser({ from, to, signal }: ConfigChange): Promise<void> {
    const [running] = this.withRole('geyser')
    const isWanted = grpcListeners(to).length > 0
    if (isWanted && running === undefined) {
      const started = this.addGeyser(to)
      try {
        await started.untilReady(to.processes.startMs, signal)
      } catch (error) {
        await started.stop(0)
        this.remove(started)
        throw error
      }
    } else if (!isWanted && running !== undefined) {
      await running.stop(from.processes.drainMs)
      this.remove(running)
    }
  }

  private add({ processes }: Config, { onRestart, ...options }: ChildParts): Child {
    const { onEvent, onExit, onFailure } = this.parts
    const child = startChild({
      ...options,
      restart: {
        firstMs: processes.restartFirstMs,
        maxMs: processes.restartMaxMs,
        readyMaxMs: processes.restartReadyMaxMs,
        settledMs: processes.restartSettledMs,
      },
      onEvent,
      onExit,
      onFailure: (failed, reason, retryInMs) => {
        onRestart?.()
        onFailure(failed, reason, retryInMs)
      },
    })
    this.all.push(child)
    return child
  }

  private async replaceOne(
    child: Child,
    { next, former, bounds }: { next: Start; former: Start; bounds: Bounds },
  ): Promise<Child> {
    bounds.signal.throwIfAborted()
    const { role, name } = child
    const place = this.places.get(child)
    const remove = (ended: Child): void => this.remove(ended)
    const shared = { ...bounds, remove, log: this.parts.log }
    if (!BESIDE.has(role))
      return replaceAfter(child, {
        ...shared,
        start: () => next({ role, name }),
        restart: () => former({ role, name }),
      })
    return replaceBeside(child, {
      ...shared,
      start: () => next({ role, name, place: place && { ...place, slot: this.freeSlot() } }),
      retire: old => {
        this.retiring.add(old)
        this.parts.onEdges()
      },
    })
  }

  private startLike({ role, name, place }: ChildDescription, config: Config): Child {
    if (role === 'geyser') return this.addGeyser(config, place)
    if (place !== undefined) return this.addEdge(config, place)
    if (role === 'follower') return this.addFollower(config)
    if (role === 'control') return this.addControl(config)
    if (role === 'sender') return this.addSender(config)
    return this.addIndexer(config, name.slice(INDEXER_NAME.length), false)
  }

  private freeSlot(): number {
    const [free] = this.freeSlots()
    if (free === undefined) throw new Error('no slot is free for the successor of an edge')
    return free
  }

  /** Forgets a child that has ended for good. */
  private remove(child: Child): void {
    this.all.splice(this.all.indexOf(child), 1)
    const place = this.places.get(child)
    // A killed one leaves its requests in flight, which must not count against the limits.
    if (place !== undefined) this.parts.limits.clearEdge(place.slot)
    this.places.delete(child)
    this.retiring.delete(child)
    if (place !== undefined) this.parts.onEdges()
  }
}
