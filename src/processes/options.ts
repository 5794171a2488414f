/** Bounds of starting, watching and ending the processes of one machine. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Edges that share each port; 0 is one less than the machine's cores, and at least one. */
  edgeCount: 0,
  /**
   * An edge's event loop that has time to spare runs before every ordinary thread of the machine,
   * where the system allows it (root, CAP_SYS_NICE, or LimitRTPRIO=1 of systemd) and fewer edges
   * than cores leave the others one. Busy neighbours then cost a request nothing.
   */
  edgeRealtime: true,
  /**
   * Where it is no realtime thread: the turn of the processor that an edge's event loop asks for,
   * shorter than others' (about 3,000), so that a request need not wait until theirs ends. Linux
   * takes 100 to 100,000, from 6.12 on; 0 leaves it as it is.
   */
  edgeSliceMicros: 100,
  /**
   * Keeps idle processors out of sleep states (/dev/cpu_dma_latency, root): waking one takes 30 to
   * 50 µs, which a submission pays several times. Off, because it costs power all the time: on for a
   * machine that does nothing else.
   */
  disableCpuIdle: false,
  /**
   * Wait before a child that ended is started again; doubles up to `restartMaxMs`. A killed edge is
   * back within 2 s.
   */
  restartFirstMs: 100,
  /** Longest wait between starts: a child that cannot start must not keep a core busy. */
  restartMaxMs: 5_000,
  /**
   * The same for a child that had been ready: one that is killed again and again is still back
   * within 2 s.
   */
  restartReadyMaxMs: 500,
  /** A child that lived this long starts again after `restartFirstMs`. */
  restartSettledMs: 10_000,
  /** From the start of the service to the last child's readiness; then the start has failed. */
  startMs: 30_000,
  /**
   * From SIGTERM to exit. Requests in flight have this long to finish, less what the other
   * processes need.
   */
  drainMs: 15_000,
  /** From failing `/health` to closing the port, so that a balancer looks away first. */
  drainNoticeMs: 500,
  /**
   * Bytes that the kernel takes for one client and has not sent; what comes after is bounded here.
   * Without it a client that does not read would take 4 MB of the kernel before anybody saw that. 1
   * ms at 1 Gbit/s.
   */
  unsentBytesMax: 128 * 1024,
  /**
   * Bound of a JSON body: about 180,000 addresses of getMultipleAccounts, which has no cap of its
   * own.
   */
  bodyBytesMax: 8 * 1024 ** 2,
  /**
   * Bound of a submission: four transactions of 4,096 bytes in base64 are 22 KB, a full batch is 20
   * KB. What is a little too long for a batch is still told by its record.
   */
  submissionBytesMax: 64 * 1024,
  /**
   * Bound of one message of a WebSocket; over it the socket is closed with 1009. About 20,000
   * addresses.
   */
  socketFrameBytesMax: 1024 ** 2,
  /** Messages of one WebSocket that wait for their answers; a further one is `overloaded`. */
  socketCallsMax: 256,
  /**
   * Replies to WebSockets that were read to their end and wait for their clients, over the whole
   * edge.
   */
  socketRepliesBytesMax: 256 * 1024 ** 2,
  /**
   * Messages over a limit that a WebSocket may send without a pause; then it is closed with 1013.
   */
  socketRefusedBytesMax: 16 * 1024 ** 2,
  /** How often open WebSockets are compared with the clock: they end with their access. */
  socketCheckMs: 500,
  /**
   * Edges look at the tip, the store's name and `accessVersion` this often, also where a message
   * was lost.
   */
  tipPollMs: 200,
  /**
   * A revocation waits this long for each edge to confirm it; one that does not is ended, and
   * started again.
   */
  accessConfirmMs: 500,
  /**
   * The end of an edge takes no longer than this, or the call that waits for it fails with
   * `notConfirmed`.
   */
  accessEndMs: 5_000,
  /** `/health` is 503 when the newest block has come in longer ago than this. */
  tipAgeMaxMs: 15_000,
  /** Wait for the metrics of all processes, before the page goes out without the missing ones. */
  metricsMs: 1_000,
  /** Open reads of each store are looked at this often: a tenth of `store.readerSecondsMax`. */
  readersCheckMs: 1_000,
  /** A process whose read is open for too long must answer within this, or it is ended. */
  answerMs: 2_000,
  /** Slots of dead readers are freed this often. */
  staleReadersMs: 10_000,
}
