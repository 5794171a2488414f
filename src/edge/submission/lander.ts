import type { EdgeConfig } from '../../config/child-config.js'
import type { Metrics } from '../../shared/metrics.js'
import { createTransactionChecks } from '../../native/transactions.js'
import { Lander, type LanderMeter } from '../../submission/lander/lander.js'
import type { LanderRecorder } from '../../submission/lander/recorder.js'
import { LANDER_ROUTES } from '../../submission/store/submission.js'
import { openNamedUpstream, type SubmissionModules } from '../upstream.js'
import type { OpenRoutes, Submitter } from './submissions.js'

type Network = EdgeConfig['networks'][number]
type Section = NonNullable<Network['lander']>

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
  config: EdgeConfig,
  recorder: LanderRecorder,
  modules: SubmissionModules,
): Promise<readonly OpenRoutes[]> =>
  Promise.all(
    config.networks.flatMap(network =>
      network.lander === undefined
        ? []
        : [openLander(config, { ...network, lander: network.lander }, recorder, modules)],
    ),
  )

const openLander = async (
  { pools, rpc }: EdgeConfig,
  { id, lander: section, signatureRule }: Network & { readonly lander: Section },
  recorder: LanderRecorder,
  modules: SubmissionModules,
): Promise<OpenRoutes> => {
  const { tipAddresses, serviceTipAddresses, ...options } = section
  // A tip to either kind counts, and their sum: one class.
  const addresses = [...tipAddresses, ...serviceTipAddresses]
  const floorLamports = BigInt(options.tipFloorLamports)
  const checks = createTransactionChecks(
    { tipClasses: [{ addresses, floorLamports }], exemptPrograms: [], signatureRule },
    pools,
  )
  const upstream = await openNamedUpstream(
    section.upstream,
    { network: id, name: 'lander' },
    modules,
  )
  const lander = new Lander(options, {
    upstream,
    checks,
    meter: createMeter(id, modules.metrics),
    now: modules.now,
    nestingMax: rpc.nestingMax,
  })
  const handlers = LANDER_ROUTES.map(route => ({
    route,
    handle: (body: Uint8Array, { grant, recheck }: Submitter) => {
      const refused = recheck()
      if (refused !== undefined) return { reply: refused }
      return lander.submit(route, body, recheck, recorder.begin(route, grant))
    },
  }))
  return { network: id, handlers, checks, close: () => upstream.close() }
}
