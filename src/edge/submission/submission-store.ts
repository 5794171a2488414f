import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { EdgeConfig } from '../../config/child-config.js'
import { lockFile, sharedCells } from '../../native/os.js'
import { createLogThrottle, LOG_PAUSE_MS } from '../../shared/log-throttle.js'
import type { Metrics } from '../../shared/metrics.js'
import { LandingTracker } from '../../submission/landing/landing-tracker.js'
import { edgePath, StoreReaders } from '../../submission/store/store-readers.js'
import {
  openSubmissionStore,
  walBytes,
  type SubmissionStore,
} from '../../submission/store/submission-store.js'
import type { SubmissionModules } from '../upstream.js'

/** The store of the submissions of an edge, and what reads it. */
export type OpenSubmissionStore = {
  readonly store: SubmissionStore
  /** Those of the other edges of the machine. */
  readonly others: StoreReaders
  readonly onFault: (fault: unknown) => void
  close(): Promise<void>
}

const WAL_FILE = 'write-ahead-log'

/**
 * Opens the store of an edge and recovers the submissions that its last process left in flight.
 * What was sent is looked for in the index.
 */
export const openEdgeStore = async (
  config: EdgeConfig,
  index: number,
  modules: SubmissionModules,
): Promise<OpenSubmissionStore> => {
  const { dataDir, submissionStore: options } = config
  const { indexOf = () => undefined, metrics, now } = modules
  const onFault = createFaultReport(modules)
  const dir = edgePath(dataDir, index)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (!lockFile(join(dir, 'lock'))) throw new Error(`another edge ${index} runs on ${dataDir}`)

  const cells = sharedCells(join(dir, WAL_FILE), walBytes(options) / 8)
  const wal = new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength)
  const others = new StoreReaders(dataDir, index, options)
  const silent = new Set(
    config.networks.filter(({ feed }) => feed.transactions === 'none').map(({ id }) => id),
  )
  const landings = new LandingTracker({
    options,
    indexOf: network => (silent.has(network) ? 'no-outcomes' : indexOf(network)),
    write: (id, landing) => store.addLanding(id, landing),
    now,
    onFault,
  })
  const onSent = landings.watch.bind(landings)
  const store = await openSubmissionStore(
    dir,
    { wal, others, now: Date.now, onFault, onSent },
    options,
  )
  landings.start()
  reportStore(store, landings, metrics)
  return {
    store,
    others,
    onFault,
    close: async () => {
      landings.close()
      await others.close()
      await store.close()
    },
  }
}

const createFaultReport = ({ log, metrics, now }: SubmissionModules) => {
  const faults = metrics.counter('submissionStoreFaults')
  // On a full disk every submission fails.
  const throttle = createLogThrottle(LOG_PAUSE_MS, now)
  return (err: unknown): void => {
    faults.add(1)
    throttle(suppressedCount =>
      log.error({ err, suppressedCount }, 'a submission could not be stored or read'),
    )
  }
}

const reportStore = (
  store: SubmissionStore,
  landings: Pick<LandingTracker, 'awaitedCount'>,
  metrics: Metrics,
): void => {
  const inFlight = metrics.gauge('relayInFlight')
  const records = metrics.gauge('submissionStoreRecords')
  const awaited = metrics.gauge('submissionsAwaited')
  const used = metrics.gauge('storeUsed', { store: 'submissions' })
  const map = metrics.gauge('storeMap', { store: 'submissions' })
  metrics.beforeSnapshot(() => {
    const stats = store.stats()
    inFlight.set(stats.inFlight)
    records.set(stats.records)
    awaited.set(landings.awaitedCount)
    used.set(stats.usedBytes)
    map.set(stats.mapBytes)
  })
}
