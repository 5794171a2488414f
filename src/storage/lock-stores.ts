import { join } from 'node:path'
import { lockFile } from '../native/os.js'
import { storesPath } from './generations.js'

/**
 * Locks the stores of a network until this process ends: no service can start before. False
 * where a service or another command holds them.
 */
export const lockStores = (dataDir: string, network: string): boolean =>
  [join(dataDir, 'supervisor.lock'), join(storesPath(dataDir, network), 'indexer.lock')].every(
    lockFile,
  )
