import type { UpstreamModules } from '../../upstream/named-upstream.js'
import type { Options } from './options.js'

/** How a lane writes a transaction, and what its peer answers. Each is one file. */
export const LANE_KINDS = [
  'jsonrpc',
  'json',
  'octets',
  'frame',
  'text',
  'quic-frame',
  'quic-tpu',
] as const
export type LaneKind = (typeof LANE_KINDS)[number]

/** A lane as it is configured. */
export type LaneConfig = Options & {
  readonly id: string
  readonly kind: LaneKind
  readonly url: string
  readonly credential?: string | undefined
  readonly tipAddresses: readonly string[]
}

/** How one transaction ended on a lane: of an acceptance, and of what was only written. */
export type LaneEnd = {
  readonly outcome: 'accepted' | 'written' | 'refused' | 'full' | 'unreachable' | 'unknown'
  /** Monotonic milliseconds of the first byte; null where none was written. */
  readonly writtenMs: number | null
  /** Of an acceptance: whether the answer had the signature of the transaction. */
  readonly hasSignature: boolean
  /** The status of the answer; null where there is none. */
  readonly status: number | null
  /** The beginning of the answer, or why there is none, without any key of the service. */
  readonly words: string
}

/** Characters of an answer that are kept. */
export const WORDS_CHARS_MAX = 128

export type SignedTransaction = { readonly bytes: Buffer; readonly signature: string }

/** A way to one upstream with one key. */
export type Lane = {
  /** Whether it cannot be written to at the moment. */
  isDown(): boolean
  /** Whether its peer has answered when it was tried last, or before that was long ago. */
  isReachable(): boolean
  /**
   * Sends a transaction at most once. A warm lane writes it within this turn of the event loop, or
   * has another thread do so. Rejects only for a fault of the service.
   */
  send(transaction: SignedTransaction): Promise<LaneEnd>
  /** Transactions that wait for their answers. */
  inFlight(): number
  /** Ends what is in flight. */
  close(): Promise<void>
}

/** What a lane is opened with. */
export type LaneParts = UpstreamModules & { readonly network: string }
