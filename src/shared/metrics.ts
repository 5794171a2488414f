import { readdir, stat } from 'node:fs/promises'
import { collectDefaultMetrics, Gauge as NodeGauge, Registry } from 'prom-client'

/** One metric. Times are in seconds and sizes in bytes, as Prometheus expects them. */
type Row = {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly unit: string
  readonly labels: readonly string[]
  readonly help: string
}

/**
 * Every metric of the service beside those of Node itself. The label `process` is added when the
 * metrics of all processes are joined.
 */
// prettier-ignore
export const METRICS = {
  requests:          { name: 'slotline_requests_total', type: 'counter', unit: 'calls', labels: ['method', 'outcome'], help: 'JSON-RPC calls answered; outcome is ok, upstreamError (the upstream answered an error), or the name of the error' },
  requestSeconds:    { name: 'slotline_request_seconds', type: 'histogram', unit: 'seconds', labels: ['method'], help: 'Time from the whole request body to the reply handed to the socket' },
  httpAborts:        { name: 'slotline_http_aborts_total', type: 'counter', unit: 'requests', labels: [], help: 'Requests whose client left before the reply was written' },
  connectionsClosed: { name: 'slotline_connections_closed_total', type: 'counter', unit: 'connections', labels: ['limit'], help: 'HTTP connections that were closed because they exceeded a limit' },
  refusals:          { name: 'slotline_refusals_total', type: 'counter', unit: 'requests', labels: ['reason'], help: 'Requests refused before any of their calls ran; reason is the failure, or the limit that was exceeded' },
  bodiesInFlight:    { name: 'slotline_bodies_in_flight_bytes', type: 'gauge', unit: 'bytes', labels: [], help: 'Request bodies in memory' },
  repliesInFlight:   { name: 'slotline_replies_in_flight_bytes', type: 'gauge', unit: 'bytes', labels: [], help: 'Replies in memory that their clients have not read yet' },
  sockets:           { name: 'slotline_websockets', type: 'gauge', unit: 'sockets', labels: [], help: 'WebSockets that are open' },
  socketMessages:    { name: 'slotline_websocket_messages_total', type: 'counter', unit: 'messages', labels: [], help: 'Messages received over WebSockets, pings of the protocol left out' },
  socketCloses:      { name: 'slotline_websocket_closes_total', type: 'counter', unit: 'sockets', labels: ['code'], help: 'WebSockets that ended; code is ours where we closed it, else what the client said, 1006 where it said nothing' },
  socketQueued:      { name: 'slotline_websocket_queued_bytes', type: 'gauge', unit: 'bytes', labels: [], help: 'Frames that clients of WebSockets have not taken yet' },
  quicConnections:   { name: 'slotline_quic_connections', type: 'gauge', unit: 'connections', labels: [], help: 'QUIC connections that are open, with a valid token' },
  quicStreams:       { name: 'slotline_quic_streams', type: 'gauge', unit: 'streams', labels: [], help: 'Streams of QUIC that are being received, or whose transaction has no answer yet' },
  quicRefused:       { name: 'slotline_quic_refused_total', type: 'counter', unit: 'handshakes or streams', labels: ['what'], help: 'What was refused of QUIC before a transaction was seen; what is handshakes (too many at once), streams (too many, or too many bytes) or unfinished-streams (too long, or not written in time)' },
  grpcConnections:   { name: 'slotline_grpc_connections', type: 'gauge', unit: 'connections', labels: [], help: 'Connections of gRPC that are open' },
  grpcStreams:       { name: 'slotline_grpc_streams', type: 'gauge', unit: 'streams', labels: [], help: 'Subscriptions of gRPC that are open' },
  grpcUpdates:       { name: 'slotline_grpc_updates_total', type: 'counter', unit: 'messages', labels: [], help: 'Updates sent over gRPC' },
  grpcUpdateBytes:   { name: 'slotline_grpc_update_bytes_total', type: 'counter', unit: 'bytes', labels: [], help: 'Bytes of these updates, before compression' },
  grpcRefused:       { name: 'slotline_grpc_refused_total', type: 'counter', unit: 'calls or connections', labels: [], help: 'Calls of gRPC that were refused before they ran, and connections over a bound' },
  grpcLagged:        { name: 'slotline_grpc_lagged_total', type: 'counter', unit: 'streams', labels: [], help: 'Subscriptions of gRPC that ended because their client took nothing for 10 s, or because they kept old slots in memory' },
  grpcSourceOpen:    { name: 'slotline_grpc_source_open', type: 'gauge', unit: 'streams', labels: ['network', 'commitment'], help: 'Whether the source of a network is read for subscriptions at PROCESSED, or of SubscribeDeshred' },
  grpcSourceOpened:  { name: 'slotline_grpc_source_opened_total', type: 'counter', unit: 'streams', labels: ['network', 'commitment'], help: 'Streams of the source that were opened for these, one at a time' },
  grpcSourceUpdates: { name: 'slotline_grpc_source_updates_total', type: 'counter', unit: 'messages', labels: ['network', 'commitment'], help: 'Updates that the source has sent for these' },
  grpcSourceLosses:  { name: 'slotline_grpc_source_losses_total', type: 'counter', unit: 'losses', labels: ['network', 'commitment'], help: 'Interruptions of the source, each of which ended these subscriptions with DATA_LOSS' },
  grpcResident:      { name: 'slotline_grpc_content_bytes', type: 'gauge', unit: 'bytes', labels: [], help: 'Slots that subscriptions of gRPC have in memory' },
  loopTurnSeconds:   { name: 'slotline_loop_turn_seconds', type: 'histogram', unit: 'seconds', labels: [], help: 'Turns of an edge\'s event loop: from one wait for events to the next' },
  loopTurnMax:       { name: 'slotline_loop_turn_max_seconds', type: 'gauge', unit: 'seconds', labels: ['clock'], help: 'Longest turn since the last scrape; clock is wall, or cpu for the most processor time of one, to 1 ms' },
  certificateEnd:    { name: 'slotline_listener_certificate_end_seconds', type: 'gauge', unit: 'seconds since 1970', labels: ['location', 'file'], help: 'When a certificate ends that a listener uses' },
  certificateRefused: { name: 'slotline_listener_certificate_refused', type: 'gauge', unit: '0 or 1', labels: ['location', 'file'], help: 'Whether its files have changed and cannot be used, so that the listener uses what they were before' },
  queueDepth:        { name: 'slotline_queue_depth', type: 'gauge', unit: 'tasks', labels: ['pool'], help: 'Reads that wait for a thread' },
  submissions:       { name: 'slotline_submissions_total', type: 'counter', unit: 'requests', labels: ['network', 'route', 'outcome'], help: 'Requests answered on submission routes; outcome is forwarded, framing or the name of the error' },
  submissionSeconds: { name: 'slotline_submission_seconds', type: 'histogram', unit: 'seconds', labels: ['network', 'route'], help: 'Time from the whole request body to the reply, the upstream\'s included' },
  submissionErrors:  { name: 'slotline_submission_upstream_errors_total', type: 'counter', unit: 'answers', labels: ['network', 'route'], help: 'Answers of an upstream to submissions and their queries that are errors, by their body or their status' },
  landerFindings:    { name: 'slotline_lander_findings_total', type: 'counter', unit: 'findings', labels: ['network', 'route', 'kind'], help: 'What the checks found in what was forwarded to the lander; kind unchecked counts requests that were answered before they had looked' },
  upstreamRequests:  { name: 'slotline_upstream_requests_total', type: 'counter', unit: 'requests', labels: ['network', 'upstream', 'outcome'], help: 'Requests to an upstream, pings left out; outcome is the class of the status, or why there was no answer' },
  upstreamSeconds:   { name: 'slotline_upstream_seconds', type: 'histogram', unit: 'seconds', labels: ['network', 'upstream'], help: 'Time from a request to an upstream to its whole answer or failure' },
  upstreamInFlight:  { name: 'slotline_upstream_in_flight', type: 'gauge', unit: 'requests', labels: ['network', 'upstream'], help: 'Requests to an upstream that wait for its answer' },
  laneTransactions:  { name: 'slotline_lane_transactions_total', type: 'counter', unit: 'transactions', labels: ['network', 'lane', 'outcome'], help: 'Transactions that were raced, by what became of them on a lane; left-out-<reason> where it was not used' },
  laneSeconds:       { name: 'slotline_lane_seconds', type: 'histogram', unit: 'seconds', labels: ['network', 'lane'], help: 'Time from the first byte of a transaction on a lane to its acceptance' },
  laneState:         { name: 'slotline_lane_state', type: 'gauge', unit: 'lanes', labels: ['network', 'lane', 'state'], help: '1 for the state that a lane is in: up, down, throttled' },
  laneStateSeconds:  { name: 'slotline_lane_state_seconds', type: 'gauge', unit: 'seconds', labels: ['network', 'lane'], help: 'How long a lane has been in its state' },
  laneConnected:     { name: 'slotline_lane_connected', type: 'gauge', unit: 'lanes', labels: ['network', 'lane'], help: '1 while a lane over QUIC is connected; those over HTTP are upstreams' },
  laneConnects:      { name: 'slotline_lane_connects', type: 'gauge', unit: 'connections', labels: ['network', 'lane'], help: 'Connections that a lane over QUIC has opened since the start of the sender' },
  relayCalls:        { name: 'slotline_relay_calls_total', type: 'counter', unit: 'calls', labels: ['network', 'route', 'method', 'outcome'], help: 'Calls answered on relay routes; outcome is ok, refused (the engine\'s own error), or the name of the error' },
  relaySeconds:      { name: 'slotline_relay_forward_seconds', type: 'histogram', unit: 'seconds', labels: ['network', 'route'], help: 'Time from a sendBundle\'s whole body to its first byte towards the engine' },
  relayJoined:       { name: 'slotline_relay_joined_total', type: 'counter', unit: 'bundles', labels: ['network', 'route'], help: 'Bundles answered with the end of the same bundle that was in flight' },
  relayMismatches:   { name: 'slotline_relay_mismatches_total', type: 'counter', unit: 'answers', labels: ['network', 'route'], help: 'Answers of the engine that name another bundle than was sent' },
  relayTipsDiffer:   { name: 'slotline_relay_tips_differ', type: 'gauge', unit: '0 or 1', labels: ['network', 'route'], help: 'Whether the engine\'s own tip accounts are others than the configured ones' },
  relayInFlight:     { name: 'slotline_relay_in_flight', type: 'gauge', unit: 'bundles', labels: [], help: 'Bundles that are forwarded and not yet both answered and stored' },
  submissionStoreRecords: { name: 'slotline_submission_store_records', type: 'gauge', unit: 'submissions', labels: [], help: 'Submissions in the store of this edge' },
  submissionsAwaited: { name: 'slotline_submissions_awaited', type: 'gauge', unit: 'submissions', labels: [], help: 'Sent submissions that are looked for in the index' },
  transactionEnds:   { name: 'slotline_transaction_ends_total', type: 'counter', unit: 'transactions', labels: ['network', 'route', 'state'], help: 'Submitted transactions of which nothing more is expected; state is final, failed, expired, replaced or unseen' },
  landingSeconds:    { name: 'slotline_landing_seconds', type: 'histogram', unit: 'seconds', labels: ['network', 'route'], help: 'Time from a submission to the block of each of its transactions, as the index has it' },
  landingSlots:      { name: 'slotline_landing_slots', type: 'histogram', unit: 'slots', labels: ['network', 'route'], help: 'Slots from the newest one of the index at a submission to the block of each of its transactions' },
  submissionStoreFaults: { name: 'slotline_submission_store_faults_total', type: 'counter', unit: 'faults', labels: [], help: 'Submissions that could not be stored or read' },
  subscriptions:     { name: 'slotline_subscriptions', type: 'gauge', unit: 'subscriptions', labels: ['network'], help: 'Subscriptions that sockets of this edge hold' },
  subscriptionIds:   { name: 'slotline_subscription_ids', type: 'gauge', unit: 'ids', labels: ['network'], help: 'Different subscriptions among them: each frame is made once for an id' },
  notifications:     { name: 'slotline_notifications_total', type: 'counter', unit: 'frames', labels: ['network'], help: 'Notifications made, each of which may go to many sockets' },
  notificationBytes: { name: 'slotline_notification_bytes_total', type: 'counter', unit: 'bytes', labels: ['network'], help: 'Bytes of these notifications' },
  subscribersDropped: { name: 'slotline_subscribers_dropped_total', type: 'counter', unit: 'sockets', labels: ['network'], help: 'Sockets with subscriptions that were closed because slots were missed or the index was replaced' },
  feedDamaged:       { name: 'slotline_feed_damaged_total', type: 'counter', unit: 'reads', labels: ['network'], help: 'Reads of the changes of a slot that failed because the file is damaged' },
  tipSlot:           { name: 'slotline_tip_slot', type: 'gauge', unit: 'slot', labels: ['network'], help: 'Slot that reads reflect' },
  tipAge:            { name: 'slotline_tip_age_seconds', type: 'gauge', unit: 'seconds', labels: ['network'], help: 'Time since the tip last changed' },
  slotTime:          { name: 'slotline_slot_seconds', type: 'gauge', unit: 'seconds', labels: ['network'], help: 'Time of a slot of the chain, by the times of its last blocks' },
  feedLag:           { name: 'slotline_feed_lag_seconds', type: 'gauge', unit: 'seconds', labels: ['network'], help: 'From the server\'s stamp on the newest block to its commit here, by both clocks' },
  feedHealthy:       { name: 'slotline_feed_healthy', type: 'gauge', unit: '0 or 1', labels: ['network'], help: 'Whether the tip follows the chain' },
  feedSource:        { name: 'slotline_feed_source', type: 'gauge', unit: 'index', labels: ['network'], help: 'Server that is read: 0 is `feed.endpoint`, the others are its fallbacks' },
  repairs:           { name: 'slotline_repairs_total', type: 'counter', unit: 'steps', labels: ['network', 'step'], help: 'Repair actions taken; step is replay, source, or the repair step that makes a new store' },
  feedBuffer:        { name: 'slotline_feed_buffer_bytes', type: 'gauge', unit: 'bytes', labels: ['network'], help: 'Updates that wait for their block marker' },
  feedKeptBytes:     { name: 'slotline_feed_kept_bytes', type: 'gauge', unit: 'bytes', labels: ['network'], help: 'Files with what the last slots changed, for cursors and `from_slot`' },
  feedKeptSlots:     { name: 'slotline_feed_kept_slots', type: 'gauge', unit: 'slots', labels: ['network'], help: 'Slots in these files: how far back a cursor and `from_slot` can begin' },
  feedByBank:        { name: 'slotline_feed_by_bank', type: 'gauge', unit: '0 or 1', labels: ['network'], help: 'Whether blocks are assembled by slot and bank; 0: the feed\'s server does not number banks' },
  feedFooters:       { name: 'slotline_feed_footers', type: 'gauge', unit: '0 or 1', labels: ['network'], help: 'Whether block footers are requested; 0: the feed\'s server refuses them' },
  feedDropped:       { name: 'slotline_feed_dropped_total', type: 'counter', unit: 'messages', labels: ['network'], help: 'Messages of banks that the chain did not take' },
  blocksApplied:     { name: 'slotline_blocks_applied_total', type: 'counter', unit: 'blocks', labels: ['network'], help: 'Blocks written to the accounts store' },
  accountsApplied:   { name: 'slotline_accounts_applied_total', type: 'counter', unit: 'accounts', labels: ['network'], help: 'Account changes written to the accounts store' },
  applySeconds:      { name: 'slotline_apply_seconds', type: 'histogram', unit: 'seconds', labels: ['network'], help: 'Time to write one block, the wait for the disk included' },
  sweepCompared:     { name: 'slotline_sweep_compared_total', type: 'counter', unit: 'accounts', labels: ['network'], help: 'Stored accounts compared with the upstream RPC' },
  sweepCorrected:    { name: 'slotline_sweep_corrected_total', type: 'counter', unit: 'accounts', labels: ['network'], help: 'Accounts that the feed had missed a change of, and that the sweep corrected' },
  sweepWaiting:      { name: 'slotline_sweep_waiting', type: 'gauge', unit: 'accounts', labels: ['network'], help: 'Accounts that differ from the upstream and wait for the next block to correct or explain them' },
  sweepDropped:      { name: 'slotline_sweep_dropped_total', type: 'counter', unit: 'accounts', labels: ['network'], help: 'Differences left for the next round because too many wait' },
  sweepFailures:     { name: 'slotline_sweep_failures_total', type: 'counter', unit: 'requests', labels: ['network'], help: 'Requests of the sweep that failed after all tries' },
  sweepRoundSeconds: { name: 'slotline_sweep_round_seconds', type: 'gauge', unit: 'seconds', labels: ['network'], help: 'Duration of the last pass over the whole store' },
  bootstrapRunning:  { name: 'slotline_bootstrap_running', type: 'gauge', unit: '0 or 1', labels: ['network', 'step'], help: 'Whether a bootstrap is at this step' },
  bootstrapDone:     { name: 'slotline_bootstrap_done', type: 'gauge', unit: 'as the step counts', labels: ['network'], help: 'Progress of the bootstrap step, in the unit that slotline status shows' },
  bootstraps:        { name: 'slotline_bootstraps_total', type: 'counter', unit: 'bootstraps', labels: ['network', 'outcome'], help: 'Bootstraps that ended; outcome is done, failed or cancelled' },
  storeComplete:     { name: 'slotline_store_complete', type: 'gauge', unit: '0 or 1', labels: ['network'], help: 'Whether the index has every account; 0: incomplete until a bootstrap has loaded it' },
  storeUsed:         { name: 'slotline_store_used_bytes', type: 'gauge', unit: 'bytes', labels: ['store'], help: 'Pages in use' },
  storeMap:          { name: 'slotline_store_map_bytes', type: 'gauge', unit: 'bytes', labels: ['store'], help: 'Address space of the map: the size that the store cannot outgrow' },
  storeReaders:      { name: 'slotline_store_readers', type: 'gauge', unit: 'reads', labels: ['store'], help: 'Read transactions that are open' },
  storeReaderAge:    { name: 'slotline_store_reader_seconds', type: 'gauge', unit: 'seconds', labels: ['store'], help: 'Time for which the oldest open read has kept pages from being reused' },
  storeReaderLag:    { name: 'slotline_store_reader_lag_transactions', type: 'gauge', unit: 'transactions', labels: ['store'], help: 'Write transactions since the oldest reader began: pages that cannot be reused' },
  storeShortHolders: { name: 'slotline_store_short_holders', type: 'gauge', unit: 'mints', labels: ['store'], help: 'Mints whose row of largest holders is refilled: until then each getTokenLargestAccounts of them scans' },
  leaseSeconds:      { name: 'slotline_lease_seconds', type: 'gauge', unit: 'seconds', labels: [], help: 'How long the lease of a machine of a cluster still lasts; at 0 or below it answers nothing' },
  accessRevision:    { name: 'slotline_access_revision', type: 'gauge', unit: 'revision', labels: [], help: 'Revision of the cluster up to which the access store of this machine has every change' },
  machineCertificateEnd: { name: 'slotline_machine_certificate_end_seconds', type: 'gauge', unit: 'seconds since 1970', labels: [], help: 'When the certificate of a machine of a cluster ends' },
  machineLag:        { name: 'slotline_machine_lag_seconds', type: 'gauge', unit: 'seconds', labels: ['network'], help: 'How far the tip of a network is behind the other machines of the location, as of their last beats: slots by the slot time of the chain' },
  peerCalls:         { name: 'slotline_peer_calls_total', type: 'counter', unit: 'calls', labels: ['machine', 'outcome'], help: 'Calls to another machine of the cluster, by whether it answered or was missing' },
  webhookAttempts:   { name: 'slotline_webhook_attempts_total', type: 'counter', unit: 'attempts', labels: ['outcome'], help: 'Attempts to send warnings, and tests, to webhooks of holders: delivered or failed' },
  processUp:         { name: 'slotline_process_up', type: 'gauge', unit: '0 or 1', labels: ['child'], help: 'Whether the child answered this request; 0: its metrics are those of its last answer' },
  childStuck:        { name: 'slotline_process_stuck_total', type: 'counter', unit: 'processes', labels: ['role'], help: 'Children that were restarted because they answered nothing, or one of their reads stayed open' },
  childRestarts:     { name: 'slotline_process_restarts_total', type: 'counter', unit: 'restarts', labels: ['role'], help: 'Children that ended and were started again' },
  build:             { name: 'slotline_build_info', type: 'gauge', unit: '1', labels: ['version', 'commit', 'node', 'addon'], help: 'What runs: version, commit, version of Node.js, and the first digits of the build id of the addon' },
  loopPriority:      { name: 'slotline_loop_priority', type: 'gauge', unit: '0 or 1', labels: ['state'], help: 'How the event loop of an edge is scheduled: realtime, or why it is not' },
  diskFree:          { name: 'slotline_disk_free_bytes', type: 'gauge', unit: 'bytes', labels: [], help: 'Free space of the disk with the data directory' },
  diskReserve:       { name: 'slotline_disk_reserve_bytes', type: 'gauge', unit: 'bytes', labels: [], help: 'Free space at which indexers stop: store.diskReserveBytes' },
  logDropped:        { name: 'slotline_log_dropped_lines', type: 'gauge', unit: 'lines', labels: [], help: 'Log lines lost since the start because standard output was not read' },
} as const satisfies Record<string, Row>

export type MetricName = keyof typeof METRICS
type NameOf<T extends Row['type']> = {
  [N in MetricName]: (typeof METRICS)[N]['type'] extends T ? N : never
}[MetricName]
export type CounterName = NameOf<'counter'>
export type GaugeName = NameOf<'gauge'>
export type HistogramName = NameOf<'histogram'>

type LabelsOf<N extends MetricName> = Readonly<
  Record<(typeof METRICS)[N]['labels'][number], string>
>
/** The labels of a series; required where the metric has any. */
type Args<N extends MetricName> = (typeof METRICS)[N]['labels'] extends readonly []
  ? []
  : [labels: LabelsOf<N>]

/** Upper bounds of the buckets, from a point read to the longest timeout; in slots from 1 to 30. */
export const BUCKET_SECONDS = Float64Array.of(
  0.000_05,
  0.000_1,
  0.000_25,
  0.000_5,
  0.001,
  0.002_5,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  5,
  10,
  30,
)
const BUCKETS = BUCKET_SECONDS.length

/**
 * Bound of the series of one process. Label values come from fixed tables, so more series mean that
 * one was made from input.
 */
const SERIES_MAX = 4_096

/** A number that only grows. */
export class Counter {
  readonly cells = new Float64Array(1)

  add(count: number): void {
    this.cells[0] = (this.cells[0] ?? 0) + count
  }
}

/** A number that is set. */
export class Gauge {
  readonly cells = new Float64Array(1)

  set(value: number): void {
    this.cells[0] = value
  }
}

/** Counts durations by bucket. */
export class Histogram {
  /** One cell for each bucket, one for longer durations, and the sum. */
  readonly cells = new Float64Array(BUCKETS + 2)

  /** Adds durations that were counted elsewhere, in cells of the same layout. */
  addAll(cells: readonly number[]): void {
    for (const [index, count] of cells.entries())
      this.cells[index] = (this.cells[index] ?? 0) + count
  }

  observe(seconds: number): void {
    const { cells } = this
    let bucket = 0
    // Most reads end in the first buckets, where a loop beats a binary search.
    while (bucket < BUCKETS && seconds > (BUCKET_SECONDS[bucket] ?? Infinity)) bucket++
    cells[bucket] = (cells[bucket] ?? 0) + 1
    cells[BUCKETS + 1] = (cells[BUCKETS + 1] ?? 0) + seconds
  }
}

type Labels = Readonly<Record<string, string>>
/**
 * One series at one moment; `cells` as its class lays them out. JSON has no NaN: there it is null.
 */
type Sample = {
  readonly metric: MetricName
  readonly labels: Labels
  readonly cells: readonly (number | null)[]
}
/** A metric of Node itself, as prom-client gives it. */
type NodeMetric = {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly {
    readonly name: string
    readonly labels: Labels
    readonly value: number | null
  }[]
}

/** The metrics of one process at one moment: plain data that survives JSON. */
export type MetricsSnapshot = {
  readonly process: string
  readonly samples: readonly Sample[]
  readonly node: readonly NodeMetric[]
}

/** The metrics of one process. Get each series once, at the start, and keep it. */
export type Metrics = {
  counter<N extends CounterName>(name: N, ...labels: Args<N>): Counter
  gauge<N extends GaugeName>(name: N, ...labels: Args<N>): Gauge
  histogram<N extends HistogramName>(name: N, ...labels: Args<N>): Histogram
  /** Runs `collect` before each snapshot, to read values that are not counted as they change. */
  beforeSnapshot(collect: () => void): void
  snapshot(): Promise<MetricsSnapshot>
}

const toLabels = (labels: Readonly<Record<string, string | number | undefined>>): Labels =>
  Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]))

const DESCRIPTORS = '/proc/self/fd'

const countDescriptors = async (): Promise<number> => {
  const { size } = await stat(DESCRIPTORS)
  // Linux before 6.2 gives no size. The one that lists them is among them.
  return size > 0 ? size : (await readdir(DESCRIPTORS)).length - 1
}

/**
 * In place of prom-client's, which lists the descriptors on the event loop: 10,000 take 10 ms, in
 * each second.
 */
const replaceOpenDescriptors = (registry: Registry): void => {
  const name = 'process_open_fds'
  const known = registry.getSingleMetric(name)
  // Only where the system has them.
  if (known === undefined) return
  registry.removeSingleMetric(name)
  const gauge: NodeGauge = new NodeGauge({
    name,
    help: 'Number of open file descriptors.',
    registers: [registry],
    // A process that may open no more keeps its last figure.
    collect: (): Promise<void> =>
      countDescriptors().then(
        count => gauge.set(count),
        () => undefined,
      ),
  })
}

/**
 * Made for the first snapshot: prom-client samples the event loop each 10 ms, which takes 1 % of a
 * processor in each process, also if nobody asks for its metrics.
 */
const collectNodeMetrics = (): Registry => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  replaceOpenDescriptors(registry)
  return registry
}

/** Metrics of the process that carries this name (`edge 0`, `indexer main` …). */
export const createMetrics = (process: string): Metrics => {
  const series = new Map<string, { metric: MetricName; labels: Labels; cells: Float64Array }>()
  const handles = new Map<string, Counter | Gauge | Histogram>()
  const collectors: (() => void)[] = []
  let registry: Registry | undefined

  const find = <T extends Counter | Gauge | Histogram>(
    Kind: new () => T,
    metric: MetricName,
    labels: Labels = {},
  ): T => {
    const key = JSON.stringify([metric, ...METRICS[metric].labels.map(label => labels[label])])
    const known = handles.get(key)
    if (known instanceof Kind) return known
    if (series.size >= SERIES_MAX) throw new Error(`over ${SERIES_MAX} series; the last was ${key}`)
    const handle = new Kind()
    handles.set(key, handle)
    series.set(key, { metric, labels: { ...labels }, cells: handle.cells })
    return handle
  }

  return {
    counter: (name, ...[labels]) => find(Counter, name, labels),
    gauge: (name, ...[labels]) => find(Gauge, name, labels),
    histogram: (name, ...[labels]) => find(Histogram, name, labels),
    beforeSnapshot: collect => void collectors.push(collect),
    snapshot: async () => {
      for (const collect of collectors) collect()
      const samples = Array.from(series.values(), one => ({ ...one, cells: [...one.cells] }))
      registry ??= collectNodeMetrics()
      const node = Array.from(await registry.getMetricsAsJSON(), metric => ({
        name: metric.name,
        help: metric.help,
        type: String(metric.type),
        values: metric.values.map(sample => ({
          // A histogram's values carry their own names, which prom-client's types do not say.
          name: 'metricName' in sample ? String(sample.metricName) : metric.name,
          labels: toLabels(sample.labels),
          value: sample.value,
        })),
      }))
      return { process, samples, node }
    },
  }
}

const escapeLabel = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')

const formatLabels = (labels: Labels): string =>
  `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeLabel(value)}"`)
    .join(',')}}`

const formatValue = (value: number | null | undefined): string =>
  value === null || value === undefined || Number.isNaN(value)
    ? 'NaN'
    : value === Infinity
      ? '+Inf'
      : value === -Infinity
        ? '-Inf'
        : String(value)

/** A line of one series. */
export const formatSeries = (name: string, labels: Labels, value: number): string =>
  `${name}${formatLabels(labels)} ${formatValue(value)}`

const formatSample = (row: Row, labels: Labels, cells: readonly (number | null)[]): string[] => {
  if (row.type !== 'histogram')
    return [`${row.name}${formatLabels(labels)} ${formatValue(cells[0])}`]
  const lines: string[] = []
  let count = 0
  for (let bucket = 0; bucket <= BUCKETS; bucket++) {
    count += cells[bucket] ?? 0
    const le = bucket < BUCKETS ? String(BUCKET_SECONDS[bucket]) : '+Inf'
    lines.push(`${row.name}_bucket${formatLabels({ ...labels, le })} ${count}`)
  }
  lines.push(`${row.name}_sum${formatLabels(labels)} ${formatValue(cells[BUCKETS + 1])}`)
  lines.push(`${row.name}_count${formatLabels(labels)} ${count}`)
  return lines
}

/** All processes in Prometheus' text format, each series with the label `process`. */
export const formatMetrics = (snapshots: readonly MetricsSnapshot[]): string => {
  const lines: string[] = []
  for (const [metric, row] of Object.entries(METRICS)) {
    lines.push(`# HELP ${row.name} ${row.help}`, `# TYPE ${row.name} ${row.type}`)
    for (const { process, samples } of snapshots)
      for (const sample of samples)
        if (sample.metric === metric)
          lines.push(...formatSample(row, { process, ...sample.labels }, sample.cells))
  }
  const node = new Map<string, { head: string[]; lines: string[] }>()
  for (const { process, node: metrics } of snapshots)
    for (const { name, help, type, values } of metrics) {
      const head = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
      const joined = node.get(name) ?? { head, lines: [] }
      node.set(name, joined)
      for (const { name: series, labels, value } of values)
        joined.lines.push(`${series}${formatLabels({ process, ...labels })} ${formatValue(value)}`)
    }
  for (const { head, lines: joined } of node.values()) lines.push(...head, ...joined)
  return `${lines.join('\n')}\n`
}
