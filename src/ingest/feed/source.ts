/**
 * Where confirmed blocks come from. A feed applies whole blocks to the store, in chain order, each
 * in one durable transaction or, while it is behind, several in one, and never skips one: a block
 * whose parent is not the tip is not applied. What it cannot mend by itself it says by its health,
 * and goes on trying.
 *
 * A bootstrap or a repair is another source over the same store. It may write only while no feed
 * runs, and leaves a tip behind; a feed that starts afterwards resumes at that tip.
 */
export type FeedSource = {
  /** The state that the last `health` event told. */
  health(): FeedHealth
  /** Ends it. The commit under way becomes durable first. */
  stop(): void
}

/**
 * Whether the tip follows the chain. While it does not, reads go on with the true `context.slot`.
 */
export type FeedHealth =
  | { readonly isHealthy: true }
  | {
      readonly isHealthy: false
      /** For an operator: what is wrong, and the setting that mends it where there is one. */
      readonly reason: string
      /** What kind of trouble it is: `unreachable`, `refused`, `stalled`, `gap` or `store`. */
      readonly cause?: string
    }

/** A block that became durable. */
export type CommittedBlock = {
  readonly slot: number
  readonly blockHeight: number
  readonly accountCount: number
  /** Its share of the commit's time. */
  readonly applyMicros: number
  /** From the server's stamp on the block to the commit, by both clocks. */
  readonly lagMs: number | undefined
  /** What waits in incomplete slots and before the writer. */
  readonly bufferedBytes: number
}

/** A line for the log. Its text holds no secret. */
export type FeedLine = { readonly level: 'info' | 'warn' | 'error'; readonly text: string }

/** What a source tells its process. None of them may throw. */
export type FeedListeners = {
  committed(block: CommittedBlock): void
  /** Only where it changed. */
  health(health: FeedHealth): void
  /**
   * The stream has ended for this reason. Another one is asked to replay what comes after the tip.
   */
  interrupted(reason: string): void
  log(line: FeedLine): void
}
