/** Bounds of reading accounts from an upstream RPC. */
export type Options = Readonly<typeof defaults>

/** How account data may come. */
export const DATA_ENCODINGS = ['base64', 'base64+zstd'] as const

export const defaults = {
  /** Where the credential goes: header or query. */
  credentialIn: 'header',
  /** Name of that header, or of that parameter of the query. */
  credentialName: 'x-api-key',
  /**
   * How account data comes: base64, or base64+zstd, which not every provider knows and which is
   * smaller.
   */
  encoding: 'base64' as (typeof DATA_ENCODINGS)[number],
  /**
   * Ask for a program's accounts by getProgramAccountsV2, page by page, where the provider has it.
   */
  isPaged: false,
  /** Accounts of one such page. Providers give up to 10,000. */
  pageRowsMax: 5_000,
  /** Addresses of one getMultipleAccounts: what providers take at most. */
  keysPerCallMax: 100,
  /** Requests a second, one after the other: below what the smallest plans allow. */
  requestsPerSecondMax: 10,
  /** Time for the look-up of the name, TCP and TLS. */
  connectMs: 10_000,
  /** Until the answer begins. A scan of a large program takes a node up to a minute. */
  answerBeginMs: 120_000,
  /** No byte of an answer that has begun for this long: it is broken. */
  silenceMs: 30_000,
  /** Bytes of one answer, unpacked. They pass through; this ends one that would never. */
  answerBytesMax: 256 * 1024 ** 3,
  /** Tries of one request, of which the first is one. With the pauses between about a minute. */
  attemptsMax: 8,
  /** Tries of one request that seems too large for the provider, before it is split. */
  slowAttemptsMax: 2,
  /** First pause after a failure; each further one is twice as long. */
  backoffInitialMs: 500,
  /** Longest pause of our own. */
  backoffMaxMs: 30_000,
  /** Longest Retry-After that is waited for. */
  retryAfterMsMax: 120_000,
  /**
   * Where the bytes lie by which a program's accounts are split: after an 8-byte discriminator.
   * Token programs: 0.
   */
  splitOffset: 8,
  /** Bytes of a prefix, at most: three make 16.7 million parts. */
  splitPrefixBytesMax: 3,
  /** Requests of one bootstrap. At ten a second that many take a day. */
  requestsMax: 1_000_000,
  /**
   * Slots that two nodes behind one address may be apart, for answers that do not say their slot.
   */
  slackSlots: 32,
  /**
   * Wait for the provider to reach the first slot of the feed: longer is a provider that has
   * stopped.
   */
  reachSlotMs: 60_000,
  /**
   * Stored accounts compared with the upstream, a second; 0 is no sweep. A million take 2.8 hours.
   */
  sweepKeysPerSecond: 100,
  /** Account data of one such request: bounds the memory of an answer. */
  sweepBytesMax: 4 * 1024 ** 2,
  /** Corrections that wait for the next block. */
  sweepWaitingBytesMax: 64 * 1024 ** 2,
  /** Pause after a failed request of the sweep: it is in no hurry. */
  sweepPauseMs: 10_000,
}
