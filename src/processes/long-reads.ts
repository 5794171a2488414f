import type { Config } from '../config/config.js'
import type { Indexer } from '../native/indexer.js'
import type { Log } from '../shared/log.js'
import type { Metrics } from '../shared/metrics.js'
import { NativeError } from '../native/errors.js'
import type { OpenRead } from '../native/store.js'
import type { Report } from './messages.js'

const TOO_LONG = 'a read stays open, and the store grows'

/** One thread's read. A thread that reads again sees the newest commit, so this names one read. */
const nameOf = ({ processId, thread, transaction }: OpenRead): string =>
  `${processId} ${thread} ${transaction}`

/**
 * Follows the reads of a store: measures it, frees slots of dead processes, and tells of a read
 * that stays open. A read counts from the moment a commit has come after it: before that it keeps
 * nothing from being reused.
 *
 * Returns what ends it.
 */
export const watchReaders = (options: {
  readonly config: Pick<Config, 'store' | 'processes'>
  readonly network: string
  /** The store of now: another one may take its place. */
  readonly store: () => Pick<
    Indexer,
    'clearStaleReaders' | 'lastCommit' | 'openReads' | 'stats' | 'tip'
  >
  readonly metrics: Metrics
  readonly log: Log
  readonly report: (report: Report) => void
  readonly now: () => number
  /** LMDB will not go on with this opening of the store: the process must be started again. */
  readonly onBroken: (error: NativeError) => void
}): (() => void) => {
  const { config, log, metrics, network, now, onBroken, report, store } = options
  const { readersCheckMs, staleReadersMs } = config.processes
  const used = metrics.gauge('storeUsed', { store: network })
  const map = metrics.gauge('storeMap', { store: network })
  const readers = metrics.gauge('storeReaders', { store: network })
  const lag = metrics.gauge('storeReaderLag', { store: network })
  const age = metrics.gauge('storeReaderAge', { store: network })
  /**
   * Reads behind the newest commit: since when they were seen there, and whether the log has them.
   */
  let known = new Map<string, { readonly fromMs: number; isTold: boolean }>()
  let clearedMs = now()
  let fault: string | undefined

  /** A store that cannot be looked at must not end who writes it; each reason is logged once. */
  const attempt = (look: () => void): void => {
    try {
      look()
      fault = undefined
    } catch (error) {
      if (!(error instanceof NativeError)) throw error
      if (error.code === 'storeBroken') return onBroken(error)
      if (fault !== error.message) log.warn({ network, err: error }, 'a store cannot be measured')
      fault = error.message
    }
  }
  const clear = (): void => {
    clearedMs = now()
    const freed = store().clearStaleReaders()
    if (freed > 0) log.warn({ network, freed }, 'freed read slots of dead processes')
  }
  const check = (): void => {
    // Of all that is done here, what fails first where the store is broken.
    store().tip()
    const newest = store().lastCommit()
    const behind = store()
      .openReads()
      .filter(({ transaction }) => transaction < newest)
    const nowMs = now()
    const before = known
    known = new Map()
    let oldest = 0
    const overdue = new Map<number, number>()
    for (const read of behind) {
      const entry = before.get(nameOf(read)) ?? { fromMs: nowMs, isTold: false }
      known.set(nameOf(read), entry)
      const seconds = (nowMs - entry.fromMs) / 1_000
      oldest = Math.max(oldest, seconds)
      if (seconds <= config.store.readerSecondsMax) continue
      if (!entry.isTold)
        log.warn({ network, childPid: read.processId, seconds: Math.round(seconds) }, TOO_LONG)
      entry.isTold = true
      overdue.set(read.processId, Math.max(seconds, overdue.get(read.processId) ?? 0))
    }
    age.set(oldest)
    for (const [pid, seconds] of overdue) report({ kind: 'longRead', network, pid, seconds })
    // What is overdue may be of a process that is dead.
    if (overdue.size > 0 || nowMs - clearedMs >= staleReadersMs) clear()
  }

  const timer = setInterval(() => attempt(check), readersCheckMs)
  metrics.beforeSnapshot(() =>
    attempt(() => {
      const stats = store().stats()
      used.set(stats.usedBytes)
      map.set(stats.mapBytes)
      readers.set(stats.readers)
      lag.set(stats.oldestReaderLag)
    }),
  )
  return () => clearInterval(timer)
}
