import { memoryBytes } from '../../storage/store-options.js'
import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'
import type { FeedHealth, FeedListeners, FeedSource } from './source.js'

/** Which feed to read. */
export type Target = {
  /** `http://host:port` or `https://host:port`. */
  readonly endpoint: string
  /** Sent as metadata `x-token`; in no event and no error. */
  readonly xToken?: string
  /** PEM of a private certificate authority, in place of the system's. */
  readonly caCertificatePem?: string
  /**
   * Where an empty store begins. Absent: the live head, whose first complete block becomes the
   * base.
   */
  readonly startSlot?: number
  /** In place of the feed's, where this server allows another. */
  readonly plan?: Plan
}

/** What is requested of transactions, from nothing to everything. */
export const TRANSACTIONS = [
  'none',
  'status',
  'logs',
  'logsAndVotes',
  'full',
  'fullAndVotes',
  'fullAndEntries',
] as const
export type Transactions = (typeof TRANSACTIONS)[number]

/** The ways to ask for accounts. */
export const PLANS = ['auto', 'blocks', 'accounts', 'scoped', 'narrow'] as const
export type Plan = (typeof PLANS)[number]

/** The most that a feed of all of mainnet brings, uncompressed; docs/operations/sizing.md. */
export const MAINNET_BYTES_PER_SECOND = 225_000_000

export type Options = Readonly<typeof defaults>

/** Bounds of reading a feed. */
export const options = {
  plan: {
    default: 'auto' as Plan,
    words: PLANS,
    why: "How accounts are requested. `blocks` (whole blocks) and `accounts` (every account) are exact. `scoped`: the scope's accounts, and every closed account. `narrow`: the scope's accounts, and the transactions of its programs. `auto` is `accounts` without a scope and `scoped` with one.",
  },
  transactions: {
    default: 'logs' as Transactions,
    words: TRANSACTIONS,
    why: 'What is requested of transactions: signature subscriptions need outcomes, log subscriptions need logs, transaction subscriptions need all of it. Votes, where a chain still has them, are included with logsAndVotes, fullAndVotes and fullAndEntries only, and the entries of blocks with the last; logs make the feed several times larger, and whole transactions are some KB each, so that `store.feedBytesMax` keeps fewer slots.',
  },
  blockSilenceMs: {
    default: 10_000,
    unit: 'milliseconds',
    why: 'Without a block for this long: unhealthy, and the next server is asked. A third of the life of a blockhash (150 slots of 200 ms), so that two servers can be left before the last one of the index ends.',
  },
  bufferBytesMax: {
    default: 0,
    unit: 'bytes',
    max: 2 ** 40,
    why: 'Bytes in memory of all incomplete slots, and as many of complete ones that wait for the writer. Over it: reconnect. 0 is 10 s of all of mainnet at 225 MB/s, but at most an eighth of the memory; it is always at least 11 MiB, so that an account fits.',
  },
  decodeBytesMax: {
    default: 64 * 1024 ** 2,
    unit: 'bytes',
    min: 11 * 1024 ** 2,
    max: 2 ** 40,
    why: "Largest single message. An account is up to 10 MiB, and gRPC's own limit is 4 MiB.",
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** What the native reader has by itself, for code that knows no machine. */
  bufferBytesMax: 512 * 1024 ** 2,
  /** Threads of the reader's runtime: one for the socket's frames, one for decoding. */
  threads: 2,
  /** Offer zstd to the server, which may ignore it. Account data shrinks to a quarter. */
  acceptZstd: true,
  /**
   * Time for TCP, TLS and HTTP/2. A distant provider needs under 1 s; more is an outage, and two
   * attempts take as long as `blockSilenceMs`.
   */
  connectTimeoutMs: 5_000,
  /** HTTP/2 keep-alive. Shorter than the idle limit of common load balancers. */
  keepaliveIntervalMs: 15_000,
  /** A peer that does not answer a keep-alive within this time is lost. */
  keepaliveTimeoutMs: 10_000,
  /** First pause after a failure: longer than a server's restart of its listener. */
  backoffInitialMs: 500,
  /** Multiplies the pause after each further failure without a block in between. */
  backoffFactor: 2,
  /** Longest pause after an ordinary failure: one request in ten seconds harms no server. */
  backoffMaxMs: 10_000,
  /**
   * Pause after a failure that waiting does not repair (gap, refusal). Each attempt costs a replay.
   */
  backoffLongMs: 30_000,
  /**
   * Failures in a row, without a block in between, that make the feed unhealthy. Five are about 8
   * s.
   */
  failuresMax: 5,
  /** Replays that may try to close one gap before the feed is unhealthy. */
  gapAttemptsMax: 3,
  /**
   * Complete blocks that wait for an earlier one before that is a gap. It is a count, because
   * servers send parents first; old versions send a status some blocks late.
   */
  reorderBlocksMax: 4,
  /**
   * Waiting blocks in one commit when the writer is behind. More are cheaper together, but readers
   * see none of them before the last: this many take a second or two.
   */
  groupBlocksMax: 64,
  /**
   * Bytes of the same; a larger block is committed alone. Their pages fit the writer's memory at
   * once.
   */
  groupBytesMax: 128 * 1024 ** 2,
  /** HTTP/2 window of the stream: bytes in flight, so 16 MiB allow 50 MB/s over 300 ms. */
  windowBytes: 16 * 1024 ** 2,
  /** Time to finish the current commit at shutdown. Less than the 15 s of a drain. */
  stopTimeoutMs: 10_000,
}

/** Holds an account of 10 MiB. */
const BUFFER_BYTES_MIN = 11 * 1024 ** 2
const BUFFER_SECONDS = 10

/** Bytes of incomplete slots that a feed may hold, with so many bytes of memory. */
export const bufferBytesOf = (
  { bufferBytesMax }: Pick<Options, 'bufferBytesMax'>,
  memory: number = memoryBytes(),
): number => {
  const largest = Math.min(BUFFER_SECONDS * MAINNET_BYTES_PER_SECOND, Math.floor(memory / 8))
  return Math.max(BUFFER_BYTES_MIN, bufferBytesMax || largest)
}

/**
 * An event of the native reader. Members that a kind does not use are 0, empty or absent.
 */
export type GeyserEvent = {
  /**
   * `connected`, `footersRefused`, `server`, `serverLosesUpdates`, `committed`, `disconnected`,
   * `gap`, `unhealthy` or `healthy`.
   */
  readonly kind: string
  readonly text: string
  /** `unhealthy` only: `unreachable`, `refused`, `stalled`, `gap` or `store`. */
  readonly cause: string
  readonly slot?: number | null | undefined
  readonly blockHeight: number
  readonly accounts: number
  readonly applyMicros: number
  readonly feedLagMs?: number | null | undefined
  readonly bufferedBytes: number
  /** `connected` only. */
  readonly hasFooters: boolean
  readonly isByBank: boolean
  readonly dropped: number
  readonly retryInMs: number
}

/** What this part needs of the store's one writer. */
export type GeyserIndexer = {
  startFeed(options: Target & Options, onEvent: (event: GeyserEvent) => void): void
  stopFeed(): void
}

const STARTING: FeedHealth = { isHealthy: false, reason: 'the feed has not brought a block yet' }
const HEALTHY: FeedHealth = { isHealthy: true }

/**
 * Reads a Yellowstone feed into the indexer's store until it is stopped. The accounts it asks for
 * are those of the store's scope. Throws if an option could not work; a feed that cannot be
 * reached is an event.
 */
export const startGeyser = (
  indexer: GeyserIndexer,
  options: Target & Options,
  on: FeedListeners,
): FeedSource => {
  let health: FeedHealth = STARTING
  const setHealth = (next: FeedHealth): void => {
    health = next
    on.health(next)
  }
  let isByBank: boolean | undefined
  const logAssembly = (event: GeyserEvent): void => {
    if (event.isByBank === isByBank) return
    isByBank = event.isByBank
    const text = isByBank
      ? 'blocks are assembled by slot and bank'
      : 'blocks are assembled by slot: the server does not number banks'
    on.log({ level: 'info', text })
  }
  // The native names are used unchanged; an unknown one is of a newer addon, and its text is for
  // the log.
  const onEvent = (event: GeyserEvent): void => {
    switch (event.kind) {
      case 'committed':
        logAssembly(event)
        return on.committed({
          slot: event.slot ?? 0,
          blockHeight: event.blockHeight,
          accountCount: event.accounts,
          applyMicros: event.applyMicros,
          lagMs: event.feedLagMs ?? undefined,
          bufferedBytes: event.bufferedBytes,
          isByBank: event.isByBank,
          droppedCount: event.dropped,
        })
      case 'connected':
        on.footers(event.hasFooters)
        return on.log({ level: 'info', text: `feed connected from ${describeStart(event.slot)}` })
      case 'footersRefused':
        return on.log({
          level: 'warn',
          text: `feed connects without block footers, which its server may not allow: ${event.text}`,
        })
      case 'server':
        return on.log({ level: 'info', text: `the feed's server is ${event.text}` })
      case 'serverLosesUpdates':
        return on.log({
          level: 'error',
          text: `the feed's server is ${event.text}, which loses account updates: ask for yellowstone-grpc-geyser 14.2.2 or later`,
        })
      case 'disconnected':
        on.log({
          level: 'warn',
          text: `feed disconnected, next try in ${event.retryInMs} ms: ${event.text}`,
        })
        return on.interrupted(event.text)
      case 'gap':
        return on.log({ level: 'warn', text: event.text })
      case 'unhealthy':
        on.log({ level: 'error', text: `feed unhealthy: ${event.text}` })
        return setHealth({ isHealthy: false, reason: event.text, cause: event.cause })
      case 'healthy':
        on.log({ level: 'info', text: 'feed healthy' })
        return setHealth(HEALTHY)
      default:
        return on.log({ level: 'warn', text: `feed ${event.kind}: ${event.text}` })
    }
  }
  indexer.startFeed({ ...options, bufferBytesMax: bufferBytesOf(options) }, onEvent)
  return { health: () => health, stop: () => indexer.stopFeed() }
}

const describeStart = (slot: number | null | undefined): string =>
  slot === null || slot === undefined ? 'the live head' : `slot ${slot}`
