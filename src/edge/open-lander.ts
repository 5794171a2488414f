import type { Config } from '../config/config.js'
import type { Log } from '../shared/log.js'
import type { Metrics } from '../shared/metrics.js'
import { createTransactionChecks, type TransactionChecks } from '../native/transactions.js'
import { Secret } from '../shared/secret.js'
import {
  createLander,
  LANDER_ROUTES,
  type Lander,
  type LanderMeter,
} from '../submission/lander/lander.js'
import {
  openUpstream,
  UPSTREAM_OUTCOMES,
  type Upstream,
  type UpstreamOptions,
} from '../upstream/client.js'

type Network = Config['networks'][number]
type UpstreamConfig = NonNullable<Network['lander']>['upstream']

/** What the submission routes of one process share. */
export type SubmissionModules = {
  readonly log: Log
  readonly metrics: Metrics
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * Opens the upstream of one section of a network's configuration, with its metrics. `name` is that
 * section.
 */
export const openNamedUpstream = async (
  { credential, ...options }: UpstreamConfig,
  { network, name }: { readonly network: string; readonly name: string },
  { log, metrics, now }: SubmissionModules,
): Promise<Upstream> => {
  const labels = { network, upstream: name }
  const counters = new Map(
    UPSTREAM_OUTCOMES.map(outcome => [
      outcome,
      metrics.counter('upstreamRequests', { ...labels, outcome }),
    ]),
  )
  const seconds = metrics.histogram('upstreamSeconds', labels)
  const inFlight = metrics.gauge('upstreamInFlight', labels)
  const given: UpstreamOptions = {
    ...options,
    ...(credential !== undefined && { credential: new Secret(credential) }),
  }
  const upstream = await openUpstream(given, {
    log: log.child(labels),
    now,
    onEnd: (outcome, elapsedMs) => {
      counters.get(outcome)?.add(1)
      seconds.observe(elapsedMs / 1000)
    },
  })
  metrics.beforeSnapshot(() => inFlight.set(upstream.inFlight()))
  return upstream
}

/** Finds the series of the usual end once; those of errors when there is one. */
const createMeter = (network: string, metrics: Metrics): LanderMeter => {
  const usual = new Map(
    LANDER_ROUTES.map(route => [
      route,
      {
        forwarded: metrics.counter('submissions', { network, route, outcome: 'forwarded' }),
        seconds: metrics.histogram('submissionSeconds', { network, route }),
      },
    ]),
  )
  return {
    onEnd: (route, outcome, elapsedMs) => {
      const series = usual.get(route)
      series?.seconds.observe(elapsedMs / 1000)
      if (outcome === 'forwarded') series?.forwarded.add(1)
      else metrics.counter('submissions', { network, route, outcome }).add(1)
    },
    onFinding: (route, kind) => metrics.counter('landerFindings', { network, route, kind }).add(1),
  }
}

/** An open lander: its routes' work, and what must be closed. */
export type OpenLander = {
  readonly lander: Lander
  readonly checks: TransactionChecks
  close(): Promise<void>
}

/** Opens the lander of a network; undefined where it has none. */
export const openLander = async (
  config: Config,
  network: Network,
  modules: SubmissionModules,
): Promise<OpenLander | undefined> => {
  if (network.lander === undefined) return undefined
  const { upstream: section, tipAddresses, serviceTipAddresses, ...options } = network.lander
  // A tip to either kind counts, and their sum: one class.
  const addresses = [...tipAddresses, ...serviceTipAddresses]
  const checks = createTransactionChecks(
    {
      tipClasses: [{ addresses, floorLamports: BigInt(options.tipFloorLamports) }],
      exemptPrograms: [],
    },
    config.pools,
  )
  const place = { network: network.id, name: 'lander' }
  const upstream = await openNamedUpstream(section, place, modules)
  const lander = createLander(options, {
    upstream,
    checks,
    meter: createMeter(network.id, modules.metrics),
    now: modules.now,
    nestingMax: config.rpc.nestingMax,
  })
  return { lander, checks, close: () => upstream.close() }
}
