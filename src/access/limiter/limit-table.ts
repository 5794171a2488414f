import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  LimitedAccess,
  mapLimitTable,
  type Exceeded,
  type LimitTable,
  type Utilisation,
} from '../../native/access/limits.js'
import { LIMIT_NAMES } from '../../shared/access-limits.js'
import type { Grant } from '../../shared/grant.js'
import { defaults, type Options } from './options.js'

export type { LimitTable, Utilisation }

/** A limit that a request or a WebSocket can exceed. Subscriptions are counted by their socket. */
export type ExceedableLimit = Exceeded['limit']

export const EXCEEDABLE_LIMITS = LIMIT_NAMES.filter(name => name !== 'subscriptionsPerSocketMax')

/** No row for the access: more than `accessesMax` are in use. */
export const FULL = 'full'

/** Unix milliseconds: edges compare what they store. */
export type Clock = () => number

/** Replaces the key of a row while it is assigned to another access. */
const ASSIGNING = -1n

/**
 * The key of an access: 64 bits of a digest. Two accesses with the same one would share their
 * limits.
 */
export const keyOfAccess = (accessId: string): bigint => {
  const key = createHash('sha256').update(accessId).digest().readBigInt64LE()
  return key === 0n || key === ASSIGNING ? 1n : key
}

/** The access of a grant at one edge. */
export const limitedAccess = (
  table: LimitTable,
  { accessId, limits }: Pick<Grant, 'accessId' | 'limits'>,
  edgeIndex: number,
): LimitedAccess => new LimitedAccess(table, keyOfAccess(accessId), edgeIndex, limits)

const tablePath = (dataDir: string): string => join(dataDir, 'limits')

/**
 * Opens the table of this machine. Every process must pass the same options and number of edges.
 */
export const openLimitTable = (
  dataDir: string,
  edgeCount: number,
  { accessesMax }: Options = defaults,
): LimitTable => mapLimitTable(tablePath(dataDir), { edgeCount, rowCount: accessesMax })

/** Removes the table before any edge has started: nothing is in flight, every burst is whole. */
export const resetLimitTable = (dataDir: string): void => {
  const path = tablePath(dataDir)
  for (const each of [path, `${path}-counts`]) rmSync(each, { force: true })
}

/** What an access has in use on this machine. */
export const readUtilisation = (table: LimitTable, accessId: string): Utilisation =>
  table.utilisation(keyOfAccess(accessId))
