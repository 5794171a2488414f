import { join } from 'node:path'
import type { Grant } from '../shared/grant.js'

/** What is counted together: a network at a location of an access, whatever its tokens are. */
export type TokenScope = Pick<Grant, 'accessId' | 'network' | 'location'>

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** Days are of UTC, counted since 1970. */
export const dayOf = (nowMs: number): number => Math.floor(nowMs / DAY_MS)

/** A day as text, `2030-01-31`. */
export const formatDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** The folder of the folders of edges, in each of which the edge has its cells. */
export const edgesPath = (dataDir: string): string => join(dataDir, 'edges')
export const storePath = (dataDir: string): string => join(dataDir, 'usage.sqlite')
