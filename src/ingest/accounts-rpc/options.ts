import { credentialOptions } from '../../shared/options/credential.js'
import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/** Bounds of reading accounts from an upstream RPC. */
export type Options = Readonly<typeof defaults>

/** How account data may come. */
export const DATA_ENCODINGS = ['base64', 'base64+zstd'] as const

export const options = {
  ...credentialOptions,
  encoding: {
    default: 'base64' as (typeof DATA_ENCODINGS)[number],
    words: DATA_ENCODINGS,
    why: 'Encoding of account data: base64, or base64+zstd, which is smaller and not supported by every provider.',
  },
  isPaged: {
    default: false,
    why: "Request a program's accounts in pages by getProgramAccountsV2, where the provider has it.",
  },
  requestsPerSecondMax: {
    default: 10,
    unit: 'requests',
    max: 10_000,
    why: 'Requests a second, one after the other: below the limit of the smallest plans.',
  },
  splitOffset: {
    default: 8,
    unit: 'bytes',
    min: 0,
    max: 1024 ** 2,
    why: "Offset of the bytes by which a program's accounts are split: after an 8-byte discriminator. Token programs: 0.",
  },
  sweepKeysPerSecond: {
    default: 100,
    unit: 'addresses',
    min: 0,
    max: 100_000,
    why: 'Stored accounts compared with the upstream per second; 0 disables the sweep. A million take 2.8 hours.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Addresses of one getMultipleAccounts: the maximum of providers. */
  keysPerCallMax: 100,
  /** Time until the response begins. A scan of a large program takes a node up to a minute. */
  answerBeginMs: 120_000,
  /** Requests of one bootstrap. At ten a second that many take a day. */
  requestsMax: 1_000_000,
  /** Longest prefix by which a program's accounts are split: 16.7 million parts. */
  splitPrefixBytesMax: 3,
  /** Accounts of one page. Providers return up to 10,000. */
  pageRowsMax: 5_000,
  /** Time for DNS, TCP and TLS. */
  connectMs: 10_000,
  /** Without a byte of a response that has begun for this long, it is broken. */
  silenceMs: 30_000,
  /** Uncompressed bytes of one response. They are not kept; this ends an endless one. */
  answerBytesMax: 256 * 1024 ** 3,
  /** Attempts of one request. With the pauses between them about a minute. */
  attemptsMax: 8,
  /** Attempts of one request that seems too large for the provider, before it is split. */
  slowAttemptsMax: 2,
  /** First pause after a failure; each further one is twice as long. */
  backoffInitialMs: 500,
  /** Longest pause that is not requested by the provider. */
  backoffMaxMs: 30_000,
  /** Longest Retry-After that is respected. */
  retryAfterMsMax: 120_000,
  /** Slots by which two nodes behind one address may differ, for responses without a slot. */
  slackSlots: 32,
  /** Wait for the provider to reach the first slot of the feed; a longer one has stopped. */
  reachSlotMs: 60_000,
  /** Account data of one request of the sweep: bounds the memory of a response. */
  sweepBytesMax: 4 * 1024 ** 2,
  /** Corrections that wait for the next block. */
  sweepWaitingBytesMax: 64 * 1024 ** 2,
  /** Pause after a failed request of the sweep. */
  sweepPauseMs: 10_000,
}
