import { RpcError, type ErrorName } from '../../shared/errors.js'
import { formatError, type Id } from '../../shared/jsonrpc.js'
import { passOn, type UpstreamReply } from '../../upstream/reply.js'
import type { UpstreamFailure } from '../../upstream/errors.js'
import { failureOfAnswer, type SubmissionReply } from '../failure.js'
import { isReplyTo, toAnswerData } from '../reply-to.js'
import type { Finding } from './findings.js'

const JSON_TYPE = 'application/json'

/**
 * Statuses of calls that failed beyond their parameters (contract: lander-failures). Others are
 * 200.
 */
export const STATUSES: Readonly<Partial<Record<ErrorName, number>>> = {
  upstreamUnreachable: 502,
  outcomeUnknown: 504,
  upstreamFull: 503,
  checksOverloaded: 503,
  landerUnauthorized: 401,
  landerForbidden: 403,
  landerFull: 429,
  lanesFull: 429,
}

/** The error of each way in which an upstream gives no answer. */
export const FAILURES = {
  unreachable: new RpcError('upstreamUnreachable'),
  'no-response': new RpcError('outcomeUnknown'),
  full: new RpcError('upstreamFull'),
} as const satisfies Record<UpstreamFailure['kind'], RpcError>

const UNAUTHORIZED = new RpcError('landerUnauthorized')

/**
 * The lander's answer as the reply to a request with this id. A 401 is about the service's
 * credential, so nothing of it is passed on.
 */
export const toReply = (id: Id, answer: UpstreamReply): SubmissionReply =>
  answer.status === 401
    ? errorReply(id, UNAUTHORIZED)
    : { reply: passOn(answer), failure: failureOfAnswer(answer) }

/** The same for a call: a 403 that is no reply to it becomes one. */
export const toCallReply = (id: Id, answer: UpstreamReply): SubmissionReply => {
  const { status, body, contentType } = answer
  if (status !== 403 || isReplyTo(id, body)) return toReply(id, answer)
  const data = toAnswerData(body, contentType)
  const error = new RpcError('landerForbidden', undefined, data)
  const { code = status } = error.row
  // Counted as the lander's: the error stands in the place of what it answered.
  return {
    ...errorReply(id, error),
    failure: { code, message: `${error.ownMessage}: ${data.body}` },
  }
}

export const errorReply = (id: Id, error: RpcError): SubmissionReply => ({
  reply: {
    status: STATUSES[error.name] ?? 200,
    contentType: JSON_TYPE,
    body: formatError(id, error),
    ...(error.row.headers !== undefined && { headers: error.row.headers }),
  },
  failure: error,
})

/** A lander's answer to a batch of which it accepts nothing: no record was forwarded. */
export const countsReply = (count: number, problem: string): SubmissionReply => ({
  reply: {
    status: 400,
    contentType: JSON_TYPE,
    body: JSON.stringify({ attempted: count, accepted: 0, rejected: count, parse_error: problem }),
  },
})

/** The text about a tip does not name its transaction. */
export const recordProblem = ({ message }: RpcError, { kind, member }: Finding): string =>
  kind === 'tip' ? `record ${member}: ${message}` : message

/** A reply with what was found in its transactions. */
export const withFindings = (whole: SubmissionReply, findings: string): SubmissionReply => {
  if (findings === '') return whole
  const headers = { ...whole.reply.headers, 'X-Lander-Findings': findings }
  return { ...whole, reply: { ...whole.reply, headers } }
}
