import type { EdgeConfig } from '../../config/child-config.js'
import { LanderRecorder } from '../../submission/lander/recorder.js'
import { createIds } from '../../submission/store/submission-id.js'
import type { RelayRoute } from '../../submission/store/submission.js'
import { meterChecks } from '../metrics.js'
import { openNetworkLander } from './lander.js'
import type { SubmissionModules } from '../upstream.js'
import { openRelays } from './relays.js'
import { openEdgeStore } from './submission-store.js'
import type { NetworkSubmission } from './submissions.js'

/** Landers and relays of all networks at one edge. */
export type OpenSubmissions = {
  readonly networks: ReadonlyMap<string, NetworkSubmission>
  /** Undefined without a lander. */
  readonly landerRecorder: LanderRecorder | undefined
  close(): Promise<void>
}

/** Whether a network has a route whose submissions are recorded. */
const isRecorded = ({ lander, relay, relayBundle }: EdgeConfig['networks'][number]): boolean =>
  [lander, relay, relayBundle].some(section => section !== undefined)

/** Opens every route that is configured. Without one, nothing is opened and no file is created. */
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
  const store = config.networks.some(isRecorded)
    ? await openEdgeStore(config, edge.index, modules)
    : undefined
  const relays = await openRelays(config, edge, store, modules)
  const checks = landers.find(({ opened }) => opened !== undefined)?.opened?.checks
  meterChecks(modules.metrics, checks ?? relays.checks)
  return {
    networks: new Map(
      landers.map(({ network, opened }) => [
        network,
        { lander: opened?.lander, relay: (route: RelayRoute) => relays.find(network, route) },
      ]),
    ),
    landerRecorder:
      store &&
      new LanderRecorder({
        store: store.store,
        newId: createIds(Date.now),
        now: Date.now,
        pendingMs: config.submissionStore.pendingMs,
      }),
    close: async () => {
      await Promise.all([...landers.map(({ opened }) => opened?.close()), relays.close()])
      await store?.close()
    },
  }
}
