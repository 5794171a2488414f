import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'
import type { defaults as upstreamDefaults } from '../../upstream/options.js'

/** Options of one relay route of one network. */
export type Options = Readonly<typeof defaults>

export const options = {
  path: { default: '/api/v1/bundles', why: 'Appended to each URL, for every method.' },
  serviceTipFloorLamports: {
    default: 1_000_000,
    unit: 'lamports',
    min: 0,
    why: "Least sum that one member must pay to the service's tip accounts.",
  },
  engineTipFloorLamports: {
    default: 1_000,
    unit: 'lamports',
    min: 0,
    why: "Least sum that the same member must pay to the engine's tip accounts: Jito's minimum.",
  },
  requestsPerSecondMax: {
    default: 1,
    unit: 'requests',
    max: 1_000_000,
    why: "Bundles to the engine. Jito's default for an address and a region.",
  },
  requestsBurstMax: {
    default: 1,
    unit: 'requests',
    max: 1_000_000,
    why: 'Bundles at once after a pause.',
  },
  queueMs: {
    default: 300,
    unit: 'milliseconds',
    min: 0,
    max: 60_000,
    why: 'Longest wait of a bundle for the rate, before -32010; one interval longer for the first of an access that was refused. The access that sent one least recently is next.',
  },
  statusesPerSecondMax: {
    default: 1,
    unit: 'requests',
    max: 1_000_000,
    why: 'Status queries to the engine, and its tip accounts. An engine that counts them together with bundles must allow the sum of both rates.',
  },
} satisfies Declaration

/** Programs that are no application (the exempt ones of the tip rule). */
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

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  exemptPrograms: EXEMPT_PROGRAMS,
  /** Bundles of one access that wait for the rate; also status queries, apart. */
  queuedPerAccessMax: 64,
  /** The same of all accesses. */
  queuedMax: 1_024,
  /** Status queries at once after a pause. */
  statusesBurstMax: 1,
  /** Longest wait of a status query for its rate, before -32005. */
  statusQueueMs: 5_000,
  /** How long an answer to a status query is shared with equal ones. */
  statusSharedMs: 400,
  /** Answers that are shared, up to `replyBytesMax` each. The oldest is evicted. */
  statusSharedMax: 64,
  /** How often the engine's own tip accounts are compared with the configured ones; 0 is never. */
  tipCheckMs: 60 * 60 * 1000,
}

/** What the engine behind `/relay` has otherwise. */
export const RELAY_PATH = '/iris'

/** What differs for bundle engines from what is asked of a lander. */
export const engineDefaults: Partial<typeof upstreamDefaults> = {
  // They offer no ping, and count each request.
  pingPath: '',
  // The longest real answers are the statuses of five bundles, some KiB.
  replyBytesMax: 256 * 1024,
}
