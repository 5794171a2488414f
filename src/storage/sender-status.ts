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
}

/** The status file of the sender of a machine. */
export type SenderStatus = {
  readonly pid: number
  /** When this was written, in Unix milliseconds. */
  readonly atMs: number
  readonly lanes: readonly LaneStatus[]
}
