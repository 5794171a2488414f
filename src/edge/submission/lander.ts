import type { EdgeConfig } from '../../config/child-config.js'
import type { Metrics } from '../../shared/metrics.js'
import { createTransactionChecks, type TransactionChecks } from '../../native/transactions.js'
import { Lander, type LanderMeter } from '../../submission/lander/lander.js'
import { LANDER_ROUTES } from '../../submission/store/submission.js'
import { openNamedUpstream, type SubmissionModules } from '../upstream.js'

type Network = EdgeConfig['networks'][number]

/** Looks the series of the usual outcome up once, those of errors when they occur. */
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
export const openNetworkLander = async (
  config: EdgeConfig,
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
      signatureRule: network.signatureRule,
    },
    config.pools,
  )
  const labels = { network: network.id, name: 'lander' }
  const upstream = await openNamedUpstream(section, labels, modules)
  const lander = new Lander(options, {
    upstream,
    checks,
    meter: createMeter(network.id, modules.metrics),
    now: modules.now,
    nestingMax: config.rpc.nestingMax,
  })
  return { lander, checks, close: () => upstream.close() }
}
