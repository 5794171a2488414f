import { type Declaration, defaultsOf } from '../shared/options/declaration.js'

/** Bounds of a machine in a cluster. */
export type Options = Readonly<typeof defaults>

export const options = {
  leaseMs: {
    default: 6_000,
    unit: 'milliseconds',
    why: 'Longest time for which a machine answers without a new proof that its accesses are current, and so the longest wait of a revocation for a machine that cannot be reached. At least three times `beatMs`, at most half of `processes.startMs`. With etcd members over 20 ms apart: 10,000.',
  },
  beatMs: {
    default: 1_000,
    unit: 'milliseconds',
    why: 'How often a machine proves that its accesses are current; it also does after each change.',
  },
  waitMs: {
    default: 10_000,
    unit: 'milliseconds',
    why: 'Longest wait of a change that takes something away; then it is answered 202 with when the lease of the last machine will have ended. Longer than the default lease.',
  },
  lagMaxMs: {
    default: 2_000,
    unit: 'milliseconds',
    why: "How far a tip may be behind the other machines of its location, as of their last beats: the slots between them, by the chain's slot time. A late block or a pause of a process makes no machine unhealthy.",
  },
  peerMs: {
    default: 300,
    unit: 'milliseconds',
    why: 'Longest wait for an answer of another machine; then it is missing from a sum. A first call needs three round trips: for machines over 80 ms apart 1,000.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Longest wait for an answer of etcd; then its next member is called. */
  callMs: 1_500,
  /** Wait before a broken connection to etcd is tried again. */
  retryMs: 200,
  /**
   * Longest wait of a change that only grants something until the machines of its locations know
   * of it.
   */
  announceMs: 1_000,
  /** How often a change is tried again that another change of the same access came before. */
  attemptsMax: 8,
  /**
   * Accesses whose use this machine reports to others each `beatMs`, 50 bytes each. Of more in use
   * those are reported that were used the most; the requests of the others are reported later.
   */
  usedAccessesMax: 2_000,
  /** Longest debt of an access to other machines, as time at its rate; more is not charged. */
  debtMsMax: 60_000,
  /** Accesses in one answer of etcd when all are read: about 2 MB. */
  pageAccessesMax: 1_000,
  /** Longest text of an access with its tokens: etcd accepts 1.5 MiB in one change. */
  accessBytesMax: 1024 ** 2,
  /**
   * Clocks of two machines that differ by more are reported. No lease depends on them; accesses end
   * by the clock of each machine.
   */
  clockSkewMs: 10_000,
  /**
   * A tip that is further behind for this long fails `/health`. With a beat and two checks of a
   * balancer it is less than 3 s.
   */
  lagMs: 1_000,
  /** The wait of `peerMs` for usage by day, which is read from compressed files of some MB. */
  peerDaysMs: 5_000,
  /** Calls to each other machine in flight at once; for further ones it is missing. */
  peerCallsMax: 64,
  /** Longest answer of another machine: 200 submissions of about 1 KB each, with much room. */
  peerAnswerBytesMax: 4 * 1024 ** 2,
  /**
   * Connections of other machines at once: 20 of them with 12 each. Further ones are closed. Half
   * of them may be without a whole handshake; then the oldest such is closed.
   */
  peerConnectionsMax: 256,
}
