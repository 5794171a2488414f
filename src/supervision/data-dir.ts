import { mkdirSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { lockDescriptor } from '../native/os.js'
import type { Log } from '../shared/log.js'

/** A start that cannot succeed; its message is one line for the operator. */
export class StartError extends Error {}

/** In the data directory: locked as long as a supervisor has it. */
export const LOCK_NAME = 'supervisor.lock'

/** Permissions of users other than the owner. */
const OTHERS = 0o077

/** Locks the data directory for this process; answers the descriptor of the lock. */
export const prepareDataDir = (dataDir: string): number => {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const lock = openSync(join(dataDir, LOCK_NAME), 'a')
  if (!lockDescriptor(lock))
    throw new StartError(`another Slotline runs on the data directory ${dataDir}`)
  return lock
}

/** An operator's folder keeps its mode: it may be shared on purpose. */
export const warnOfOtherUsers = (dataDir: string, log: Log): void => {
  const mode = statSync(dataDir).mode & 0o777
  if ((mode & OTHERS) !== 0)
    log.warn({ dataDir, mode: mode.toString(8) }, 'other users may open the data directory')
}
