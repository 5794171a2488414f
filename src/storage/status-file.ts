import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../shared/files/atomic-file.js'
import type { FollowerStatus } from './follower-status.js'
import type { LaneStatus, SenderStatus } from './sender-status.js'
import type { IndexerStatus } from '../shared/indexer-status.js'

const NAME = 'status.json'

/** Writes the status of a process. Not synced: after a power cut it is outdated anyway. */
export const writeStatus = (
  dir: string,
  status: IndexerStatus | FollowerStatus | SenderStatus,
): void => replaceFile(join(dir, NAME), `${JSON.stringify(status)}\n`)

const isOfProcess = (value: unknown): value is { readonly pid: number; readonly atMs: number } =>
  typeof value === 'object' &&
  value !== null &&
  'pid' in value &&
  typeof value.pid === 'number' &&
  'atMs' in value &&
  typeof value.atMs === 'number'

const isStatus = (value: unknown): value is IndexerStatus =>
  isOfProcess(value) && 'tip' in value && 'isHealthy' in value && 'source' in value

const isFollowerStatus = (value: unknown): value is FollowerStatus =>
  isOfProcess(value) &&
  'leaseMs' in value &&
  'lags' in value &&
  'lagging' in value &&
  'clocks' in value

const isSenderStatus = (value: unknown): value is SenderStatus =>
  isOfProcess(value) && 'lanes' in value && Array.isArray(value.lanes)

const readFile = (dir: string): unknown => {
  try {
    return JSON.parse(readFileSync(join(dir, NAME), 'utf8'))
  } catch {
    return undefined
  }
}

/** The last status of the indexer of these stores; undefined before the first. */
export const readStatus = (stores: string): IndexerStatus | undefined => {
  const value = readFile(stores)
  return isStatus(value) ? value : undefined
}

/** Folder of the status of the follower. */
export const followerPath = (dataDir: string): string => join(dataDir, 'cluster')

/** The last status of the follower of a machine; undefined before the first. */
export const readFollowerStatus = (dataDir: string): FollowerStatus | undefined => {
  const value = readFile(followerPath(dataDir))
  return isFollowerStatus(value) ? value : undefined
}

/** The last status of the sender with this folder; undefined before the first. */
export const readSenderStatus = (dir: string): SenderStatus | undefined => {
  const value = readFile(dir)
  return isSenderStatus(value) ? value : undefined
}

/** How lanes were `staleMs` ago at most; empty if no sender has written them into this folder. */
export const readLanes = (dir: string, staleMs: number, nowMs: number): readonly LaneStatus[] => {
  const written = readSenderStatus(dir)
  return written !== undefined && nowMs - written.atMs <= staleMs ? written.lanes : []
}
