import { RpcError, type ErrorName } from '../../shared/errors.js'
import type { Reply } from '../../shared/http.js'
import { formatError, type Id } from '../../shared/jsonrpc.js'
import type { UpstreamReply } from '../../upstream/reply.js'
import type { UpstreamFailure } from '../../upstream/errors.js'
import type { Finding } from './findings.js'

export const JSON_TYPE = 'application/json'
export const BYTES_TYPE = 'application/octet-stream'

/**
 * Statuses of calls that failed beyond their parameters (contract: lander-failures). Others are
 * 200.
 */
const STATUSES: Readonly<Partial<Record<ErrorName, number>>> = {
  upstreamUnreachable: 502,
  outcomeUnknown: 504,
  upstreamFull: 503,
  checksOverloaded: 503,
}

/** The error of each way in which an upstream gives no answer. */
export const FAILURES = {
  unreachable: new RpcError('upstreamUnreachable'),
  'no-response': new RpcError('outcomeUnknown'),
  full: new RpcError('upstreamFull'),
} as const satisfies Record<UpstreamFailure['kind'], RpcError>

export const toReply = ({ status, contentType, headers, body }: UpstreamReply): Reply => ({
  status,
  contentType,
  body,
  ...(headers !== undefined && { headers }),
})

export const errorReply = (id: Id, error: RpcError): Reply => ({
  status: STATUSES[error.name] ?? 200,
  contentType: JSON_TYPE,
  body: formatError(id, error),
  ...(error.row.headers !== undefined && { headers: error.row.headers }),
})

/** A lander's answer to a batch of which it accepts nothing: no record was forwarded. */
export const countsReply = (count: number, problem: string): Reply => ({
  status: 400,
  contentType: JSON_TYPE,
  body: JSON.stringify({ attempted: count, accepted: 0, rejected: count, parse_error: problem }),
})

/** The text about a tip does not name its transaction. */
export const recordProblem = ({ message }: RpcError, { kind, member }: Finding): string =>
  kind === 'tip' ? `record ${member}: ${message}` : message
