/**
 * A source of confirmed blocks. A feed applies complete blocks to the store in chain order, each in
 * a durable transaction of its own or, while it is behind, several in one. It never skips a block:
 * one whose parent is not the tip is not applied. What it cannot repair by itself is in its health,
 * and it keeps retrying.
 *
 * A bootstrap or a repair is another source of the same store. It may write only while no feed
 * runs, and leaves a tip behind; a feed that starts afterwards resumes at that tip.
 */
export type FeedSource = {
  /** The state of the last `health` event. */
  health(): FeedHealth
  /** Stops it. The commit in progress becomes durable first. */
  stop(): void
}

/**
 * Whether the tip follows the chain. While it does not, reads continue with the true
 * `context.slot`.
 */
export type FeedHealth =
  | { readonly isHealthy: true }
  | {
      readonly isHealthy: false
      /** For an operator: what is wrong, and the option to change where there is one. */
      readonly reason: string
      /** `unreachable`, `refused`, `stalled`, `gap` or `store`. */
      readonly cause?: string
    }

/** A block that became durable. */
export type CommittedBlock = {
  readonly slot: number
  readonly blockHeight: number
  readonly accountCount: number
  /** Its share of the commit's time. */
  readonly applyMicros: number
  /** From the server's timestamp of the block to the commit, by both clocks. */
  readonly lagMs: number | undefined
  /** In incomplete slots and in the writer's queue. */
  readonly bufferedBytes: number
  /** Whether the server numbers the banks of a slot. */
  readonly isByBank: boolean
  /** Messages of abandoned banks since the block before. */
  readonly droppedCount: number
}

/** A line for the log. Its text contains no secret. */
export type FeedLine = { readonly level: 'info' | 'warn' | 'error'; readonly text: string }

/** Events of a source. The listeners must not throw. */
export type FeedListeners = {
  committed(block: CommittedBlock): void
  /** Only when it has changed. */
  health(health: FeedHealth): void
  /**
   * The stream has ended for this reason. The next one is asked to replay what follows the tip.
   */
  interrupted(reason: string): void
  /** A stream was opened that has block footers, or leaves them out: its server refuses them. */
  footers(areRequested: boolean): void
  log(line: FeedLine): void
}
