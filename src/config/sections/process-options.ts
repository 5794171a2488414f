import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/** Bounds of starting, watching and ending the processes of one machine. */
export const options = {
  edgeCount: {
    default: 0,
    unit: 'count',
    max: 252,
    why: "Edges that share each port; 0 is one less than the machine's cores, and at least one.",
  },
  edgeRealtime: {
    default: true,
    why: 'The event loop of an edge is a realtime thread while it has time to spare, where the system allows it (root, CAP_SYS_NICE, or LimitRTPRIO=1 of systemd) and there are fewer edges than cores. Other threads of the machine then do not delay a request.',
  },
  disableCpuIdle: {
    default: false,
    why: 'Keeps idle processors out of sleep states (/dev/cpu_dma_latency, root): waking one takes 30 to 50 µs, which a submission pays several times. Off, because it costs power all the time: on for a machine that does nothing else.',
  },
  startMs: {
    default: 30_000,
    unit: 'milliseconds',
    why: 'Longest time until every child is ready; after it the start has failed. The same for a process that replaces another one: after it the reload has failed.',
  },
  drainMs: {
    default: 20_000,
    unit: 'milliseconds',
    why: 'From SIGTERM to exit. Requests in flight have this time, less what the other processes need to end. A process that is replaced has the same.',
  },
  drainNoticeMs: {
    default: 7_000,
    unit: 'milliseconds',
    why: 'From failing `/health` to closing the ports, so that a balancer stops sending first: three checks at an interval of 2 s, the default of HAProxy. A reload needs no notice.',
  },
  bodyBytesMax: {
    default: 8 * 1024 ** 2,
    unit: 'bytes',
    why: 'Longest JSON body: about 180,000 addresses of getMultipleAccounts, which has no limit of its own.',
  },
  tipAgeMaxMs: {
    default: 15_000,
    unit: 'milliseconds',
    why: '`/health` is 503 when the newest block is older than this: half of the life of a blockhash, so that clients leave while theirs can still land.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /**
   * Where it is no realtime thread: the time slice that it asks for, shorter than the default of
   * about 3,000, so that it is scheduled before threads with a longer one. Linux accepts 100 to
   * 100,000 since 6.12; 0 changes nothing.
   */
  edgeSliceMicros: 100,
  /**
   * Wait before a child that ended is started again; doubles up to `restartMaxMs`. A killed edge
   * answers again within 2 s.
   */
  restartFirstMs: 100,
  /** Longest wait between starts: a child that cannot start must not keep a core busy. */
  restartMaxMs: 5_000,
  /** The same for a child that had been ready, so that it answers again within 2 s every time. */
  restartReadyMaxMs: 500,
  /** A child that ran for this long starts again after `restartFirstMs`. */
  restartSettledMs: 10_000,
  /** How often the supervisor reads requests of `slotline reload` and `slotline upgrade`. */
  changePollMs: 200,
  /**
   * Unsent bytes in a socket's send buffer; more is buffered, and bounded, in the edge. Without
   * this limit a client that does not read could fill 4 MB of kernel memory undetected. 1 ms at
   * 1 Gbit/s.
   */
  unsentBytesMax: 128 * 1024,
  /**
   * Descriptors of an edge that its connections leave free for upstreams, stores and files; at most
   * half of those that the system allows it. What is left bounds `server.connectionsMax`.
   */
  descriptorsReserved: 1_024,
  /**
   * Longest submission: four transactions of 4,096 bytes in base64 are 22 KB, a full batch is
   * 20 KB. A batch that is slightly too long still gets the error of its record.
   */
  submissionBytesMax: 64 * 1024,
  /** Longest message of a WebSocket; a longer one closes it with 1009. About 20,000 addresses. */
  socketFrameBytesMax: 1024 ** 2,
  /** Calls of one WebSocket in flight; a further one is `overloaded`. */
  socketCallsMax: 256,
  /**
   * Replies in memory until WebSocket clients read them, in bytes of the whole edge. An access may
   * take no more of it than it leaves free.
   */
  socketRepliesBytesMax: 256 * 1024 ** 2,
  /**
   * Bytes of messages over a limit that a WebSocket may send without a pause; then it is closed
   * with 1013. Their number halves every `socketFailuresHalveMs`.
   */
  socketRefusedBytesMax: 16 * 1024 ** 2,
  /**
   * Refused messages of an access within `socketPauseMs`; then its WebSockets are not read for this
   * time, so that refusals cost the other clients nothing. Each 4 KiB of a message counts, up
   * to 64 KiB, and frames that are no message count too.
   */
  socketRefusedMax: 64,
  /** See `socketRefusedMax`: 640 refusals in a second take about 5 ms of it. */
  socketPauseMs: 100,
  /**
   * Failing subscribes and unsubscribes of a WebSocket in a row that are answered without a delay;
   * those over a limit of the access are counted too.
   */
  socketFailuresFreeMax: 3,
  /** Delay of the answer to the next one; it doubles up to `socketFailureWaitLongMs`. */
  socketFailureWaitMs: 100,
  /** Longest of these delays: web3.js sends each failing subscribe once in this time. */
  socketFailureWaitLongMs: 5_000,
  /**
   * Delayed answers of one WebSocket, about 300 bytes each; at the bound the oldest is sent. More
   * than a client has subscriptions that fail.
   */
  socketFailuresWaitingMax: 1_024,
  /** The number of failures of a WebSocket halves at this interval. */
  socketFailuresHalveMs: 10_000,
  /**
   * Shortest time between two `ping` notifications of one WebSocket: clients send one every 5 s. An
   * earlier one is a refused message without an answer.
   */
  socketPingMs: 1_000,
  /** How often open WebSockets are checked for the end of their access. */
  socketCheckMs: 500,
  /**
   * How often edges read the tip, the live store's name and `accessVersion`, in case a message
   * was lost.
   */
  tipPollMs: 200,
  /**
   * Longest wait of a revocation for each edge to confirm it. One that does not is pinged,
   * and restarted where it does not answer within `answerMs`.
   */
  accessConfirmMs: 500,
  /**
   * Longest wait for such an edge to confirm it or to end; after it the revocation fails with
   * `notConfirmed`.
   */
  accessEndMs: 5_000,
  /** How often each child process is asked whether it answers: often against `hungMs`. */
  pingMs: 1_000,
  /**
   * A child process that has answered nothing for this long is stopped or stuck, and is restarted:
   * longer than any turn of its event loop.
   */
  hungMs: 5_000,
  /** Longest wait for the metrics of all processes; the missing ones keep their last values. */
  metricsMs: 1_000,
  /** How often open reads of each store are checked: a tenth of `store.readerSecondsMax`. */
  readersCheckMs: 1_000,
  /**
   * An edge whose read is open for too long, or that has not confirmed a change of accesses, must
   * answer within this, or it is restarted.
   */
  answerMs: 2_000,
  /** How often the slots of stale readers are freed. */
  staleReadersMs: 10_000,
}
