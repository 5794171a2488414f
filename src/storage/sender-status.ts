import type { LaneAnswer } from '../shared/submission-states.js'
/**
 * `down`: its peer could not be reached, or did not answer, when that was tried last. `throttled`:
 * the last transaction that its peer answered was one too many for it.
 */
export const LANE_STATES = ['up', 'down', 'throttled'] as const

/** How a lane of `/race` is. Contains no address and no key. */
export type LaneStatus = {
  readonly network: string
  readonly lane: string
  readonly state: (typeof LANE_STATES)[number]
  /** Unix milliseconds at which this was seen first, by this sender, to a second. */
  readonly sinceMs: number
  /** Transactions that ended a second, over the last ten, and how many may be sent. */
  readonly perSecond: number
  readonly perSecondMax: number
  /** Transactions that wait for their answers. */
  readonly inFlight: number
  /** What the last one came to, and when; null before the first. */
  readonly last: { readonly outcome: LaneAnswer; readonly atMs: number } | null
}

/** How many lanes of a machine are in each state. */
export type LaneCounts = Readonly<Record<LaneStatus['state'], number>>

export const countStates = (lanes: readonly Pick<LaneStatus, 'state'>[]): LaneCounts => {
  const counts = { up: 0, down: 0, throttled: 0 }
  for (const { state } of lanes) counts[state]++
  return counts
}

/** The status file of the sender of a machine. */
export type SenderStatus = {
  readonly pid: number
  /** When this was written, in Unix milliseconds. */
  readonly atMs: number
  readonly lanes: readonly LaneStatus[]
}
