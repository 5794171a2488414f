import type { UpstreamFailure } from '../../upstream/errors.js'
import type { UpstreamReply } from '../../upstream/reply.js'
import type { CheckedBundle, StatusQuery, SubmissionQuery } from '../relay/relay-types.js'
import type { RememberedTransaction, SentAnswer } from '../lander/sent-transactions.js'
import type { RaceTerms } from '../race/race-lane.js'
import type { SendResult } from '../single-flight.js'
import type { FoundSubmission, LanderRoute, RelayRoute, Submission } from '../store/submission.js'

/** A request of a lander route whose form is right. */
export type LanderRequest = {
  /** Of the submission. */
  readonly id: Uint8Array
  readonly network: string
  readonly route: LanderRoute
  readonly from: Pick<Submission, 'accessId' | 'tokenId' | 'location'>
  /** Unix milliseconds. */
  readonly receivedAtMs: number
  readonly body: Uint8Array
  /** Of the transaction, where the route is `/send` or `/race`. */
  readonly signature?: string
  /** Of a transaction that is raced. */
  readonly race?: RaceTerms
  /** The accessVersion under which the edge has admitted it. */
  readonly version: number
}

/** What is known of the transactions of a request of a lander route, once they are checked. */
export type LanderKnowledge = Partial<Submission>

/** What an edge asks of the sender. Each call is answered once. */
export type Calls = {
  readonly bundle: {
    readonly network: string
    readonly route: RelayRoute
    readonly bundle: CheckedBundle
  }
  readonly statuses: {
    readonly network: string
    readonly route: RelayRoute
    readonly query: StatusQuery
  }
  readonly find: { readonly query: SubmissionQuery }
  readonly forward: LanderRequest
}

/** How the sender answers. */
export type Answers = {
  readonly bundle: SendResult
  readonly statuses: UpstreamReply | UpstreamFailure['kind']
  readonly find: FoundSubmission | undefined
  /**
   * `ended`: nothing was sent, because the access has ended meanwhile. A SentAnswer where the route
   * is `/send` or `/race`.
   */
  readonly forward: UpstreamReply | SentAnswer | UpstreamFailure['kind'] | 'ended'
}

export type CallKind = keyof Calls

/** From an edge to the sender. */
export type ToSender =
  | {
      readonly [K in CallKind]: { readonly kind: K; readonly call: number; readonly of: Calls[K] }
    }[CallKind]
  /** A submission that a check refused, or with which another sender has ended. */
  | { readonly kind: 'record'; readonly id: Uint8Array; readonly submission: Submission }
  /** To a call `forward`. */
  | { readonly kind: 'checked'; readonly call: number; readonly known: LanderKnowledge }
  /** The answer to `recheck`. */
  | { readonly kind: 'rechecked'; readonly call: number; readonly isEnded: boolean }

/** From the sender to an edge. */
export type ToEdge =
  /** The first message. A sender that was killed may still be connected to, and never sends it. */
  | { readonly kind: 'open' }
  | { readonly kind: 'answer'; readonly call: number; readonly answer: Answers[CallKind] }
  /** The sender has failed at the call, whose outcome is not known. */
  | { readonly kind: 'failed'; readonly call: number }
  /** The body of a call `forward` is being written to the lander. */
  | { readonly kind: 'sent'; readonly call: number }
  /** Accesses have changed since the call: has its own ended? */
  | { readonly kind: 'recheck'; readonly call: number }
  /**
   * Another process is the sender from now on: at the same path. A call that is named was not
   * begun, and goes there.
   */
  | { readonly kind: 'moved'; readonly call?: number }
  /** There are new events of these accesses in the store. */
  | { readonly kind: 'told'; readonly accessIds: readonly string[] }

/** Of a sender to the one that it replaces. */
export type ToPredecessor = { readonly kind: 'takeOver' }

/** Of a sender that is replaced to its successor. */
export type ToSuccessor =
  /** The bundles that it has in flight, by their keys as hexadecimal. */
  | { readonly kind: 'inFlight'; readonly keys: readonly string[] }
  | { readonly kind: 'ended'; readonly key: string; readonly result: SendResult }
  /** Transactions that were sent before. They precede what is in flight. */
  | { readonly kind: 'remembered'; readonly sent: readonly RememberedTransaction[] }

/** Bytes of a message beside the body or the bundle that it carries. */
export const MESSAGE_BYTES = 64 * 1024
