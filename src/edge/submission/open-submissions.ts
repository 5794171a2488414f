import type { EdgeConfig } from '../../config/child-config.js'
import { LanderRecorder } from '../../submission/lander/recorder.js'
import { createIds } from '../../submission/store/submission-id.js'
import { meterChecks } from '../metrics.js'
import type { SubmissionModules } from '../upstream.js'
import { openLanders } from './lander.js'
import { openRelays } from './relays.js'
import { openEdgeStore } from './submission-store.js'
import type { SubmissionHandler } from './submissions.js'

/** Landers and relays of all networks at one edge. */
export type OpenSubmissions = {
  /** By network. */
  readonly handlers: ReadonlyMap<string, readonly SubmissionHandler[]>
  readonly newId: () => Uint8Array
  close(): Promise<void>
}

/** Whether a network has a submission route. */
const hasRoute = ({ lander, relay, relayBundle }: EdgeConfig['networks'][number]): boolean =>
  [lander, relay, relayBundle].some(section => section !== undefined)

/** Opens every route that is configured. Without one, nothing is opened and no file is created. */
export const openSubmissions = async (
  config: EdgeConfig,
  edge: { readonly index: number; readonly count: number },
  modules: SubmissionModules,
): Promise<OpenSubmissions> => {
  const newId = createIds(Date.now)
  if (!config.networks.some(hasRoute)) return { handlers: new Map(), newId, close: async () => {} }
  const store = await openEdgeStore(config, edge.index, modules)
  const { pendingMs } = config.submissionStore
  const recorder = new LanderRecorder({ store: store.store, newId, now: Date.now, pendingMs })
  const opened = [
    ...(await openLanders(config, recorder, modules)),
    ...(await openRelays(config, edge, { store, newId }, modules)),
  ]
  meterChecks(modules.metrics, opened[0]?.checks)
  return {
    handlers: new Map(
      config.networks.map(({ id }) => [
        id,
        opened.flatMap(({ network, handlers }) => (network === id ? handlers : [])),
      ]),
    ),
    newId,
    close: async () => {
      await Promise.all(opened.map(one => one.close()))
      await store.close()
    },
  }
}
