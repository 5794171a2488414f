/** Webhooks of alerts. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** How often the rules of each access with a webhook are looked at. */
  checkMs: 30_000,
  /** Accesses that are looked at at once: each asks every machine of a cluster. */
  checksInFlightMax: 4,
  /** At most one message of a rule for each webhook in this time. */
  perKindMs: 3_600_000,
  /** Attempts to send a message, the first one included. Then it has failed. */
  attemptsMax: 9,
  /** From a failed first attempt to the second one; each further wait is four times as long. */
  retryMs: 5_000,
  /** The longest of these waits. With the defaults the last attempt is after 10 h. */
  retryMsMax: 4 * 3_600_000,
  /** Longest wait for an answer of a name server. */
  resolveMs: 3_000,
  /** Longest wait for a connection, with TLS. */
  connectMs: 3_000,
  /** Longest time of an attempt, from the look-up of its name to the head of the answer. */
  sendMs: 10_000,
  /** Messages on the way at once, one for each webhook. Further ones wait. */
  inFlightMax: 32,
  /** The same of one person, so that slow receivers of one delay nobody else. */
  inFlightPerPersonMax: 4,
  /** The same of one access, so that a slow receiver does not delay its other ones. */
  inFlightPerAccessMax: 2,
  /** Bytes of an answer's headers; of its body as many are read, and not looked at. */
  answerBytesMax: 16 * 1024,
  /**
   * Messages of a webhook that are shown, 200 bytes each, and 2 KiB while it is to be sent: with
   * eight webhooks a third of what an access may have. One more removes the oldest.
   */
  messagesMax: 20,
  /** Warnings in one message, about 250 bytes each. */
  warningsMax: 8,
  /** Characters of a URL. */
  urlCharsMax: 2_048,
  /** Permits http, and https, to this machine itself; for a sandbox only. */
  allowLoopback: false,
}
