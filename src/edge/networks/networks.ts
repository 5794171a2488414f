import type { EdgeConfig } from '../../config/child-config.js'
import { toTipGroups } from './tip-groups.js'
import type { CallContext } from '../../rpc/call-context.js'
import type { Connection, Socket, SubscriptionLimits } from '../../shared/socket.js'
import { createCallMeter } from '../metrics.js'
import { NetworkView } from './network-view.js'
import { openForward, type OpenForward } from './forward.js'
import type { UpstreamModules } from '../../upstream/named-upstream.js'
import type { StoredSubmissions } from '../submission/stored-submissions.js'
import { openPubSub, type OpenPubSub } from './pubsub.js'

export type NetworksModules = UpstreamModules & {
  /** Sends a frame to all sockets of this edge that are subscribed to the topic. */
  readonly publish: (topic: string, frame: Uint8Array) => void
  /** Whether the network with this index is behind the other machines of the location. */
  readonly isLagging: (network: number) => boolean
  /** What was submitted, to read. */
  readonly stored: StoredSubmissions
  /** The version of this service. */
  readonly version: string
}

type Network = {
  readonly id: string
  readonly view: NetworkView
  readonly pubsub: OpenPubSub
  readonly forward: OpenForward | undefined
}

/** The reads and subscriptions of all networks at one edge. */
export class EdgeNetworks {
  readonly views: ReadonlyMap<string, NetworkView>
  private readonly networks: ReadonlyMap<string, Network>

  constructor(networks: readonly Network[]) {
    this.networks = new Map(networks.map(network => [network.id, network]))
    this.views = new Map(networks.map(({ id, view }) => [id, view]))
  }

  /** Every network has a store with at least one block. */
  get isIndexed(): boolean {
    return [...this.views.values()].every(view => view.tipSlot !== undefined)
  }

  /** Newest slots, in the order of the configuration. */
  tips(): readonly (number | undefined)[] {
    return Array.from(this.views.values(), ({ tipSlot }) => tipSlot)
  }

  /** Times of their slots, in the same order. */
  slotTimes(): readonly (number | undefined)[] {
    return Array.from(this.views.values(), ({ slotMs }) => slotMs)
  }

  refresh(nowMs: number): void {
    for (const view of this.views.values()) view.refresh(nowMs)
  }

  /** Subscription methods of a network for one socket. */
  connect(network: string, socket: Socket, limits: SubscriptionLimits): Connection | undefined {
    return this.networks.get(network)?.pubsub.connect(socket, limits)
  }

  /** The worst state of all networks. */
  health(nowMs: number): 'ok' | 'behind' | 'incomplete' | 'unknown' {
    const views = [...this.views.values()]
    if (views.some(view => view.tipSlot === undefined)) return 'unknown'
    if (views.some(view => view.isIncomplete)) return 'incomplete'
    return views.some(view => view.isBehind(nowMs)) ? 'behind' : 'ok'
  }

  async close(): Promise<void> {
    const networks = [...this.networks.values()]
    for (const { pubsub } of networks) pubsub.close()
    for (const { view } of networks) view.close()
    await Promise.all(networks.map(({ forward }) => forward?.close()))
  }
}

/** Opens the upstream RPC, the subscriptions and the view of every network. */
export const openNetworks = async (
  config: EdgeConfig,
  modules: NetworksModules,
): Promise<EdgeNetworks> => {
  const { isLagging, log, now, metrics, publish, stored, version } = modules
  const onCall = createCallMeter(metrics)
  const onFault = (fault: unknown, method: string, { id, tokenId }: CallContext): void =>
    log.error({ err: fault, method, requestId: id, tokenId }, 'a read failed')
  const networks = await Promise.all(
    config.networks.map(async (network, index) => {
      const { id } = network
      const forward = await openForward(network, modules)
      const submissions = stored.of(network)
      const { follow } = submissions ?? {}
      const pubsub = openPubSub(config, network, { log, metrics, publish, follow })
      const calls = {
        ...{ forward: forward?.forward, onCall, onFault, now, version },
        submissions: submissions?.queries,
        tipGroups: toTipGroups(network),
      }
      const view = new NetworkView(config, id, {
        calls,
        log,
        follower: pubsub.follower,
        isLagging: () => isLagging(index),
      })
      return { id, view, pubsub, forward }
    }),
  )
  return new EdgeNetworks(networks)
}
