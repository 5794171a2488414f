import type { Config } from '../../config/config.js'
import { storesPath } from '../../storage/generations.js'
import { readStatus } from '../../storage/status-file.js'

/** Beside `status.writeMs`: a status may be written this much later by a process that is busy. */
const LATE_MS = 500

/** True while a process with this id exists. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process of another user also exists.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/**
 * Throws if the indexer of a network is stopped or stuck: its process exists and does not write
 * its status. `outcome` says what becomes of the request. One that has ended is started again.
 */
export const demandResponsive = (config: Config, network: string, outcome: string): void => {
  const status = readStatus(storesPath(config.dataDir, network))
  if (status === undefined || !isAlive(status.pid)) return
  const silentMs = Date.now() - status.atMs
  if (silentMs > config.status.writeMs + LATE_MS)
    throw new Error(
      `the indexer of ${network} (process ${status.pid}) has not answered for ` +
        `${Math.round(silentMs)} ms: ${outcome}, see slotline status`,
    )
}
