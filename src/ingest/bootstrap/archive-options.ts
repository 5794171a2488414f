/**
 * Bounds of a snapshot archive and of its transfer. An archive comes from a stranger: each bound
 * ends its reading.
 */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Bytes of one file of accounts in an archive. Validators make none larger than this, and refuse
   * to.
   */
  storageBytesMax: 16 * 1024 ** 3,
  /** Files in an archive: some for each slot of the last days. Validators refuse to unpack more. */
  membersMax: 5_000_000,
  /**
   * Bytes of an archive when it is unpacked, which it never is at once: mainnet had about 0.4 TB in
   * 2026.
   */
  unpackedBytesMax: 64 * 1024 ** 4,
  /**
   * Time for TCP and TLS of a transfer to come up. A far server needs under 1 s; more is an outage.
   */
  connectMs: 10_000,
  /**
   * No byte of a transfer for this long: it counts as broken. A busy disk answers within seconds.
   */
  silenceMs: 60_000,
  /** Redirects that are followed in a row. Validators send one, a balancer before them another. */
  redirectsMax: 5,
  /** Tries in a row that bring nothing worth mentioning, before a transfer is given up. */
  attemptsMax: 8,
  /**
   * What is worth mentioning: where so much more came than at the last break, the tries are counted
   * anew. A second or two of a good line; a line that breaks more often than this takes days.
   */
  worthwhileBytes: 64 * 1024 ** 2,
  /** First pause between two tries; each further one is twice as long. */
  backoffInitialMs: 500,
  /** Longest pause, also where a server asks for a longer one by Retry-After. */
  backoffMaxMs: 30_000,
  /**
   * Bytes that are fetched ahead of the reading: what a load of many accounts takes in some 100 ms.
   */
  aheadBytesMax: 16 * 1024 ** 2,
}
