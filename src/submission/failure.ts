import { findAnswerError, toErrorCode } from '../native/upstream/answer.js'
import type { AnswerError, CallError } from '../shared/errors.js'
import type { Reply } from '../shared/http.js'
import type { UpstreamReply } from '../upstream/reply.js'
import { parseJson } from '../shared/values.js'

/** Why a submission failed, as it is counted; it is not sent. */
export type Failure = CallError | undefined

/** The reply to a submission. Only the failure of a long answer is a promise. */
export type SubmissionReply = {
  readonly reply: Reply
  readonly failure?: Failure | Promise<Failure>
  /** The same was submitted before, and is not counted again. */
  readonly isRepeat?: boolean
}

/** Bytes of an answer without an error that are kept as its reason. */
const REASON_BYTES_MAX = 512

/** Whether an upstream's answer is a failure: its JSON-RPC error, or else its status. */
export const failureOfAnswer = (
  answer: Pick<UpstreamReply, 'status' | 'body'>,
): Failure | Promise<Failure> => {
  const error = findAnswerError(answer.body)
  return error instanceof Promise
    ? error.then(found => toFailure(answer, found))
    : toFailure(answer, error)
}

const toFailure = (
  { status, body }: Pick<UpstreamReply, 'status' | 'body'>,
  error: AnswerError | undefined,
): Failure => {
  if (error === undefined && status < 400) return undefined
  const { code = 0, message = '' } = error ?? {}
  const text = body.toString('utf8', 0, REASON_BYTES_MAX).trim()
  return {
    code: code === 0 && status >= 400 ? status : code,
    message: message !== '' ? message : text === '' ? `HTTP ${status}` : `HTTP ${status}: ${text}`,
  }
}

/** The failure of an engine's error, as it is stored. */
export const failureOfStored = (json: string): Failure => {
  const { code, message } = Object(parseJson(json)) as Readonly<Record<string, unknown>>
  return { code: toErrorCode(code), message: String(message ?? '') }
}
