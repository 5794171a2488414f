/** One minute of a token. */
export type UsageMinute = {
  /** Unix milliseconds, a whole minute. */
  readonly startMs: number
  readonly requests: number
  readonly errors: number
  readonly rateLimited: number
  readonly refused: number
}

/** One attempt that was refused although the token is known. */
export type RefusedAttempt = {
  readonly atMs: number
  readonly address: string
  readonly reason: string
}

/** Use of tokens and accesses as the edges have counted it. */
export type Usage = {
  /** Of one token, oldest minute first; attempts newest first. */
  ofToken(tokenId: string): {
    readonly minutes: readonly UsageMinute[]
    readonly refused: readonly RefusedAttempt[]
  }
  /** Of one access over all edges, now. */
  ofAccess(accessId: string): {
    readonly requestsPerSecond: number
    readonly requestsInFlight: number
    readonly sockets: number
  }
}
