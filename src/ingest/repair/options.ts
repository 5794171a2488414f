/** Steps that may repair a gap when no source can replay it, cheapest first. */
export const REPAIR_STEPS = ['incremental', 'rpc', 'snapshot'] as const
export type RepairStepName = (typeof REPAIR_STEPS)[number]

/** Bounds of repairing a feed. */
export const defaults = {
  /**
   * Pause after every source failed, before the next one is tried again: a replay is expensive for
   * a server, and retrying faster does not shorten an outage of all sources.
   */
  sourcesPauseMs: 30_000,
  /**
   * Least time between two runs through the steps. A snapshot is 100 GB from another operator's
   * machine, and what it did not repair now it will not repair a minute later. A run that loaded
   * nothing, because no server of snapshots was available, does not count.
   */
  stepsPauseMs: 1_800_000,
  /** Attempts of one step before the next: the second one finds newer snapshots. */
  stepAttemptsMax: 2,
}
export type Options = Readonly<typeof defaults>
