import type { FollowerStatus } from './follower-status.js'
import type { SenderStatus } from './sender-status.js'
import type { IndexerStatus } from '../shared/indexer-status.js'
import type { Log } from '../shared/log.js'
import { writeStatus } from './status-file.js'

/** Writes the status of a process at a fixed interval. */
export type StatusWriter = {
  /** Writes it now, because it has changed. */
  write(): void
  stop(): void
}

type Described<S> = Omit<S, 'pid' | 'atMs'>

/** Starts to write. `describe` answers the status of that moment. */
export const startStatusWriter = (
  dir: string,
  intervalMs: number,
  describe: () => Described<IndexerStatus> | Described<FollowerStatus> | Described<SenderStatus>,
  log: Log,
): StatusWriter => {
  let hasFailed = false
  const write = (): void => {
    try {
      writeStatus(dir, { ...describe(), pid: process.pid, atMs: Date.now() })
      hasFailed = false
    } catch (error) {
      // A full or read-only disk must not stop the process; a write of its store reports it.
      if (!hasFailed) log.warn({ err: error }, 'the status file cannot be written')
      hasFailed = true
    }
  }
  const timer = setInterval(write, intervalMs)
  timer.unref()
  write()
  return { write, stop: () => clearInterval(timer) }
}
