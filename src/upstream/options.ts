import { credentialOptions } from '../shared/options/credential.js'
import { type Declaration, defaultsOf } from '../shared/options/declaration.js'

/** Bounds of what one process asks of one upstream. */
export type Options = Readonly<typeof defaults>

export const options = {
  ...credentialOptions,
  pingPath: {
    default: '/ping',
    why: 'Requested with GET on each warm connection, so that it stays open. Empty sends no pings.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Of HTTP. With 2, requests are streams of one connection, two at most. */
  httpVersion: '1.1' as string,
  /**
   * From the first byte written to the last byte of the answer. Clients of landers wait 3 to 5 s.
   */
  answerMs: 5_000,
  /**
   * Pause between two pings. Landers expect a ping each 30 s; a third of that also detects early
   * that a region is back.
   */
  pingMs: 10_000,
  /**
   * Connections to each URL that pings keep open. When all are in use another one is opened, which
   * costs a round trip.
   */
  warmCount: 2,
  /**
   * Time for DNS, TCP and TLS, to half a second; then the next URL is tried. Far regions take
   * 0.3 s.
   */
  connectMs: 1_000,
  /**
   * An idle connection is closed after this. Servers that send no Keep-Alive header close theirs
   * after 60 s or more.
   */
  idleMs: 30_000,
  /**
   * A URL that failed is tried last for this long, or until a ping succeeds: longer than a ping and
   * its time-out.
   */
  restMs: 15_000,
  /**
   * Requests in flight, each on its own connection. One more is refused: there is no queue.
   */
  inFlightMax: 256,
  /**
   * A longer answer counts as no response. The longest real ones are some KiB: the statuses of five
   * bundles.
   */
  replyBytesMax: 1024 ** 2,
}
