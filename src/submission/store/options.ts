/** Bounds of the ledger that each edge keeps of its submissions. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Forwarded submissions that are kept, about 1 KB each: at 100 bundles a minute, the last 16
   * hours.
   */
  forwardedMax: 100_000,
  /**
   * Submissions that a check refused; apart, so that a flood of them drives out no forwarded one.
   */
  invalidMax: 20_000,
  /**
   * Older ones are removed: seven days, the time in which somebody asks what became of a bundle.
   */
  ageMsMax: 7 * 24 * 60 * 60 * 1000,
  /**
   * Submissions that may be in flight at once at an edge, 4 KiB each; one more is answered with
   * -32010.
   */
  inFlightMax: 1_024,
  /**
   * A bundle that is not answered after this is shown by other edges, too. Most are answered
   * before.
   */
  pendingMs: 50,
  /**
   * Records that may wait for the disk. While it stalls, what a check refused is not recorded
   * beyond that.
   */
  waitingMax: 4_096,
  /**
   * Address space of the map, set once and sparse: the records above, the longest that they can be.
   */
  mapBytes: 2 * 1024 ** 3,
  /** Read slots: one for each edge and control, with room for tools and for dead ones. */
  readersMax: 512,
  /** What is over the bounds is removed this often. */
  pruneMs: 250,
  /** Records removed at once, about 5 µs each on the event loop: 2,000 a second. */
  pruneCountMax: 512,
  /**
   * A bundle that is in flight at another edge: pause between two looks at what that edge has
   * stored.
   */
  followPollMs: 2,
  /**
   * Beyond the time-outs of a flight, what storing its end may take. Then it is nobody's: its edge
   * has stopped.
   */
  followGraceMs: 5_000,
  /**
   * A submission that was just made at another edge may not be stored yet: `getSubmission` looks
   * again this long.
   */
  findMs: 100,
  /**
   * Records of each edge and table that the dashboard looks through for one access's newest: some
   * 20 ms of control.
   */
  recentMax: 5_000,
}
