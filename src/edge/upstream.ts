import type { EdgeConfig } from '../config/child-config.js'
import type { Log } from '../shared/log.js'
import type { Metrics } from '../shared/metrics.js'
import { Secret } from '../shared/secret.js'
import type { OutcomeIndex } from '../submission/landing/landing-tracker.js'
import type { PeerSubmissions } from '../submission/relay/relay-types.js'
import type { Upstream, UpstreamOptions } from '../upstream/client.js'

type UpstreamConfig = NonNullable<EdgeConfig['networks'][number]['lander']>['upstream']

/** What the submission routes of one process share. */
export type SubmissionModules = {
  readonly log: Log
  readonly metrics: Metrics
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Submissions to other machines; undefined on a machine by itself. */
  readonly peers?: PeerSubmissions | undefined
  /** Where transactions of a network are looked for; undefined before its first block. */
  readonly indexOf?: ((network: string) => OutcomeIndex) | undefined
}

/** Opens the upstream of one section of a network's configuration, with its metrics. */
export const openNamedUpstream = async (
  { credential, ...options }: UpstreamConfig,
  { network, name }: { readonly network: string; readonly name: string },
  { log, metrics, now }: SubmissionModules,
): Promise<Upstream> => {
  // Not loaded by an edge without upstreams: its HTTP client is a third of what an edge loads.
  const { Upstream, UPSTREAM_OUTCOMES } = await import('../upstream/client.js')
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
    onEnd: (outcome, elapsedMs) => {
      counters.get(outcome)?.add(1)
      seconds.observe(elapsedMs / 1000)
    },
  })
  metrics.beforeSnapshot(() => inFlight.set(upstream.inFlight()))
  return upstream
}
