/** What may mend a gap when no source can replay it, from the cheapest on. */
export const REPAIR_STEPS = ['incremental', 'rpc', 'snapshot'] as const
export type RepairStepName = (typeof REPAIR_STEPS)[number]

/** Bounds of mending a feed. */
export const defaults = {
  /**
   * Pause after every source was tried in vain, before the next one has its turn again: a replay
   * costs a server work, and an outage of all sources is not shortened by haste.
   */
  sourcesPauseMs: 30_000,
  /**
   * Least time from one run through the steps to the next. A snapshot is 100 GB from somebody
   * else's machine, and what it did not mend at once it will not mend a minute later.
   */
  stepsPauseMs: 1_800_000,
  /** Tries of one step before the next: the second one meets a server that has newer snapshots. */
  stepAttemptsMax: 2,
}
export type Options = Readonly<typeof defaults>
