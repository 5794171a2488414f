import type { ErrorName, RpcError } from '../../shared/errors.js'
import type { Grant } from '../../shared/grant.js'
import type { Reply, Request } from '../../shared/http.js'
import type { Log } from '../../shared/log.js'
import type { TransactionChecks } from '../../native/transactions.js'
import type { Flights } from '../single-flight/single-flight.js'
import type { Flight } from '../store/submission-store.js'
import type { Options } from './options.js'
import type { RelayRoute, Submission } from '../store/submission.js'
import type { TokenBucket } from './token-bucket.js'
import type { Upstream } from '../../upstream/client.js'

/** One relay route of one network. */
export type RelayOptions = Options & {
  readonly network: string
  readonly route: RelayRoute
  readonly serviceTipAccounts: readonly string[]
  readonly engineTipAccounts: readonly string[]
}

/** What the relay keeps its submissions in. */
export type Book = {
  /** Records a submission that is about to be sent; undefined where too many are in flight. */
  begin(id: Uint8Array, submission: Submission): Flight | undefined
  record(id: Uint8Array, submission: Submission): void
  /** A submission of any edge of the machine. */
  find(id: Uint8Array): Promise<Submission | undefined>
}

/** What one relay route is made of. */
export type RelayModules = {
  readonly checks: Pick<TransactionChecks, 'checkBundle'>
  readonly upstream: Pick<Upstream, 'send'>
  readonly bucket: TokenBucket
  readonly flights: Flights
  readonly book: Book
  readonly log: Log
  /** Unix milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly meter: RelayMeter
}

/** Told what happens on one relay route. */
export type RelayMeter = {
  /**
   * A call was answered: with a result, with an error of ours, or with the engine's (`refused`).
   */
  onCall(method: string, outcome: 'ok' | 'refused' | ErrorName): void
  /** A bundle is sent, so long after its whole body was here. */
  onForward(elapsedMs: number): void
  /** A bundle shares the answer of one that was in flight. */
  onJoined(): void
  /** The engine answered with another id, or other signatures, than the bundle has. */
  onMismatch(): void
}

/** Where a request comes from. */
export type RelayOrigin = {
  readonly grant: Grant
  /**
   * The refusal to send where the access has ended meanwhile. What is forwarded must not ask any
   * more.
   */
  readonly recheck: () => Reply | undefined
  /** Made for this request: on its every answer. */
  readonly submissionId: Uint8Array
  /** Its id stands in its log lines. */
  readonly request: Pick<Request, 'id'>
}

/**
 * How a call ends: a result or the engine's error, as JSON; an error of ours; or the engine's whole
 * answer.
 */
export type Outcome =
  { readonly result: string } | { readonly error: string } | RpcError | { readonly reply: Reply }

/** An outcome, and the bundle that it is of. */
export type Answer = { readonly outcome: Outcome; readonly bundleId?: string | undefined }
