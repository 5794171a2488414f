/** Bounds of the dashboard: its server, its sessions and its talk with the identity provider. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Loopback: TLS is for a proxy before it, and `/admin` is for this machine. */
  host: '127.0.0.1',
  /** Beside the metrics, which have 9464. */
  port: 9_465,
  /** Connections at once: browsers open up to six each. One more is closed. */
  connectionsMax: 1_024,
  /** Requests being answered at once. Over it: 503. */
  requestsInFlightMax: 256,
  /** Headers of one request: the cookies of other services on the same host come along. */
  headerBytesMax: 16 * 1024,
  /** The largest body is a grant with its lists of networks and locations. */
  bodyBytesMax: 16 * 1024,
  /** From the first byte of a request to its last: nobody holds a connection by being slow. */
  requestMs: 10_000,
  /** A connection on which nothing moves for this long is closed. */
  idleMs: 30_000,
  /** Requests in flight have this long when the process ends. */
  drainMs: 2_000,
  /**
   * A session that nobody uses ends. Half an hour is what OWASP ASVS has in mind for money and
   * keys.
   */
  sessionIdleMs: 30 * 60_000,
  /** A session ends whatever its use: the provider is asked once a working day. */
  sessionMaxMs: 12 * 3_600_000,
  /** The use of a session is written down this often at most: each time waits for the disk. */
  sessionTouchMs: 60_000,
  /** Sessions of one person. One more ends the oldest, about 300 bytes each. */
  sessionsPerPersonMax: 16,
  /** Ended sessions are removed this often. */
  sessionSweepMs: 600_000,
  /** From leaving for the identity provider to coming back from it. */
  signInMs: 10 * 60_000,
  /** Longest wait for one answer of the identity provider. */
  providerMs: 5_000,
  /** Its largest answer: a list of keys. */
  providerBytesMax: 256 * 1024,
  /** What it says of itself is asked anew this often. */
  discoveryMs: 3_600_000,
  /** Sign-ins that wait for it at once. Over it: 503. */
  signInsInFlightMax: 64,
}
