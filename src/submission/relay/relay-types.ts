import type { ErrorName, RpcError } from '../../shared/errors.js'
import type { Grant } from '../../shared/grant.js'
import type { Reply, Request } from '../../shared/http.js'
import type { Id } from '../../shared/jsonrpc.js'
import type { Log } from '../../shared/log.js'
import type { TransactionChecks } from '../../native/transactions.js'
import type { SubmissionReply } from '../failure.js'
import type { SendResult, SingleFlight } from '../single-flight.js'
import type { SubmissionStore } from '../store/submission-store.js'
import type { Options } from './options.js'
import type { FoundSubmission, RelayRoute, Submission } from '../store/submission.js'
import type { EngineQueue } from './engine-queue.js'
import type { Upstream } from '../../upstream/client.js'
import type { UpstreamFailure } from '../../upstream/errors.js'
import type { UpstreamReply } from '../../upstream/reply.js'

/** One relay route of one network at an edge. */
export type RelayOptions = Pick<Options, 'serviceTipFloorLamports' | 'engineTipFloorLamports'> & {
  readonly network: string
  readonly route: RelayRoute
  readonly serviceTipAccounts: readonly string[]
  readonly engineTipAccounts: readonly string[]
}

/** One relay route of one network in the sender. */
export type SendOptions = Pick<Options, 'path' | 'tipCheckMs'> &
  Pick<RelayOptions, 'network' | 'route' | 'engineTipAccounts'>

/** A submission of an access, as a client asks for it. */
export type SubmissionQuery = {
  /** Its id, or the signature of one of its transactions. */
  readonly key: string
  readonly accessId: string
  readonly network: string
}

/** A query about bundles. */
export type StatusQuery = {
  readonly method: string
  readonly bundleIds: readonly string[]
  /** Of the call, as JSON. */
  readonly id: Id
  readonly accessId: string
}

/** What other machines know of submissions. */
export type PeerSubmissions = {
  /** Resolves in a bounded time; never rejects. */
  find(query: SubmissionQuery): Promise<FoundSubmission | undefined>
}

/** A bundle that passed every check, as an edge hands it to the sender. */
export type CheckedBundle = {
  readonly submissionId: Uint8Array
  /** Milliseconds of the clock of the machine, `bootMs`. */
  readonly startMs: number
  readonly transactions: readonly string[]
  readonly bundleId: string
  /** The record as it would be if the bundle were forwarded now. */
  readonly pending: Submission
  /** The accessVersion under which the edge has admitted it. */
  readonly version: number
}

/** Whether what was admitted under a version of accesses may be sent now. */
export type MayStart = (version: number) => boolean | Promise<boolean>

/**
 * The sender as one relay route of an edge calls it. Each call rejects with an UpstreamFailure if
 * there is no sender, or it ends with the call.
 */
export type RelaySender = {
  /** `isEnded`: whether the access has ended; asked if accesses have changed meanwhile. */
  send(bundle: CheckedBundle, isEnded: () => boolean): Promise<SendResult>
  /** Why there is no answer, or the engine's. */
  askStatuses(query: StatusQuery): Promise<UpstreamReply | UpstreamFailure['kind']>
  find(query: SubmissionQuery): Promise<FoundSubmission | undefined>
  /** Records a submission that a check refused. */
  record(id: Uint8Array, submission: Submission): void
}

/** What one relay route of an edge works with. */
export type RelayModules = {
  readonly checks: Pick<TransactionChecks, 'checkBundle' | 'bundleId'>
  readonly sender: RelaySender
  /** The reply while there is no sender. */
  readonly noSender: Reply
  /** Value of accessVersion. */
  readonly version: () => number
  readonly log: Log
  /** Unix milliseconds. */
  readonly now: () => number
  /** `bootMs`. */
  readonly clock: () => number
  /** A call was answered: with a result, an error of ours, or the engine's error (`refused`). */
  readonly onCall: (method: string, outcome: 'ok' | 'refused' | ErrorName) => void
}

/** What one relay route of the sender works with. */
export type SendModules = {
  readonly upstream: Pick<Upstream, 'send'>
  /** Bundles that wait for the engine. */
  readonly queue: Pick<EngineQueue, 'enter'>
  /** Status queries that wait for it. */
  readonly statusQueue: Pick<EngineQueue, 'enter'>
  readonly singleFlight: Pick<SingleFlight, 'run'>
  readonly store: Pick<SubmissionStore, 'begin' | 'record'>
  /** The newest slot of the index of its network. */
  readonly tipSlot: () => number | undefined
  readonly log: Log
  /** Unix milliseconds. */
  readonly now: () => number
  /** `bootMs`. */
  readonly clock: () => number
  readonly meter: SendMeter
}

/** Counts what is sent for one relay route. */
export type SendMeter = {
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
