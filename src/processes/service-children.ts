import { isDeepStrictEqual } from 'node:util'
import type { LimitTable } from '../access/limiter/limit-table.js'
import {
  toChainProviderConfig,
  toControlConfig,
  toEdgeConfig,
  toFollowerConfig,
  toIndexerConfig,
} from '../config/child-config.js'
import type { Config } from '../config/config.js'
import { edgeSlotsOf } from '../config/edge-count.js'
import type { ChainOverride } from '../ingest/feed/sources.js'
import type { ListeningSockets } from '../server/listening-sockets.js'
import type { Log } from '../shared/log.js'
import { startChild, type Child, type ChildOptions } from '../supervision/child.js'
import type { ChainProviderProgram, Role } from '../supervision/messages.js'
import { replaceAfter, replaceBeside, replaceInTurn } from '../supervision/replacement.js'

/** Before the network in the name of an indexer. */
const INDEXER_NAME = 'indexer '

/** Edges read what the others write. */
const START_ORDER: readonly Role[] = ['follower', 'control', 'indexer', 'edge']

/** Where an edge is: its number among the edges, and its slot in what they share. */
export type EdgePlace = { readonly position: number; readonly slot: number }

type ChildParts = Pick<ChildOptions, 'role' | 'name' | 'assignment' | 'listeners'> & {
  readonly onRestart?: () => void
}

export type ServiceChildrenParts = Pick<ChildOptions, 'onEvent' | 'onExit' | 'onFailure'> & {
  readonly limits: LimitTable
  readonly sockets: ListeningSockets
  /** The chain that a chain provider has announced. */
  readonly chain: () => ChainOverride | undefined
  readonly log: Log
}

/** A change from one configuration to another one. */
export type ConfigChange = {
  readonly from: Config
  readonly to: Config
  /** Aborted where the service stops. */
  readonly signal: AbortSignal
}

/** What a child receives of a configuration. */
const partOf = ({ role, name }: Child, config: Config): unknown => {
  if (role === 'edge') return toEdgeConfig(config)
  if (role === 'control') return toControlConfig(config)
  if (role === 'follower') return toFollowerConfig(config)
  if (role === 'indexer') return toIndexerConfig(config, name.slice(INDEXER_NAME.length))
  return toChainProviderConfig(config)
}

/** The child processes of the service: what each is started with, and how each is replaced. */
export class ServiceChildren {
  readonly all: Child[] = []
  private readonly parts: ServiceChildrenParts
  private readonly places = new Map<Child, EdgePlace>()
  /** Edges that drain while their successors serve. */
  private readonly retiring = new Set<Child>()

  constructor(parts: ServiceChildrenParts) {
    this.parts = parts
  }

  /** All but edges that drain while their successors serve. */
  get serving(): readonly Child[] {
    return this.all.filter(child => !this.retiring.has(child))
  }

  withRole(role: Role): Child[] {
    return this.all.filter(child => child.role === role)
  }

  placeOf(child: Child): EdgePlace | undefined {
    return this.places.get(child)
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
  replace(children: readonly Child[], change: ConfigChange): Promise<void> {
    const back = { ...change, from: change.to, to: change.from }
    return replaceInTurn(children, {
      replace: child => this.replaceOne(child, change),
      restore: child => this.replaceOne(child, back),
      signal: change.signal,
      log: this.parts.log,
    })
  }

  addChainProvider(config: Config, name: string, chainProvider: ChainProviderProgram): void {
    const part = toChainProviderConfig(config)
    const assignment = () => ({ config: part, chainProvider })
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
      listeners: this.parts.sockets.at([config.dashboard], 0),
      assignment: listeners => ({ config: part, listeners }),
    })
  }

  addIndexer(config: Config, network: string): Child {
    const part = toIndexerConfig(config, network)
    return this.add(config, {
      role: 'indexer',
      name: `${INDEXER_NAME}${network}`,
      assignment: () => ({ config: part, network, chain: this.parts.chain() }),
    })
  }

  addEdge(config: Config, place: EdgePlace): Child {
    const { limits, sockets } = this.parts
    const { position, slot: index } = place
    const part = toEdgeConfig(config)
    const addresses = part.locations.flatMap(({ listeners }) => listeners)
    const edge = this.add(config, {
      role: 'edge',
      name: `edge ${position}`,
      listeners: sockets.at(addresses, position),
      assignment: listeners => ({ config: part, index, position, listeners }),
      // Its requests in flight ended with it and must not count against the limits.
      onRestart: () => limits.clearEdge(index),
    })
    this.places.set(edge, place)
    return edge
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

  private async replaceOne(child: Child, { from, to, signal }: ConfigChange): Promise<Child> {
    signal.throwIfAborted()
    const { startMs, drainMs } = from.processes
    const place = this.places.get(child)
    const remove = (ended: Child): void => this.remove(ended)
    const shared = { startMs, drainMs, signal, remove, log: this.parts.log }
    if (place === undefined)
      return replaceAfter(child, {
        ...shared,
        start: () => this.startLike(child, to),
        restart: () => this.startLike(child, from),
      })
    return replaceBeside(child, {
      ...shared,
      start: () => this.addEdge(to, { position: place.position, slot: this.freeSlot(from) }),
      retire: old => this.retiring.add(old),
    })
  }

  /** Starts one in place of a child that is no edge. */
  private startLike({ role, name }: Child, config: Config): Child {
    if (role === 'follower') return this.addFollower(config)
    if (role === 'control') return this.addControl(config)
    return this.addIndexer(config, name.slice(INDEXER_NAME.length))
  }

  private freeSlot(config: Config): number {
    const used = new Set(Array.from(this.places.values(), ({ slot }) => slot))
    const slots = Array.from({ length: edgeSlotsOf(config) }, (_, slot) => slot)
    const free = slots.find(slot => !used.has(slot))
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
  }
}
