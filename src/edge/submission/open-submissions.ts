import type { EdgeConfig } from '../../config/child-config.js'
import { bootMs } from '../../native/os.js'
import { SenderClient } from '../../submission/link/sender-client.js'
import { openSocketPath } from '../../submission/link/socket-path.js'
import { createIds } from '../../submission/store/submission-id.js'
import { failureReply } from '../admission.js'
import { meterChecks } from '../metrics.js'
import { openLanders, openRaces } from './lander.js'
import type { StoredSubmissions } from './stored-submissions.js'
import { openRelays } from './relay.js'
import type {
  OpenRoutes,
  RouteModules,
  SubmissionHandler,
  SubmissionModules,
} from './submissions.js'

/** Longest wait for a sender: one that was killed is there again by then. */
const SENDER_WAIT_MS = 2_000
/** Calls to the sender at once, and the bytes of their messages; also of the longest answer. */
const CALLS_MAX = 4_096
const CALLS_BYTES_MAX = 64 * 1024 ** 2

/** Landers and relays of all networks at one edge. */
export type OpenSubmissions = {
  /** By network. */
  readonly handlers: ReadonlyMap<string, readonly SubmissionHandler[]>
  /** Networks whose transactions are raced that come by no request. */
  readonly raced: ReadonlySet<string>
  readonly newId: () => Uint8Array
  close(): Promise<void>
}

type Network = EdgeConfig['networks'][number]

const sectionsOf = ({ lander, lanes, relay, relayBundle }: Network) =>
  [lander, ...lanes, relay, relayBundle].filter(section => section !== undefined)

/** Opens every route that is configured. Without one, nothing is opened. */
export const openSubmissions = async (
  config: EdgeConfig,
  modules: SubmissionModules,
  stored: StoredSubmissions,
): Promise<OpenSubmissions> => {
  const newId = createIds(Date.now)
  const hasRoute = config.networks.some(network => sectionsOf(network).length > 0)
  const raced = new Set(
    config.networks.flatMap(({ id, transactionRoute }) => (transactionRoute === 'race' ? id : [])),
  )
  if (!hasRoute) return { handlers: new Map(), raced, newId, close: async () => {} }
  const { log } = modules
  const sender = new SenderClient({
    path: openSocketPath(config.dataDir),
    waitMs: SENDER_WAIT_MS,
    callsMax: CALLS_MAX,
    bytesMax: CALLS_BYTES_MAX,
    answerBytesMax: CALLS_BYTES_MAX,
    onTold: accessIds => stored.onTold(accessIds),
    onFault: err => log.error({ err }, 'the sender cannot be understood'),
  })
  stored.findElsewhere = query => sender.call('find', { query })
  const noSender = failureReply('noSender')
  const shared: RouteModules = { ...modules, sender, noSender, newId, clock: bootMs }
  const opened: readonly OpenRoutes[] = [
    ...openLanders(config, shared),
    ...openRaces(config, shared),
    ...openRelays(config, shared),
  ]
  meterChecks(modules.metrics, opened[0]?.checks)
  return {
    handlers: new Map(
      config.networks.map(({ id }) => [
        id,
        opened.flatMap(({ network, handlers }) => (network === id ? handlers : [])),
      ]),
    ),
    ...{ raced, newId },
    close: () => sender.close(),
  }
}
