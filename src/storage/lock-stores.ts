import { join } from 'node:path'
import type { Config } from '../config/config.js'
import { lockFile } from '../native/os.js'
import { storesPath } from './generations.js'

/**
 * Takes the stores of a network for as long as this process lives: no service can start meanwhile.
 * Answers false where a service, or another command, has them.
 */
export const lockStores = (config: Config, network: string): boolean =>
  [
    join(config.dataDir, 'supervisor.lock'),
    join(storesPath(config.dataDir, network), 'indexer.lock'),
  ].every(lockFile)
