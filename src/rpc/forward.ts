import { findAnswerError } from '../native/upstream/answer.js'
import { RpcError } from '../shared/errors.js'
import type { Options } from './forward-options.js'
import { type Outcome, RawReply } from './outcome.js'

/** Outcome of one forwarded call: the upstream's reply, or why there is none. */
export type Forwarded =
  | { readonly status: number; readonly body: Uint8Array }
  | { readonly failure: 'unreachable' | 'no-response' | 'full' }

/** Sends one call to the upstream, at most once. `body` must not change; a rejection is a bug. */
export type SendCall = (body: Uint8Array) => Promise<Forwarded>

/** The upstream that answers methods which are not served here. */
export type Forward = {
  /** Whether calls of this method are forwarded. */
  takes(method: string): boolean
  /** Whether reads outside the indexed scope are forwarded. */
  readonly takesOutsideScope: boolean
  /**
   * Forwards a call of a method, given as the received bytes, which must not change. Resolves
   * within `waitMs`, or when the answer that came by then has been searched for an error; rejects
   * only where `send` does.
   */
  call(method: string, raw: Uint8Array, waitMs: number): Promise<Outcome>
}

export type ForwardOptions = Options & {
  /** The methods that are forwarded; where it is absent, all that are not served here. */
  readonly allow?: readonly string[] | undefined
  /** Methods that are not forwarded, whatever `allow` says. */
  readonly deny: readonly string[]
}

const UNREACHABLE = new RpcError('rpcUnreachable')
const FULL = new RpcError('rpcFull')
/** Why a call has no answer, and the error where its time is over. */
type Unanswered = {
  readonly failures: Readonly<Record<'unreachable' | 'no-response' | 'full', RpcError>>
  readonly timeout: RpcError
}

const NO_OUTCOME = new RpcError('rpcNoResponse')
const OF_CALL: Unanswered = {
  failures: { unreachable: UNREACHABLE, 'no-response': NO_OUTCOME, full: FULL },
  timeout: NO_OUTCOME,
}
/** A read changes nothing, so it has no outcome that could be unknown. */
const OF_READ: Unanswered = {
  failures: {
    unreachable: UNREACHABLE,
    'no-response': new RpcError('rpcReadNoResponse'),
    full: FULL,
  },
  timeout: new RpcError('readTimeout'),
}

/** The names of reads begin so; other methods may change something. */
const READ = /^(?:get|is|minimum|simulate)[A-Z]/

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/**
 * The JSON object in a reply, without surrounding space; undefined if it is no object. It is not
 * parsed: it may be long, and JSON.parse would round its 64-bit integers.
 */
const toObject = (body: Uint8Array): Uint8Array | undefined => {
  let start = 0
  let end = body.length
  while (isSpace(body[start])) start++
  while (end > start && isSpace(body[end - 1])) end--
  const isObject = body[start] === 0x7b && body[end - 1] === 0x7d && end - start >= 2
  return isObject ? body.subarray(start, end) : undefined
}

const toOutcome = async (
  forwarded: Forwarded,
  failures: Unanswered['failures'],
): Promise<Outcome> => {
  if ('failure' in forwarded) return failures[forwarded.failure]
  const { status, body } = forwarded
  const object = toObject(body)
  // Some servers send a JSON-RPC error with a status of its own; the page of a balancer is no
  // object.
  if (object === undefined || status === 401 || status === 403 || status === 429)
    return new RpcError('rpcRefused', { status })
  return new RawReply(object, await findAnswerError(object))
}

/** Forwards calls of one network to its upstream RPC by `send`. */
export const createForward = (
  { allow, deny, callBytesMax, outsideScope }: ForwardOptions,
  send: SendCall,
): Forward => {
  const allowed = allow === undefined ? undefined : new Set(allow)
  const denied = new Set(deny)
  const tooLong = new RpcError('rpcCallTooLong', { max: callBytesMax })
  return {
    takes: method => !denied.has(method) && (allowed === undefined || allowed.has(method)),
    takesOutsideScope: outsideScope === 'forward',
    call: (method, raw, waitMs) => {
      if (raw.length > callBytesMax) return Promise.resolve(tooLong)
      const { failures, timeout } = READ.test(method) ? OF_READ : OF_CALL
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve(timeout), waitMs)
        send(raw).then(
          forwarded => {
            clearTimeout(timer)
            resolve(toOutcome(forwarded, failures))
          },
          (fault: unknown) => {
            clearTimeout(timer)
            reject(fault)
          },
        )
      })
    },
  }
}
