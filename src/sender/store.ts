import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { SenderConfig } from '../config/child-config.js'
import { lockDescriptor, sharedCells } from '../native/os.js'
import type { Log } from '../shared/log.js'
import { createLogThrottle, LOG_PAUSE_MS } from '../shared/log-throttle.js'
import type { Metrics } from '../shared/metrics.js'
import type { StateChange } from '../submission/store/changes.js'
import type { Submission } from '../submission/store/submission.js'
import { createLandingMeter } from './landing-meter.js'
import { LandingTracker } from '../submission/landing/landing-tracker.js'
import { senderPath } from '../submission/store/store-reader.js'
import {
  openSubmissionStore,
  walBytes,
  type SubmissionStore,
} from '../submission/store/submission-store.js'
import { WriteAheadLog } from '../submission/store/write-ahead-log.js'
import type { OutcomeIndexes } from './outcome-indexes.js'
import { createPerformanceCount } from './performance.js'

export type StoreParts = {
  readonly indexes: OutcomeIndexes
  readonly log: Log
  readonly metrics: Metrics
  readonly now: () => number
  /** Events of an access can be read that could not be read before. */
  readonly onTold: (accessId: string) => void
}

/** The store of submissions, and what completes it. */
export type OpenStore = {
  readonly store: SubmissionStore
  readonly onFault: (fault: unknown) => void
  /** Stores what an earlier process, which has ended, left in its write-ahead log. */
  recover(): Promise<void>
  /**
   * Continues with what an earlier process, which has ended, has sent: follows it, and publishes
   * and counts what submissions come to.
   */
  resume(): Promise<void>
  /** Leaves it to another process to publish and count that, until `resume`. */
  stopPublishing(): Promise<void>
  /** A block was committed: what landed in it is looked for at once. */
  onCommitted(network: string): void
  close(): Promise<void>
}

const walPath = (dir: string, nth: number): string => join(dir, `write-ahead-log-${nth}`)

/**
 * One of the two write-ahead logs; undefined while another process has it: a sender that is
 * replaced has one while its successor has the other.
 */
const openWal = (dir: string, nth: number, bytes: number) => {
  const path = walPath(dir, nth)
  // The lock ends with the descriptor.
  const lock = openSync(`${path}.lock`, 'a', 0o600)
  if (!lockDescriptor(lock)) {
    closeSync(lock)
    return undefined
  }
  const cells = sharedCells(path, bytes / 8)
  const wal = new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength)
  return { nth, wal, release: () => closeSync(lock) }
}

/** Opens the store. What no process has in flight any more becomes `unknown`. */
export const openStore = async (
  config: Pick<SenderConfig, 'dataDir' | 'networks' | 'submissionStore'>,
  parts: StoreParts,
): Promise<OpenStore> => {
  const { dataDir, submissionStore: options } = config
  const { indexes, metrics, now } = parts
  const onFault = createFaultReport(parts)
  const dir = senderPath(dataDir)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const bytes = walBytes(options)
  const own = openWal(dir, 0, bytes) ?? openWal(dir, 1, bytes)
  if (own === undefined) throw new Error(`two senders run on ${dataDir}`)
  const landings = new LandingTracker({
    options,
    indexOf: network => indexes.of(network),
    write: (id, landing) => store.amend(id, { landing }),
    now,
    unixMs: Date.now,
    onFault,
  })
  const onSent = landings.watch.bind(landings)
  const meter = createLandingMeter(metrics)
  const onTold = (submission: Submission, changes: readonly StateChange[]): void => {
    meter(submission, changes)
    parts.onTold(submission.accessId)
  }
  const modules = { wal: own.wal, now: Date.now, onFault, onSent, onTold }
  const store = await openSubmissionStore(dir, modules, options)
  const performance = createPerformanceCount({ config, store, log: parts.log, now })
  landings.start()
  reportStore(store, landings, metrics)
  const resume = async (): Promise<void> => {
    await store.resume()
    performance.start()
    void store.load().catch(onFault)
  }
  return {
    store,
    onFault,
    recover: async () => {
      const other = 1 - own.nth
      const left = existsSync(walPath(dir, other)) ? openWal(dir, other, bytes) : undefined
      if (left !== undefined) await store.recover(new WriteAheadLog(left.wal))
      left?.release()
    },
    resume,
    stopPublishing: async () => {
      await performance.stop()
      await store.stopPublishing()
    },
    onCommitted: network => void landings.look(network),
    close: async () => {
      landings.close()
      await performance.stop()
      await store.close()
      own.release()
    },
  }
}

const createFaultReport = ({ log, metrics, now }: StoreParts) => {
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
