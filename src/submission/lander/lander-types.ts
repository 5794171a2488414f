import type { TransactionChecks } from '../../native/transactions.js'
import type { ErrorName } from '../../shared/errors.js'
import type { Grant } from '../../shared/grant.js'
import type { Reply } from '../../shared/http.js'
import type { SenderClient } from '../link/sender-client.js'
import type { LanderRoute } from '../store/submission.js'
import type { FindingKind, UNCHECKED } from './findings.js'
import type { SendEncoding } from './send-params.js'

/** How a request of a lander route ended. */
export type LanderOutcome =
  'forwarded' | 'repeated' | 'framing' | 'refused' | 'no-sender' | ErrorName

/** Counts what happens on one network's lander routes. */
export type LanderMeter = {
  /**
   * A request was answered: `forwarded`, whatever the upstream said, `framing` for a malformed
   * batch, `repeated` where it was sent before, `refused` where its access ended meanwhile,
   * `no-sender` while there is none, or an error.
   */
  onEnd(route: LanderRoute, outcome: LanderOutcome, elapsedMs: number): void
  /** `unchecked`: the reply was sent before the findings. Those are counted as well, later. */
  onFinding(route: LanderRoute, kind: FindingKind | typeof UNCHECKED): void
}

/** What one network's lander routes work with. */
export type LanderModules = {
  readonly network: string
  readonly sender: Pick<SenderClient, 'call' | 'record'>
  /** The reply while there is no sender. */
  readonly noSender: Reply
  readonly newId: () => Uint8Array
  /** Value of accessVersion. */
  readonly version: () => number
  readonly checks: TransactionChecks
  readonly meter: LanderMeter
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Of a call: see `MessageLimits`. */
  readonly nestingMax: number
}

/** The reply where an access has ended since its request was admitted. */
export type Recheck = () => Reply | undefined

/** Who submits. */
export type LanderOrigin = { readonly grant: Grant; readonly recheck: Recheck }

/** How a body has its one transaction, and what is asked for. */
export type TransactionForm = {
  readonly encoding: SendEncoding
  /** Of a transaction that is raced. */
  readonly race?: RaceForm
}

export type RaceForm = {
  /** Only by lanes that protect it. */
  readonly isProtected: boolean
  /** The reply to an accepted one says what became of each lane. */
  readonly isJson: boolean
}
