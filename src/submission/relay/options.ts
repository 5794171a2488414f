import type { defaults as upstreamDefaults } from '../../upstream/options.js'

/** Options of one relay route of one network. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Appended to each URL, for every method. */
  path: '/api/v1/bundles',
  /** Least sum that one member must pay to the service's tip accounts. */
  serviceTipFloorLamports: 1_000_000,
  /** Least sum that the same member must pay to the engine's tip accounts: Jito's minimum. */
  engineTipFloorLamports: 1_000,
  /** Bundles to the engine over all edges. Jito's default for an address and a region. */
  requestsPerSecondMax: 1,
  /** Bundles at once after a pause. */
  requestsBurstMax: 1,
  /**
   * Longest wait of a bundle for the rate, before -32010; one interval longer for the first of an
   * access that was refused. The access that sent one least recently is next.
   */
  queueMs: 300,
  /** Bundles of one access that wait for the rate at an edge; also status queries, apart. */
  queuedPerAccessMax: 64,
  /** The same of all accesses. */
  queuedMax: 1_024,
  /**
   * Status queries to the engine over all edges, and its tip accounts. An engine that counts them
   * together with bundles must allow the sum of both rates.
   */
  statusesPerSecondMax: 1,
  /** Status queries at once after a pause. */
  statusesBurstMax: 1,
  /**
   * Longest wait of a status query for its rate, before -32005. Each edge sends its own queries, in
   * turn: a turn of five edges at one query a second.
   */
  statusQueueMs: 5_000,
  /** How long an answer to a status query is shared with equal ones. */
  statusSharedMs: 400,
  /** Answers that are shared at an edge, up to `replyBytesMax` each. The oldest is evicted. */
  statusSharedMax: 64,
  /** How often the engine's own tip accounts are compared with the configured ones; 0 is never. */
  tipCheckMs: 60 * 60 * 1000,
}

/** What the engine behind `/relay` has otherwise. */
export const RELAY_PATH = '/iris'

/** What differs for bundle engines from what an edge asks of a lander. */
export const engineDefaults: Partial<typeof upstreamDefaults> = {
  // They offer no ping, and count each request.
  pingPath: '',
  // The longest real answers are the statuses of five bundles, some KiB.
  replyBytesMax: 256 * 1024,
}

/**
 * Programs that are no application (the exempt ones of the tip rule), where none are configured.
 */
export const EXEMPT_PROGRAMS: readonly string[] = [
  '11111111111111111111111111111111',
  'ComputeBudget111111111111111111111111111111',
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'Vote111111111111111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
  'AddressLookupTab1e1111111111111111111111111',
]
