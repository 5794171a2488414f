import { toPerformance, type LanePerformance } from '../usage/performance.js'
import { HOUR_MS } from '../usage/scope.js'
import type { Ask } from './usage.js'

/** What became of the submissions of all accesses, by lane. */
export type LanesOf = (hours: number) => Promise<{
  readonly fromMs: number
  readonly untilMs: number
  readonly lanes: readonly LanePerformance[]
  readonly missing?: readonly string[]
}>

/** Of the last hours with this one, of all machines. */
export const createLanes =
  (ask: Ask, locations: readonly string[], now: () => number): LanesOf =>
  async hours => {
    const until = Math.floor(now() / HOUR_MS) + 1
    const from = until - hours
    const { rows, missing } = await ask('lanes', ['', '', '', from, until, 0], locations)
    return {
      fromMs: from * HOUR_MS,
      untilMs: until * HOUR_MS,
      lanes: toPerformance(rows),
      ...(missing !== undefined && { missing }),
    }
  }
