import type { EdgeConfig } from '../../config/child-config.js'
import { PubSub } from '../../pubsub/pubsub.js'
import type { Log } from '../../shared/log.js'
import type { Metrics } from '../../shared/metrics.js'
import { SYSTEM_TIMERS } from '../../shared/event-loop/timers.js'
import type { FollowSubmissions } from '../../shared/socket.js'
import type { StoreFollower } from './network-view.js'
import { openFees } from './fees.js'
import { createSubscriptionScope } from './subscription-scope.js'
import { toTipGroups } from './tip-groups.js'

/** The subscriptions of one network. `follower` gives them its store. */
export type OpenPubSub = Pick<PubSub, 'connect' | 'close'> & { readonly follower: StoreFollower }

type Modules = {
  readonly log: Log
  readonly metrics: Metrics
  /** Sends a frame to all sockets of this edge that are subscribed to the topic. */
  readonly publish: (topic: string, frame: Uint8Array) => void
  /** Undefined where nothing can be submitted. */
  readonly follow: FollowSubmissions | undefined
}

const meter = (metrics: Metrics, network: string, pubsub: PubSub): void => {
  const subscriptions = metrics.gauge('subscriptions', { network })
  const ids = metrics.gauge('subscriptionIds', { network })
  const frames = metrics.counter('notifications', { network })
  const bytes = metrics.counter('notificationBytes', { network })
  const drops = metrics.counter('subscribersDropped', { network })
  const damaged = metrics.counter('feedDamaged', { network })
  let last = pubsub.stats()
  metrics.beforeSnapshot(() => {
    const now = pubsub.stats()
    subscriptions.set(now.subscriptions)
    ids.set(now.ids)
    frames.add(now.frames - last.frames)
    bytes.add(now.bytes - last.bytes)
    drops.add(now.dropped - last.dropped)
    damaged.add(now.damaged - last.damaged)
    last = now
  })
}

/** Opens the subscriptions of a network at this edge. */
export const openPubSub = (
  config: Pick<EdgeConfig, 'pubsub' | 'rpc'>,
  options: EdgeConfig['networks'][number],
  { follow, log, metrics, publish }: Modules,
): OpenPubSub => {
  const { id: network, feed, scope: scopeOptions } = options
  const { subscriptionsMax, chunkBytesMax } = config.pubsub
  const scope = scopeOptions === undefined ? undefined : createSubscriptionScope(scopeOptions)
  const fees = openFees(toTipGroups(options))
  const pubsub = new PubSub({
    fees,
    network,
    scope,
    transactions: feed.transactions,
    followSubmissions: follow,
    options: config.pubsub,
    publish,
    timers: SYSTEM_TIMERS,
    onFault: fault => log.error({ err: fault, network }, 'subscriptions cannot be served'),
    onDamaged: slot => log.error({ network, slot }, 'the changes of a slot are damaged'),
  })
  meter(metrics, network, pubsub)
  return {
    connect: (socket, limits) => pubsub.connect(socket, limits),
    close: () => pubsub.close(),
    follower: {
      onStore: reader => {
        const reads = reader.reads({ ...config.rpc, recentResultsMax: 0 })
        scope?.setReads(reads)
        fees.setReads(reads)
        pubsub.replaceStore(() => reader.openFanout({ subscriptionsMax, chunkBytesMax }))
      },
      onTip: () => pubsub.advance(),
    },
  }
}
