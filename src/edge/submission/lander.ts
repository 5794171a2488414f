import type { EdgeConfig } from '../../config/child-config.js'
import type { Metrics } from '../../shared/metrics.js'
import { createTransactionChecks } from '../../native/transactions.js'
import type { LanderMeter } from '../../submission/lander/lander-types.js'
import { Lander } from '../../submission/lander/lander.js'
import type { RaceForm } from '../../submission/lander/lander-types.js'
import { LANDER_ROUTES, type LanderRoute } from '../../submission/store/submission.js'
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
    const handlers = LANDER_ROUTES.flatMap((route): readonly SubmissionHandler[] =>
      route === '/race' ? [] : [handlerOf(lander, route)],
    )
    return [{ network, handlers, checks }]
  })

const handlerOf = (lander: Lander, route: Exclude<LanderRoute, '/race'>): SubmissionHandler => ({
  route,
  handle: (body, submitter, { encoding = 'bytes' }) =>
    route === '/send'
      ? lander.submitTransaction(body, { encoding }, submitter)
      : lander.submit(route, body, submitter),
})

/** What a race is not asked for. */
const DEFAULT_RACE: RaceForm = { isProtected: false, isJson: false }

/** Nothing that cannot land goes to a sender, with a key of the service. Tips are of each lane. */
const RACE_OPTIONS = { enforce: true, findingsWaitMs: 0, tipFloorLamports: 0 }

/** Opens the race of each network that has lanes. */
export const openRaces = (
  { networks, pools, rpc }: EdgeConfig,
  modules: RouteModules,
): readonly OpenRoutes[] =>
  networks.flatMap(({ id: network, lanes, signatureRule }) => {
    if (lanes.length === 0) return []
    const addresses = [...new Set(lanes.flatMap(({ tipAddresses }) => tipAddresses))]
    const tipClasses = [{ addresses, floorLamports: 0n }]
    const checks = createTransactionChecks({ tipClasses, exemptPrograms: [], signatureRule }, pools)
    const meter = createMeter(network, modules.metrics)
    const { nestingMax } = rpc
    const parts = { ...modules, network, checks, meter, nestingMax }
    const lander = new Lander(RACE_OPTIONS, parts)
    const handle: SubmissionHandler['handle'] = (
      body,
      submitter,
      { encoding = 'bytes', race = DEFAULT_RACE },
    ) => lander.submitTransaction(body, { encoding, race }, submitter)
    return [{ network, handlers: [{ route: '/race', handle }], checks }]
  })
