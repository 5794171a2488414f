import type { IndexerStatus } from '../shared/indexer-status.js'
import type { Log } from '../shared/log.js'
import { writeStatus } from './status-file.js'

/** Writes an indexer's status at a fixed interval. */
export type StatusWriter = {
  /** Writes it now, because it has changed. */
  write(): void
  stop(): void
}

/** Starts to write. `describe` answers the status of that moment. */
export const startStatusWriter = (
  stores: string,
  intervalMs: number,
  describe: () => Omit<IndexerStatus, 'pid' | 'atMs'>,
  log: Log,
): StatusWriter => {
  let hasFailed = false
  const write = (): void => {
    try {
      writeStatus(stores, { ...describe(), pid: process.pid, atMs: Date.now() })
      hasFailed = false
    } catch (error) {
      // A full or read-only disk must not stop the indexer; the write of its next block reports it.
      if (!hasFailed) log.warn({ err: error }, 'the status file cannot be written')
      hasFailed = true
    }
  }
  const timer = setInterval(write, intervalMs)
  timer.unref()
  write()
  return { write, stop: () => clearInterval(timer) }
}
