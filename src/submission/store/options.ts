import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/** Bounds of the store of submissions. */
export type Options = Readonly<typeof defaults>

export const options = {
  forwardedMax: {
    default: 100_000,
    unit: 'count',
    why: 'Forwarded submissions that are kept, about 1 KB each: at 100 bundles a minute, the last 16 hours.',
  },
  landerMax: {
    default: 100_000,
    unit: 'count',
    why: 'Submissions of the lander routes that were forwarded, with a bound of their own.',
  },
  ageMsMax: {
    default: 7 * 24 * 60 * 60 * 1000,
    unit: 'milliseconds',
    why: 'Older submissions are removed. No client is expected to ask for one after seven days.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Submissions that may be in flight at once, 4 KiB each. One more is answered with -32010. */
  inFlightMax: 1_024,
  /** Address space of the map, set once and sparse: all kept records at their longest. */
  mapBytes: 2 * 1024 ** 3,
  /**
   * Submissions that a check refused. They have a bound of their own, so that many of them never
   * evict forwarded ones.
   */
  invalidMax: 20_000,
  /** Submissions of the lander routes that a check refused. */
  landerInvalidMax: 20_000,
  /** Submissions of one access that are kept of each of these kinds. */
  accessMax: 25_000,
  /**
   * A bundle without an answer after this is stored as pending, so that other processes can read
   * it.
   */
  pendingMs: 50,
  /**
   * Records that may wait for the disk. Above it, submissions that a check refused are not
   * recorded.
   */
  bufferedMax: 4_096,
  /** Records of lander routes and refusals wait this long for others to be stored with. */
  gatherMs: 20,
  /** Such records whose writes one turn of the event loop starts: 30 to 90 µs each. */
  gatherCountMax: 16,
  /**
   * How a bundle ended, and what a block brought, waits for so long: subscribers and who asks for a
   * submission wait for it, too.
   */
  landedGatherMs: 5,
  /** Events that are kept of one access, about 200 bytes each: five for a submission. */
  eventsAccessMax: 50_000,
  /** And of all: above it, the access with the most of them loses its oldest. */
  eventsMax: 500_000,
  /**
   * Reader slots: control's, with room for tools and for processes that died.
   */
  readersMax: 512,
  /**
   * Pause between two removals of records above the bounds. Expired records are removed after a
   * write to their table, and otherwise every 40th time.
   */
  pruneMs: 250,
  /** Records removed at once, about 5 µs each on the event loop: 2,000 a second. */
  pruneCountMax: 512,
  /** A new submission of another machine may not be stored yet: it is read again for this long. */
  findMs: 100,
  /**
   * Records of a kind that the dashboard searches before it lets its other work run: about
   * 3 ms.
   */
  recentMax: 2_000,
  /** Longest search of the dashboard for one page, which then continues with the next one. */
  searchMs: 1_000,
  /** Submissions in one export of the dashboard, about 1 KB each. */
  exportMax: 10_000,
  /** Longest search for one export, which then says where it continues. */
  exportMs: 10_000,
  /** Pause between two look-ups of sent transactions in the index, beside those at each block. */
  landingPollMs: 1_000,
  /** Submissions that are looked for in the index at once; of others it is not known. */
  awaitedMax: 20_000,
  /**
   * Longest search for a transaction in the index. A blockhash expires after 150 blocks, within a
   * minute on any chain; a durable nonce does not.
   */
  awaitedMs: 600_000,
}
