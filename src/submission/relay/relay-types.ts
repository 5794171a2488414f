import type { ErrorName, RpcError } from '../../shared/errors.js'
import type { Grant } from '../../shared/grant.js'
import type { Reply, Request } from '../../shared/http.js'
import type { Log } from '../../shared/log.js'
import type { TransactionChecks } from '../../native/transactions.js'
import type { SubmissionReply } from '../failure.js'
import type { SingleFlight } from '../single-flight/single-flight.js'
import type { SubmissionStore } from '../store/submission-store.js'
import type { Options } from './options.js'
import type { RelayRoute, Submission } from '../store/submission.js'
import type { EngineQueue } from './engine-queue.js'
import type { Upstream } from '../../upstream/client.js'

/** One relay route of one network. */
export type RelayOptions = Options & {
  readonly network: string
  readonly route: RelayRoute
  readonly serviceTipAccounts: readonly string[]
  readonly engineTipAccounts: readonly string[]
}

/** A submission of an access, as a client asks for it. */
export type SubmissionQuery = {
  readonly submissionId: string
  readonly accessId: string
  readonly network: string
}

/** What other machines know of submissions. */
export type PeerSubmissions = {
  /** Resolves in a bounded time; never rejects. */
  find(query: SubmissionQuery): Promise<Submission | undefined>
}

/** What one relay route works with. */
export type RelayModules = {
  readonly checks: Pick<TransactionChecks, 'checkBundle' | 'bundleId'>
  readonly upstream: Pick<Upstream, 'send'>
  /** Bundles that wait for the engine. */
  readonly queue: Pick<EngineQueue, 'enter'>
  /** Status queries that wait for it. */
  readonly statusQueue: Pick<EngineQueue, 'enter'>
  readonly singleFlight: Pick<SingleFlight, 'run'>
  readonly store: Pick<SubmissionStore, 'begin' | 'record' | 'find' | 'has'>
  /** Submissions to the other machines of the location; undefined on a machine by itself. */
  readonly peers?: PeerSubmissions | undefined
  readonly log: Log
  /** Unix milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly meter: RelayMeter
}

/** Counts what happens on one relay route. */
export type RelayMeter = {
  /** A call was answered: with a result, an error of ours, or the engine's error (`refused`). */
  onCall(method: string, outcome: 'ok' | 'refused' | ErrorName): void
  /** A bundle is sent, this long after its whole body arrived. */
  onForward(elapsedMs: number): void
  /** A bundle shares the outcome of the same bundle, which was in flight. */
  onJoined(): void
  /** The engine answered with another id, or other signatures, than the bundle has. */
  onMismatch(): void
}

/** Where a request comes from. */
export type RelayOrigin = {
  readonly grant: Grant
  /** The reply where the access has ended meanwhile. Not asked any more once a bundle is sent. */
  readonly recheck: () => Reply | undefined
  /** Created for this request: on its every reply. */
  readonly submissionId: Uint8Array
  /** Its id is in the log lines of the request. */
  readonly request: Pick<Request, 'id'>
}

/**
 * How a call ends: a result or the engine's error, as JSON; an error of ours; or the engine's whole
 * answer.
 */
export type Outcome =
  { readonly result: string } | { readonly error: string } | RpcError | SubmissionReply

/** An outcome, and the bundle that it belongs to. */
export type CallOutcome = { readonly outcome: Outcome; readonly bundleId?: string | undefined }
