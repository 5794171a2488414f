import { type Declaration, defaultsOf } from '../shared/options/declaration.js'

/** Bounds of the dashboard: server, sessions and requests to the identity provider. */
export const options = {
  host: {
    default: '127.0.0.1',
    why: 'Loopback: a proxy in front adds TLS, and `/admin` is for this machine only.',
  },
  port: {
    default: 9_465,
    unit: 'TCP port',
    max: 65_535,
    why: 'The next port after that of the metrics.',
  },
  sessionIdleMs: {
    default: 30 * 60_000,
    unit: 'milliseconds',
    why: 'An unused session ends after this time. OWASP ASVS suggests half an hour for payments and keys.',
  },
  sessionMaxMs: {
    default: 12 * 3_600_000,
    unit: 'milliseconds',
    why: 'A session ends after this time in any case, so that users sign in once per working day.',
  },
  recentSignInMs: {
    default: 15 * 60_000,
    unit: 'milliseconds',
    why: 'A sign-in is recent, as revealing or regenerating a token requires, for this long.',
  },
  statusPage: {
    default: false,
    why: 'Serves `/status` and `/status.json` to everyone, without a sign-in: states, uptime and incidents of all locations.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Days for which an incident is kept. */
  incidentDaysMax: 90,
  /** Connections at once; browsers open up to six each. Further ones are closed. */
  connectionsMax: 1_024,
  /** Requests in flight at once. Further ones are answered 503. */
  requestsInFlightMax: 256,
  /** Headers of one request, including cookies of other services on the same host. */
  headerBytesMax: 16 * 1024,
  /** The largest body is a grant with its lists of networks and locations. */
  bodyBytesMax: 16 * 1024,
  /**
   * From the first byte of a request to its last, so that a slow client cannot hold a connection.
   */
  requestMs: 10_000,
  /** A connection without traffic for this long is closed. */
  idleMs: 30_000,
  /** Time for requests in flight when the process ends. */
  drainMs: 2_000,
  /**
   * The last use of a session is stored at most this often, because each write waits for the disk.
   */
  sessionTouchMs: 60_000,
  /** Sessions of one person, about 300 bytes each. A further one ends the oldest. */
  sessionsPerPersonMax: 16,
  /** How often expired sessions are removed. */
  sessionSweepMs: 600_000,
  /** Time to sign in at the identity provider. */
  signInMs: 10 * 60_000,
  /** Sign-ins of one browser in progress at once, 500 bytes of cookies each. The oldest is lost. */
  signInsPerBrowserMax: 8,
  /** For how long a browser that signed out enters the password at its next sign-in. */
  signedOutMs: 7 * 86_400_000,
  /** Timeout of a request to the identity provider. */
  providerMs: 5_000,
  /** Largest response of the identity provider. */
  providerBytesMax: 256 * 1024,
  /** How often the metadata of the identity provider is fetched again. */
  discoveryMs: 3_600_000,
  /** Changes by one person, or with one API key, at once. Further ones are answered 429. */
  changesBurstMax: 30,
  /** The same in each minute, at a steady rate. */
  changesPerMinuteMax: 30,
  /** Reads with one API key at once, and in each minute: a program that asks once a second. */
  keyRequestsBurstMax: 60,
  keyRequestsPerMinuteMax: 60,
  /**
   * Failed sign-ins, wrong API keys and wrong admin tokens from one address at once. Further ones
   * are answered 429 and are not logged.
   */
  failuresBurstMax: 30,
  /** The same in each minute, at a steady rate. */
  failuresPerMinuteMax: 30,
  /** Persons, API keys, and addresses, whose rates are remembered, about 200 bytes each. */
  rateKeysMax: 16_384,
  /** How often the states of locations are looked at, to record incidents. */
  incidentCheckMs: 1_000,
  /** A location that does not serve for less than this is no incident. */
  incidentMinMs: 2_000,
  /** An incident is over when its location has served for this long. */
  incidentQuietMs: 5_000,
  /** After a start a location that has not served yet is no incident for this long. */
  incidentStartMs: 60_000,
  /** Incidents that are kept, about 200 bytes each; one more removes the oldest. */
  incidentsMax: 1_000,
  /** Sign-ins that wait for the identity provider at once. Further ones are refused as busy. */
  signInsInFlightMax: 64,
}
