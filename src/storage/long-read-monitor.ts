import { NativeError } from '../native/errors.js'
import type { Indexer } from '../native/indexer.js'
import type { OpenRead } from '../native/store.js'
import type { Log } from '../shared/log.js'
import type { Metrics } from '../shared/metrics.js'

type Store = Pick<Indexer, 'clearStaleReaders' | 'lastCommit' | 'openReads' | 'stats' | 'tip'>

export type LongReadBounds = {
  /** A read that is open for longer is reported. */
  readonly readerSecondsMax: number
  readonly readersCheckMs: number
  /** How often the slots of stale readers are freed. */
  readonly staleReadersMs: number
}

/** A process with a read that is open for too long. */
export type LongRead = { readonly pid: number; readonly seconds: number }

export type LongReadMonitorOptions = {
  readonly bounds: LongReadBounds
  readonly network: string
  /** The live store, which a bootstrap may replace. */
  readonly store: () => Store
  readonly metrics: Metrics
  readonly log: Log
  readonly onLongRead: (read: LongRead) => void
  readonly now: () => number
  /** LMDB refuses further use of the opened store: the process must be restarted. */
  readonly onBroken: (error: NativeError) => void
}

/** A read behind the newest commit: when it was first seen there, and whether it was logged. */
type TrackedRead = { readonly pid: number; readonly sinceMs: number; isLogged: boolean }

/** Identifies one read: a thread that reads again sees a newer transaction. */
const keyOf = ({ processId, thread, transaction }: OpenRead): string =>
  `${processId} ${thread} ${transaction}`

/**
 * Measures a store, frees the slots of stale readers and reports reads that stay open. A read
 * counts from the first commit after it: before that it keeps no page from being reused.
 */
class LongReadMonitor {
  private readonly options: LongReadMonitorOptions
  private readonly age
  private readonly timer: NodeJS.Timeout
  private tracked = new Map<string, TrackedRead>()
  private clearedMs: number
  private lastFault: string | undefined

  constructor(options: LongReadMonitorOptions) {
    const { bounds, metrics, network, now } = options
    this.options = options
    this.clearedMs = now()
    this.age = metrics.gauge('storeReaderAge', { store: network })
    this.timer = setInterval(() => this.attempt(this.check), bounds.readersCheckMs)
    const used = metrics.gauge('storeUsed', { store: network })
    const map = metrics.gauge('storeMap', { store: network })
    const readers = metrics.gauge('storeReaders', { store: network })
    const lag = metrics.gauge('storeReaderLag', { store: network })
    const short = metrics.gauge('storeShortHolders', { store: network })
    const feedBytes = metrics.gauge('feedKeptBytes', { network })
    const feedSlots = metrics.gauge('feedKeptSlots', { network })
    const measure = (): void => {
      const stats = options.store().stats()
      used.set(stats.usedBytes)
      map.set(stats.mapBytes)
      readers.set(stats.readers)
      lag.set(stats.oldestReaderLag)
      short.set(stats.shortHolders)
      feedBytes.set(stats.feedBytes)
      feedSlots.set(stats.feedSlots)
    }
    metrics.beforeSnapshot(() => this.attempt(measure))
  }

  stop(): void {
    clearInterval(this.timer)
  }

  /** A store that cannot be measured must not stop its writer; each cause is logged once. */
  private attempt(action: () => void): void {
    const { log, network, onBroken } = this.options
    try {
      action()
      this.lastFault = undefined
    } catch (error) {
      if (!(error instanceof NativeError)) throw error
      if (error.code === 'storeBroken') return onBroken(error)
      if (this.lastFault !== error.message)
        log.warn({ network, err: error }, 'a store cannot be measured')
      this.lastFault = error.message
    }
  }

  private readonly check = (): void => {
    const { bounds, now, onLongRead, store } = this.options
    // Of these calls, this one is the first to fail where the store is broken.
    store().tip()
    const nowMs = now()
    this.trackReads(nowMs)
    const overdue = this.findOverdue(nowMs)
    for (const [pid, seconds] of overdue) onLongRead({ pid, seconds })
    // An overdue read may belong to an ended process.
    if (overdue.size > 0 || nowMs - this.clearedMs >= bounds.staleReadersMs) this.clear()
  }

  private trackReads(nowMs: number): void {
    const { store } = this.options
    const newest = store().lastCommit()
    const behind = store()
      .openReads()
      .filter(({ transaction }) => transaction < newest)
    const before = this.tracked
    this.tracked = new Map()
    for (const read of behind) {
      const key = keyOf(read)
      const added = { pid: read.processId, sinceMs: nowMs, isLogged: false }
      this.tracked.set(key, before.get(key) ?? added)
    }
  }

  /** Seconds of the oldest read that is open for too long, by process. */
  private findOverdue(nowMs: number): ReadonlyMap<number, number> {
    const { bounds, log, network } = this.options
    const overdue = new Map<number, number>()
    let oldest = 0
    for (const read of this.tracked.values()) {
      const { pid } = read
      const seconds = (nowMs - read.sinceMs) / 1_000
      oldest = Math.max(oldest, seconds)
      if (seconds <= bounds.readerSecondsMax) continue
      if (!read.isLogged)
        log.warn(
          { network, childPid: pid, seconds: Math.round(seconds) },
          'a read stays open and makes the store grow',
        )
      read.isLogged = true
      overdue.set(pid, Math.max(seconds, overdue.get(pid) ?? 0))
    }
    this.age.set(oldest)
    return overdue
  }

  private clear(): void {
    const { log, network, now, store } = this.options
    this.clearedMs = now()
    const freed = store().clearStaleReaders()
    if (freed > 0) log.warn({ network, freed }, 'freed reader slots of ended processes')
  }
}

/** Starts to monitor the reads of a store; returns the function that stops it. */
export const startLongReadMonitor = (options: LongReadMonitorOptions): (() => void) => {
  const monitor = new LongReadMonitor(options)
  return () => monitor.stop()
}
