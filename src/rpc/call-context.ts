import type { RpcError } from '../shared/errors.js'
import type { BodySource, Reply } from '../shared/http.js'
import type { Id } from '../shared/jsonrpc.js'
import type { Outcome } from './outcome.js'

/**
 * Answers a call that submits something with a whole reply. Rejects with an `RpcError` where it may
 * not; `body` is the message, which is not kept.
 */
export type RunSubmission = (body: Uint8Array, id: Id) => Promise<Uint8Array>

/** A call that is answered: what it called, if it is known, and how long it ran, if it did. */
export type AnsweredCall = {
  readonly method?: string
  readonly outcome: Outcome
  readonly elapsedMs?: number
  /** Of a call that ran. */
  readonly params?: unknown
}

/** The request or WebSocket message that contained the calls. */
export type CallContext = {
  /** Id of the request in log lines. Read only when a line is written. */
  readonly id: string
  /** Public name of the token; never the token itself. */
  readonly tokenId?: string
  /** The access whose memory and threads its calls use. */
  readonly owner?: string
  /** The message is in memory of its own, which stays as it is until it is answered. */
  readonly ownsBody?: boolean
  /**
   * Charges a batch to its access: the number of calls, and how many of them may run at a time.
   * Returns how many of them do, a reply that refuses the whole batch, or an error that answers
   * each call.
   */
  acquireBatch?(calls: number, atOnce: number): number | Reply | RpcError
  /** Charges further requests for a long message. Returns a refusal as `acquireBatch` does. */
  acquireMore?(requests: number): Reply | RpcError | undefined
  /** Charges the length of the reply so far, as requests in all. It is sent in any case. */
  chargeReply?(requests: number): void
  /** Called for every call that is answered. */
  onCall?(call: AnsweredCall): void
  /**
   * Runs a method that only a connection has. Undefined where the connection has no such method;
   * throws or rejects with `RpcError`.
   */
  callConnectionMethod?(
    method: string,
    params: unknown,
  ): Uint8Array | Promise<Uint8Array> | undefined
  /** What runs a method that submits something; it takes a message with this call alone. */
  submissionOf?(method: string): RunSubmission | undefined
  /**
   * Set where a reply must have a length before it is sent: reads a result to its end and closes
   * it, or returns a source that has a length.
   */
  collect?(source: BodySource): Promise<Uint8Array | BodySource>
}
