import type { EdgeConfig } from '../../config/child-config.js'
import { createTransactionChecks } from '../../native/transactions.js'
import type { RelayOptions, RelaySender } from '../../submission/relay/relay-types.js'
import { Relay } from '../../submission/relay/relay.js'
import type { RelayRoute } from '../../submission/store/submission.js'
import type { OpenRoutes, RouteModules, SubmissionHandler } from './submissions.js'

type Network = EdgeConfig['networks'][number]
type Section = NonNullable<Network['relay']>

/** Opens every configured relay route. */
export const openRelays = (config: EdgeConfig, modules: RouteModules): readonly OpenRoutes[] =>
  config.networks.flatMap(network => [
    ...openRoute(config, network, '/relay', network.relay, modules),
    ...openRoute(config, network, '/relay-bundle', network.relayBundle, modules),
  ])

const openRoute = (
  { pools }: EdgeConfig,
  { id: network, signatureRule }: Network,
  route: RelayRoute,
  section: Section | undefined,
  modules: RouteModules,
): readonly OpenRoutes[] => {
  if (section === undefined) return []
  const { metrics, newId, sender } = modules
  const options: RelayOptions = {
    ...section,
    network,
    route,
    serviceTipAccounts: section.serviceTipAddresses,
    engineTipAccounts: section.engineTipAddresses,
  }
  const checks = createTransactionChecks(toRules(section, signatureRule), pools)
  const ofRoute: RelaySender = {
    send: (bundle, isEnded) => sender.call('bundle', { network, route, bundle }, { isEnded }),
    askStatuses: query => sender.call('statuses', { network, route, query }),
    find: query => sender.call('find', { query }),
    record: (id, submission) => sender.record(id, submission),
  }
  const relay = new Relay(options, {
    ...modules,
    checks,
    sender: ofRoute,
    now: Date.now,
    onCall: (method, outcome) =>
      metrics.counter('relayCalls', { network, route, method, outcome }).add(1),
  })
  const handle: SubmissionHandler['handle'] = (body, submitter, { methodPrefix }) =>
    relay.handle(body, { ...submitter, submissionId: newId() }, methodPrefix)
  return [{ network, handlers: [{ route, handle }], checks }]
}

const toRules = (
  section: Section,
  signatureRule: Network['signatureRule'],
): Parameters<typeof createTransactionChecks>[0] => ({
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
})
