import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { EdgeConfig } from '../config/child-config.js'
import { lockFile, sharedCells } from '../native/os.js'
import { createLogThrottle, LOG_PAUSE_MS } from '../shared/log-throttle.js'
import type { Metrics } from '../shared/metrics.js'
import { LOCK_TABLE_WORDS, LockTable } from '../submission/single-flight/lock-table.js'
import { SingleFlight } from '../submission/single-flight/single-flight.js'
import { edgePath, StoreReaders } from '../submission/store/store-readers.js'
import {
  openSubmissionStore,
  walBytes,
  type SubmissionStore,
} from '../submission/store/submission-store.js'
import type { SubmissionModules } from './open-upstream.js'

/** The edge among those of its machine. */
export type EdgeNumber = { readonly index: number; readonly count: number }

/** What all relay routes of an edge share. */
export type RelayState = {
  readonly store: SubmissionStore
  readonly singleFlight: SingleFlight
  /** 64-bit words that all edges of the machine share, zero at first. */
  readonly words: BigInt64Array
  close(): Promise<void>
}

/** What the state of an edge must be able to hold. */
export type RelayStateBounds = {
  /** Words beside those of the lock table. */
  readonly wordCount: number
  /** Every time-out of the slowest route's send. */
  readonly sendMs: number
}

const WAL_FILE = 'write-ahead-log'
const WORDS_FILE = 'lock-table'

/** Opens the store of an edge and recovers the submissions that its last process left in flight. */
export const openRelayState = async (
  config: EdgeConfig,
  { index, count }: EdgeNumber,
  { wordCount, sendMs }: RelayStateBounds,
  modules: SubmissionModules,
): Promise<RelayState> => {
  const { dataDir, submissionStore: options } = config
  const { metrics, now } = modules
  const onFault = createFaultReport(modules)
  const dir = edgePath(dataDir, index)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (!lockFile(join(dir, 'lock'))) throw new Error(`another edge ${index} runs on ${dataDir}`)

  const cells = sharedCells(join(dir, WAL_FILE), walBytes(options) / 8)
  const wal = new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength)
  const others = new StoreReaders(dataDir, index, options)
  const store = await openSubmissionStore(dir, { wal, others, now: Date.now, onFault }, options)
  reportStore(store, metrics)

  const words = mapWords(join(dataDir, 'edges', WORDS_FILE), LOCK_TABLE_WORDS + wordCount)
  const followMs = sendMs + options.followGraceMs
  const locks = new LockTable({
    words: words.subarray(0, LOCK_TABLE_WORDS),
    edgeIndex: index,
    lockSecondsMax: Math.ceil(followMs / 1000) + 1,
    nowSeconds: () => process.hrtime()[0],
  })
  // After the store has recovered: other edges that wait for these submissions read them there.
  locks.releaseStale(count)
  const read = (edge: number, id: Uint8Array) => {
    try {
      return edge === index ? store.get(id) : others.get(edge, id)
    } catch (error) {
      onFault(error)
      return undefined
    }
  }
  const { followPollMs } = options
  return {
    store,
    singleFlight: new SingleFlight({ followPollMs, followMs }, { locks, read, now }),
    words: words.subarray(LOCK_TABLE_WORDS),
    close: async () => {
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

const reportStore = (store: SubmissionStore, metrics: Metrics): void => {
  const inFlight = metrics.gauge('relayInFlight')
  const records = metrics.gauge('submissionStoreRecords')
  const used = metrics.gauge('storeUsed', { store: 'submissions' })
  const map = metrics.gauge('storeMap', { store: 'submissions' })
  metrics.beforeSnapshot(() => {
    const stats = store.stats()
    inFlight.set(stats.inFlight)
    records.set(stats.records)
    used.set(stats.usedBytes)
    map.set(stats.mapBytes)
  })
}

/** The 64-bit words of a file that every edge maps. */
const mapWords = (file: string, count: number): BigInt64Array => {
  const cells = sharedCells(file, count)
  return new BigInt64Array(cells.buffer, cells.byteOffset, cells.length)
}
