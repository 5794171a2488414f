import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { IndexerStatus } from '../shared/indexer-status.js'

const NAME = 'status.json'

/** Puts a file in the place of the one before by one rename. `mode` is of the new one. */
export const replaceFile = (path: string, text: string, mode = 0o600): void => {
  const draft = `${path}.new`
  writeFileSync(draft, text, { mode })
  renameSync(draft, path)
}

/** Says what there is to say of an indexer. It is news, so nothing waits for the disk. */
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

/** What the indexer of these stores said last; undefined where none has said anything. */
export const readStatus = (stores: string): IndexerStatus | undefined => {
  try {
    const value: unknown = JSON.parse(readFileSync(join(stores, NAME), 'utf8'))
    return isStatus(value) ? value : undefined
  } catch {
    return undefined
  }
}
