import type { EdgeConfig } from '../../config/child-config.js'
import type { Metrics } from '../../shared/metrics.js'
import { createTransactionChecks } from '../../native/transactions.js'
import { Lander, type LanderMeter } from '../../submission/lander/lander.js'
import { LANDER_ROUTES } from '../../submission/store/submission.js'
import type { OpenRoutes, RouteModules, SubmissionHandler } from './submissions.js'

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

/** Opens the landers of all networks that have one. */
export const openLanders = (
  { networks, pools, rpc }: EdgeConfig,
  modules: RouteModules,
): readonly OpenRoutes[] =>
  networks.flatMap(({ id: network, lander: section, signatureRule }) => {
    if (section === undefined) return []
    const { tipAddresses, serviceTipAddresses, ...options } = section
    // A tip to either kind counts, and their sum: one class.
    const addresses = [...tipAddresses, ...serviceTipAddresses]
    const floorLamports = BigInt(options.tipFloorLamports)
    const checks = createTransactionChecks(
      { tipClasses: [{ addresses, floorLamports }], exemptPrograms: [], signatureRule },
      pools,
    )
    const meter = createMeter(network, modules.metrics)
    const { nestingMax } = rpc
    const lander = new Lander(options, { ...modules, network, checks, meter, nestingMax })
    const handlers = LANDER_ROUTES.map((route): SubmissionHandler => ({
      route,
      handle: (body, submitter, { encoding = 'bytes' }) =>
        route === '/send'
          ? lander.submitTransaction(body, encoding, submitter)
          : lander.submit(route, body, submitter),
    }))
    return [{ network, handlers, checks }]
  })
