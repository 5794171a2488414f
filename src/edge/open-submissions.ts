import type { EdgeConfig } from '../config/child-config.js'
import type { RelayRoute } from '../submission/store/submission.js'
import { meterChecks } from './metrics.js'
import { openNetworkLander } from './open-lander.js'
import type { SubmissionModules } from './open-upstream.js'
import { openRelays } from './open-relays.js'
import type { NetworkSubmission } from './submission/submissions.js'

/** Landers and relays of all networks at one edge. */
export type OpenSubmissions = {
  readonly networks: ReadonlyMap<string, NetworkSubmission>
  close(): Promise<void>
}

export const openSubmissions = async (
  config: EdgeConfig,
  edge: { readonly index: number; readonly count: number },
  modules: SubmissionModules,
): Promise<OpenSubmissions> => {
  const landers = await Promise.all(
    config.networks.map(async network => ({
      network: network.id,
      opened: await openNetworkLander(config, network, modules),
    })),
  )
  const relays = await openRelays(config, edge, modules)
  const checks = landers.find(({ opened }) => opened !== undefined)?.opened?.checks
  meterChecks(modules.metrics, checks ?? relays.checks)
  return {
    networks: new Map(
      landers.map(({ network, opened }) => [
        network,
        { lander: opened?.lander, relay: (route: RelayRoute) => relays.find(network, route) },
      ]),
    ),
    close: async () => {
      await Promise.all([...landers.map(({ opened }) => opened?.close()), relays.close()])
    },
  }
}
