/** The status file of the follower of a machine. Times are Unix milliseconds. */
export type FollowerStatus = {
  readonly pid: number
  /** When this was written. */
  readonly atMs: number
  /** What was left of the lease, in milliseconds. */
  readonly leaseMs: number
  /** Why the machine cannot confirm that its access data is current, and what to do. */
  readonly reason?: string
  /** Slots that each network is behind the other machines of the location. */
  readonly lags: Readonly<Record<string, number>>
  /** Networks that are too far behind for too long: `/health` is `behind`. */
  readonly lagging: readonly string[]
  /** Machines whose clocks differ from that of this one, a sentence for each. */
  readonly clocks: readonly string[]
}
