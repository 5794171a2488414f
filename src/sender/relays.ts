import type { SenderConfig } from '../config/child-config.js'
import { bootMs } from '../native/os.js'
import type { Metrics } from '../shared/metrics.js'
import { createEngine } from '../submission/relay/engine.js'
import { EngineOrder } from '../submission/relay/engine-order.js'
import { EngineQueue } from '../submission/relay/engine-queue.js'
import type { SendMeter } from '../submission/relay/relay-types.js'
import { BundleSender } from '../submission/relay/send-bundle.js'
import { StatusQueries } from '../submission/relay/status-queries.js'
import { watchTips } from '../submission/relay/tip-watch.js'
import { createTokenBucket } from '../submission/relay/token-bucket.js'
import type { SingleFlight } from '../submission/single-flight.js'
import type { SubmissionStore } from '../submission/store/submission-store.js'
import type { RelayRoute } from '../submission/store/submission.js'
import { openNamedUpstream, type UpstreamModules } from '../upstream/named-upstream.js'

type Network = SenderConfig['networks'][number]
type Section = NonNullable<Network['relay']>

/** Sections of a network's configuration, by their route. */
const SECTIONS = [
  ['/relay', 'relay'],
  ['/relay-bundle', 'relayBundle'],
] as const satisfies readonly (readonly [RelayRoute, keyof Network])[]

/** Token buckets of a route: of its bundles, of its status queries, and of its tip checks. */
const BUCKETS = 3

/** Words of the token buckets of all routes. */
export const bucketWords = ({ networks }: Pick<SenderConfig, 'networks'>): number =>
  Math.max(1, networks.length * SECTIONS.length * BUCKETS)

/** One relay route of a network. */
export type OpenRelay = {
  readonly network: string
  readonly route: RelayRoute
  readonly bundles: BundleSender
  readonly statuses: StatusQueries
  close(): Promise<void>
}

type RelayParts = UpstreamModules & {
  readonly store: SubmissionStore
  readonly singleFlight: SingleFlight
  readonly tipSlot: (network: string) => number | undefined
  /** `bucketWords` words that outlive the process, zero at first. */
  readonly words: BigInt64Array
}

/** Opens every configured relay route. */
export const openRelays = (
  { networks }: SenderConfig,
  parts: RelayParts,
): Promise<readonly OpenRelay[]> =>
  Promise.all(
    networks.flatMap((network, networkIndex) =>
      SECTIONS.flatMap(([route, name], sectionIndex) => {
        const section = network[name]
        const index = (networkIndex * SECTIONS.length + sectionIndex) * BUCKETS
        return section === undefined
          ? []
          : [openRelay({ network: network.id, route, name, section, index }, parts)]
      }),
    ),
  )

/** One relay route that is configured. */
type RouteConfig = {
  readonly network: string
  readonly route: RelayRoute
  /** Of its section. */
  readonly name: string
  readonly section: Section
  /** Of its first word. */
  readonly index: number
}

const openRelay = async (
  { network, route, name, section, index }: RouteConfig,
  { words, store, singleFlight, tipSlot, ...modules }: RelayParts,
): Promise<OpenRelay> => {
  const { log, metrics, now } = modules
  const upstream = await openNamedUpstream(section.upstream, { network, name }, modules)
  const nowNs = process.hrtime.bigint
  const toBucket = (nth: number, requestsPerSecondMax: number, requestsBurstMax: number) =>
    createTokenBucket(
      { requestsPerSecondMax, requestsBurstMax },
      { words, index: index + nth, nowNs },
    )
  const { statusesPerSecondMax, statusesBurstMax, tipCheckMs } = section
  const bucket = toBucket(0, section.requestsPerSecondMax, section.requestsBurstMax)
  const statusBucket = toBucket(1, statusesPerSecondMax, statusesBurstMax)
  const queue = new EngineQueue(section, { bucket, order: new EngineOrder(now), now })
  const statusQueue = new EngineQueue(
    { ...section, queueMs: section.statusQueueMs, requestsPerSecondMax: statusesPerSecondMax },
    { bucket: statusBucket, order: new EngineOrder(now), now },
  )
  const options = { ...section, network, route, engineTipAccounts: section.engineTipAddresses }
  const engine = createEngine(options, { upstream, log })
  const differ = metrics.gauge('relayTipsDiffer', { network, route })
  const watch =
    tipCheckMs === 0
      ? undefined
      : watchTips(options, {
          upstream,
          bucket: statusBucket,
          intervals: toBucket(2, 1_000 / tipCheckMs, 1),
          log,
          onCompared: isSame => differ.set(isSame ? 0 : 1),
        })
  const meter = createMeter(network, route, metrics)
  const times = { now: Date.now, clock: bootMs }
  return {
    network,
    route,
    bundles: new BundleSender(options, engine, {
      ...{ upstream, queue, statusQueue, singleFlight, store, log, meter },
      ...times,
      tipSlot: () => tipSlot(network),
    }),
    statuses: new StatusQueries(section, { engine, queue: statusQueue, now }),
    close: async () => {
      watch?.close()
      await upstream.close()
    },
  }
}

const createMeter = (network: string, route: RelayRoute, metrics: Metrics): SendMeter => {
  const labels = { network, route }
  const seconds = metrics.histogram('relaySeconds', labels)
  const joined = metrics.counter('relayJoined', labels)
  const mismatches = metrics.counter('relayMismatches', labels)
  return {
    onForward: elapsedMs => seconds.observe(elapsedMs / 1000),
    onJoined: () => joined.add(1),
    onMismatch: () => mismatches.add(1),
  }
}
