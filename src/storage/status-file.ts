import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { IndexerStatus } from '../shared/indexer-status.js'
import { replaceFile } from '../shared/atomic-file.js'

const NAME = 'status.json'

/** Writes the status of an indexer. Not synced: after a power cut it is outdated anyway. */
export const writeStatus = (stores: string, status: IndexerStatus): void =>
  replaceFile(join(stores, NAME), `${JSON.stringify(status)}\n`)

const isStatus = (value: unknown): value is IndexerStatus =>
  typeof value === 'object' &&
  value !== null &&
  'pid' in value &&
  typeof value.pid === 'number' &&
  'atMs' in value &&
  typeof value.atMs === 'number' &&
  'tip' in value &&
  'isHealthy' in value &&
  'source' in value

/** The last status of the indexer of these stores; undefined before the first. */
export const readStatus = (stores: string): IndexerStatus | undefined => {
  try {
    const value: unknown = JSON.parse(readFileSync(join(stores, NAME), 'utf8'))
    return isStatus(value) ? value : undefined
  } catch {
    return undefined
  }
}
