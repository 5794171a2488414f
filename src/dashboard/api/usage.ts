/** Counts of one token in one minute. */
export type UsageMinute = {
  /** Unix milliseconds, the start of a minute. */
  readonly startMs: number
  readonly requests: number
  readonly errors: number
  readonly rateLimited: number
  readonly refused: number
}

/** A refused attempt with a known token. */
export type RefusedAttempt = {
  readonly atMs: number
  readonly address: string
  readonly reason: string
}

/** Usage of tokens and accesses, as counted by the edges. */
export type Usage = {
  /** Of one token: minutes oldest first, attempts newest first. */
  ofToken(tokenId: string): {
    readonly minutes: readonly UsageMinute[]
    readonly refused: readonly RefusedAttempt[]
  }
  /** Current utilisation of one access, over all edges. */
  ofAccess(accessId: string): {
    readonly requestsPerSecond: number
    readonly requestsInFlight: number
    readonly sockets: number
  }
}
