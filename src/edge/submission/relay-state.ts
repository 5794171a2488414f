import { join } from 'node:path'
import type { EdgeConfig } from '../../config/child-config.js'
import { sharedCells } from '../../native/os.js'
import { LOCK_TABLE_WORDS, LockTable } from '../../submission/single-flight/lock-table.js'
import { SingleFlight } from '../../submission/single-flight/single-flight.js'
import type { SubmissionStore } from '../../submission/store/submission-store.js'
import type { SubmissionModules } from '../upstream.js'
import type { OpenSubmissionStore } from './submission-store.js'

/** The edge among those of its machine. */
export type EdgeNumber = { readonly index: number; readonly count: number }

/** What all relay routes of an edge share. */
export type RelayState = {
  readonly store: SubmissionStore
  readonly singleFlight: SingleFlight
  /** 64-bit words that all edges of the machine share, zero at first. */
  readonly words: BigInt64Array
}

/** What the state of an edge must be able to hold. */
export type RelayStateBounds = {
  /** Words beside those of the lock table. */
  readonly wordCount: number
  /** Every time-out of the slowest route's send. */
  readonly sendMs: number
}

const WORDS_FILE = 'lock-table'

/** Opens what the relay routes share, over the store of an edge that has recovered. */
export const openRelayState = (
  config: EdgeConfig,
  { index, count }: EdgeNumber,
  { wordCount, sendMs }: RelayStateBounds,
  { store, others, onFault }: OpenSubmissionStore,
  { now }: Pick<SubmissionModules, 'now'>,
): RelayState => {
  const { dataDir, submissionStore: options } = config
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
  }
}

/** The 64-bit words of a file that every edge maps. */
const mapWords = (file: string, count: number): BigInt64Array => {
  const cells = sharedCells(file, count)
  return new BigInt64Array(cells.buffer, cells.byteOffset, cells.length)
}
