import type { Log } from '../shared/log.js'
import type { Metrics } from '../shared/metrics.js'
import { Secret } from '../shared/secret.js'
import type { Upstream, UpstreamOptions } from './client.js'

/** An upstream as it is configured. */
export type UpstreamConfig = Omit<UpstreamOptions, 'credential'> & {
  readonly credential?: string | undefined
}

export type UpstreamModules = {
  readonly log: Log
  readonly metrics: Metrics
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** Opens the upstream of one section of a network's configuration, with its metrics. */
export const openNamedUpstream = async (
  { credential, ...options }: UpstreamConfig,
  { network, name }: { readonly network: string; readonly name: string },
  { log, metrics, now }: UpstreamModules,
): Promise<Upstream> => {
  // Not loaded by a process without upstreams: its HTTP client is a third of what an edge loads.
  const { Upstream, UPSTREAM_OUTCOMES } = await import('./client.js')
  const http2 = options.httpVersion === '2' ? await import('./http2-pool.js') : undefined
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
  const upstream = new Upstream(given, {
    log: log.child(labels),
    now,
    ...(http2 !== undefined && { openPool: (...parts) => new http2.Http2Pool(...parts) }),
    onEnd: (outcome, elapsedMs) => {
      counters.get(outcome)?.add(1)
      seconds.observe(elapsedMs / 1000)
    },
  })
  metrics.beforeSnapshot(() => inFlight.set(upstream.inFlight()))
  return upstream
}
