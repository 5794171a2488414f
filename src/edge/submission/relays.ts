import { setTimeout as sleep } from 'node:timers/promises'
import type { EdgeConfig } from '../../config/child-config.js'
import type { Metrics } from '../../shared/metrics.js'
import { createTransactionChecks, type TransactionChecks } from '../../native/transactions.js'
import type { RelayMeter, RelayOptions } from '../../submission/relay/relay-types.js'
import { Relay } from '../../submission/relay/relay.js'
import { EngineOrder, orderWords } from '../../submission/relay/engine-order.js'
import { EngineQueue, longestWaitMs } from '../../submission/relay/engine-queue.js'
import { watchTips } from '../../submission/relay/tip-watch.js'
import { createTokenBucket } from '../../submission/relay/token-bucket.js'
import type { RelayRoute } from '../../submission/store/submission.js'
import { openRelayState, type EdgeNumber, type RelayState } from './relay-state.js'
import { openNamedUpstream, type SubmissionModules } from '../upstream.js'
import type { OpenSubmissionStore } from './submission-store.js'
import type { OpenRoutes, SubmissionHandler } from './submissions.js'

type Network = EdgeConfig['networks'][number]
type Section = NonNullable<Network['relay']>

/** Sections of a network's configuration, by their route. */
const SECTIONS = [
  ['/relay', 'relay'],
  ['/relay-bundle', 'relayBundle'],
] as const satisfies readonly (readonly [RelayRoute, keyof Network])[]

/**
 * Shared words of each route of a network: the token buckets of its bundles, of its status queries
 * and of its tip checks, and the order of the first two.
 */
const wordsPerRoute = (edgeCount: number): number => 3 + 2 * orderWords(edgeCount)

/** One relay route that is configured. */
type RouteConfig = {
  readonly network: string
  readonly route: RelayRoute
  /** Of its section. */
  readonly name: string
  readonly section: Section
  readonly signatureRule: Network['signatureRule']
  /** Of its first shared word. */
  readonly wordIndex: number
}

/** What the relay routes of an edge record their submissions with. */
type RecordModules = { readonly store: OpenSubmissionStore; readonly newId: () => Uint8Array }

/** Opens every configured relay route. */
export const openRelays = async (
  config: EdgeConfig,
  edge: EdgeNumber,
  { store, newId }: RecordModules,
  modules: SubmissionModules,
): Promise<readonly OpenRoutes[]> => {
  const routes = routesOf(config, edge)
  if (routes.length === 0) return []
  const wordCount = config.networks.length * SECTIONS.length * wordsPerRoute(edge.count)
  const sendMs = Math.max(...routes.map(({ section }) => sendMsOf(section)))
  const state = openRelayState(config, edge, { wordCount, sendMs }, store, modules)
  return Promise.all(
    routes.map(route => openRoute(config, route, modules, { ...state, edge, newId })),
  )
}

const routesOf = (config: EdgeConfig, { count }: EdgeNumber): readonly RouteConfig[] =>
  config.networks.flatMap((network, networkIndex) =>
    SECTIONS.flatMap(([route, name], sectionIndex) => {
      const section = network[name]
      const wordIndex = (networkIndex * SECTIONS.length + sectionIndex) * wordsPerRoute(count)
      const { id, signatureRule } = network
      return section === undefined
        ? []
        : [{ network: id, route, name, section, signatureRule, wordIndex }]
    }),
  )

/** The longest wait and every time-out of one bundle's send. */
const sendMsOf = (section: Section): number => {
  const { connectMs, urls, answerMs } = section.upstream
  return longestWaitMs(section) + connectMs * urls.length + answerMs
}

const openRoute = async (
  config: EdgeConfig,
  routeConfig: RouteConfig,
  modules: SubmissionModules,
  {
    words,
    store,
    singleFlight,
    edge,
    newId,
  }: RelayState & Pick<RecordModules, 'newId'> & { readonly edge: EdgeNumber },
): Promise<OpenRoutes> => {
  const { network, route, name, section, wordIndex } = routeConfig
  const { log, metrics, now, peers } = modules
  const options: RelayOptions = {
    ...section,
    network,
    route,
    serviceTipAccounts: section.serviceTipAddresses,
    engineTipAccounts: section.engineTipAddresses,
  }
  const checks = createRouteChecks(config, routeConfig)
  const upstream = await openNamedUpstream(section.upstream, { network, name }, modules)
  const nowNs = process.hrtime.bigint
  const bucket = createTokenBucket(section, { words, index: wordIndex, nowNs })
  const statusBucket = createTokenBucket(
    {
      requestsPerSecondMax: section.statusesPerSecondMax,
      requestsBurstMax: section.statusesBurstMax,
    },
    { words, index: wordIndex + 1, nowNs },
  )
  const toOrder = (index: number): EngineOrder =>
    new EngineOrder({ words, index, edgeIndex: edge.index, edgeCount: edge.count, nowNs })
  const orderIndex = wordIndex + 3
  const queue = new EngineQueue(section, { bucket, order: toOrder(orderIndex), now })
  const statusQueue = new EngineQueue(
    {
      ...section,
      queueMs: section.statusQueueMs,
      requestsPerSecondMax: section.statusesPerSecondMax,
    },
    { bucket: statusBucket, order: toOrder(orderIndex + orderWords(edge.count)), now },
  )
  const meter = createMeter(network, route, metrics)
  const common = { checks, upstream, queue, statusQueue, singleFlight, store, peers, log, meter }
  const relay = new Relay(options, { ...common, now: Date.now, clock: now })
  const differ = metrics.gauge('relayTipsDiffer', { network, route })
  const interval = { requestsPerSecondMax: 1_000 / section.tipCheckMs, requestsBurstMax: 1 }
  const watch =
    section.tipCheckMs === 0
      ? undefined
      : watchTips(options, {
          upstream,
          bucket: statusBucket,
          intervals: createTokenBucket(interval, { words, index: wordIndex + 2, nowNs }),
          log,
          onCompared: isSame => differ.set(isSame ? 0 : 1),
        })
  const close = async (): Promise<void> => {
    watch?.close()
    await drain(() => queue.size + upstream.inFlight(), sendMsOf(section))
    await upstream.close()
  }
  const handle: SubmissionHandler['handle'] = (body, submitter, methodPrefix) =>
    relay.handle(body, { ...submitter, submissionId: newId() }, methodPrefix)
  return { network, handlers: [{ route, handle }], checks, close }
}

const createRouteChecks = (
  config: EdgeConfig,
  { section, signatureRule }: RouteConfig,
): TransactionChecks =>
  createTransactionChecks(
    {
      tipClasses: [
        {
          addresses: section.serviceTipAddresses,
          floorLamports: BigInt(section.serviceTipFloorLamports),
        },
        {
          addresses: section.engineTipAddresses,
          floorLamports: BigInt(section.engineTipFloorLamports),
        },
      ],
      exemptPrograms: section.exemptPrograms,
      signatureRule,
    },
    config.pools,
  )

/**
 * Waits for submissions in flight: clients may have disconnected, but the outcome of each bundle
 * is recorded.
 */
const drain = async (inFlight: () => number, durationMs: number): Promise<void> => {
  const endMs = performance.now() + durationMs
  while (inFlight() > 0 && performance.now() < endMs) await sleep(10)
}

const createMeter = (network: string, route: RelayRoute, metrics: Metrics): RelayMeter => {
  const labels = { network, route }
  const seconds = metrics.histogram('relaySeconds', labels)
  const joined = metrics.counter('relayJoined', labels)
  const mismatches = metrics.counter('relayMismatches', labels)
  return {
    onCall: (method, outcome) =>
      metrics.counter('relayCalls', { ...labels, method, outcome }).add(1),
    onForward: elapsedMs => seconds.observe(elapsedMs / 1000),
    onJoined: () => joined.add(1),
    onMismatch: () => mismatches.add(1),
  }
}
