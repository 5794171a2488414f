import { join } from 'node:path'
import type { Config } from '../config.js'
import { lockFile } from '../shared/operating-system.js'
import { storesPath } from './generation.js'

/**
 * Takes the stores of a network for as long as this process lives: no service can start meanwhile. Answers false where
 * a service, or another command, has them.
 */
export const holdStores = (config: Config, network: string): boolean =>
  [
    join(config.dataDir, 'supervisor.lock'),
    join(storesPath(config.dataDir, network), 'indexer.lock'),
  ].every(lockFile)
