/** Bounds of what one process asks of one upstream. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Where the credential goes: header or query. */
  credentialIn: 'header',
  /** Name of that header, or of that parameter of the query. */
  credentialName: 'x-api-key',
  /** Asked for with GET on each warm connection, so that it stays open. Empty asks for nothing. */
  pingPath: '/ping',
  /**
   * Pause between two pings. Clients of landers ping each 30 s; a third of that also tells soon
   * that a region is back.
   */
  pingMs: 10_000,
  /**
   * Connections to each URL that pings keep open. One more is opened when both are in use, and
   * costs a round trip.
   */
  warmCount: 2,
  /**
   * Time for the look-up of the name, TCP and TLS; then the next URL is tried. Far regions take 0.3
   * s.
   */
  connectMs: 1_000,
  /**
   * From the first byte written to the last byte of the answer. Clients of landers wait 3 to 5 s.
   */
  answerMs: 5_000,
  /**
   * The event loop stays awake for an answer up to this long, microseconds, at most half of the
   * time, where answers of late came sooner and fewer edges than cores leave others one. To be
   * woken takes some 20 µs. 0 is never.
   */
  lookOutMicros: 500,
  /**
   * An idle connection is closed after this. Servers that say no Keep-Alive close theirs after 60 s
   * and more.
   */
  idleMs: 30_000,
  /**
   * A URL that failed comes after all others for this long, or until a ping succeeds: longer than a
   * ping and its end.
   */
  restMs: 15_000,
  /**
   * Requests under way, each with a connection of its own. One more is refused: nothing waits in a
   * queue.
   */
  inFlightMax: 256,
  /**
   * A longer answer counts as none. The longest real ones are some KiB: the statuses of five
   * bundles.
   */
  replyBytesMax: 1024 ** 2,
}
