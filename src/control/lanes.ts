import { lastHours, toPerformance, toSummary, type LanePerformance } from '../usage/performance.js'
import { HOUR_MS } from '../usage/scope.js'
import type { LaneStates } from '../dashboard/api/operator/operator.js'
import type { SummaryOf } from '../dashboard/api/submissions/routes.js'
import type { Ask } from './usage.js'

/** What became of the submissions of all accesses, by lane. */
export type LanesOf = (hours: number) => Promise<{
  readonly fromMs: number
  readonly untilMs: number
  /** Of this machine. */
  readonly states: ReturnType<LaneStates>
  readonly lanes: readonly LanePerformance[]
  readonly missing?: readonly string[]
}>

/** Of the last hours with this one, of all machines. */
export const createLanes =
  (ask: Ask, statesOf: LaneStates, locations: readonly string[], now: () => number): LanesOf =>
  async hours => {
    const { from, until } = lastHours(hours, 1, now())
    const { rows, missing } = await ask('lanes', ['', '', '', from, until, 0], locations)
    return {
      fromMs: from * HOUR_MS,
      untilMs: until * HOUR_MS,
      states: statesOf(),
      lanes: toPerformance(rows),
      ...(missing !== undefined && { missing }),
    }
  }

/** In a time, of all machines. */
export const createSummary =
  (ask: Ask): SummaryOf =>
  async (accessId, locations, { fromMs, untilMs, stepMs }) => {
    const [all, periods] = await Promise.all(
      [0, stepMs].map(each => ask('landing', [accessId, fromMs, untilMs, each], locations)),
    )
    const missing = all?.missing ?? periods?.missing
    return {
      fromMs,
      untilMs,
      ...toSummary(all?.rows ?? [], periods?.rows ?? []),
      ...(missing !== undefined && { missing }),
    }
  }
