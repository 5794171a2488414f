import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/**
 * Bounds of a snapshot archive and of its transfer. An archive is untrusted input: each bound
 * ends its reading.
 */
export type Options = Readonly<typeof defaults>

export const options = {
  membersMax: {
    default: 5_000_000,
    unit: 'count',
    why: 'Files in an archive: some for each slot of the last days. Validators refuse to unpack more.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /**
   * Unpacked bytes of an archive, which is never unpacked at once: mainnet had about 0.4 TB in
   * 2026.
   */
  unpackedBytesMax: 64 * 1024 ** 4,
  /** Bytes of one file of accounts in an archive. Validators make none larger, and refuse one. */
  storageBytesMax: 16 * 1024 ** 3,
  /** Time for TCP and TLS of a transfer. A distant server needs under 1 s; more is an outage. */
  connectMs: 10_000,
  /** A transfer without a byte for this long is broken. A busy disk answers within seconds. */
  silenceMs: 60_000,
  /**
   * Redirects that are followed in a row. Validators send one, a balancer in front of them another.
   */
  redirectsMax: 5,
  /** Attempts in a row without progress (`worthwhileBytes`) before a transfer is given up. */
  attemptsMax: 8,
  /**
   * Bytes that count as progress and reset the attempts: a second or two of a good connection. One
   * that breaks more often than this takes days.
   */
  worthwhileBytes: 64 * 1024 ** 2,
  /** First pause between two attempts; each further one is twice as long. */
  backoffInitialMs: 500,
  /** Longest pause, even if a server requests a longer one by Retry-After. */
  backoffMaxMs: 30_000,
  /** Bytes fetched ahead of the reader: what a load of many accounts reads in some 100 ms. */
  aheadBytesMax: 16 * 1024 ** 2,
}
