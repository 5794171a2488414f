import type { IndexerStatus } from '../shared/indexer-status.js'
import type { Log } from '../shared/log.js'
import { writeStatus } from './status-file.js'

/** Writes what an indexer says of itself again and again. */
export type StatusWriter = {
  /** Writes it now: something has changed that nobody should wait to hear. */
  write(): void
  stop(): void
}

/** Begins to write. `describe` answers what is true at that moment. */
export const startStatusWriter = (
  stores: string,
  everyMs: number,
  describe: () => Omit<IndexerStatus, 'pid' | 'atMs'>,
  log: Log,
): StatusWriter => {
  let hasFailed = false
  const write = (): void => {
    try {
      writeStatus(stores, { ...describe(), pid: process.pid, atMs: Date.now() })
      hasFailed = false
    } catch (error) {
      // A full disk or a read-only one: blocks matter more, and they say so themselves.
      if (!hasFailed) log.warn({ err: error }, 'status cannot be written')
      hasFailed = true
    }
  }
  const timer = setInterval(write, everyMs)
  timer.unref()
  write()
  return { write, stop: () => clearInterval(timer) }
}
