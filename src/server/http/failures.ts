import type { Reply } from '../../shared/http.js'
import { RpcError } from '../../shared/errors.js'

/** Writes the JSON body of a failure. A parameter, because the server does not know JSON-RPC. */
export type DescribeFailure = (error: RpcError) => string

/** A failure as a whole reply; 500 where its row has no status. */
export const toFailure = (error: RpcError, describe: DescribeFailure): Reply => ({
  status: error.row.status ?? 500,
  contentType: 'application/json',
  body: Buffer.from(describe(error)),
  ...(error.row.headers !== undefined && { headers: error.row.headers }),
})

/** The replies that the server sends by itself. */
export type Failures = {
  readonly describe: DescribeFailure
  readonly badRequest: Reply
  readonly tlsRequired: Reply
  readonly notFound: Reply
  readonly unavailable: Reply
  readonly internal: Reply
  readonly upgradeVersion: Reply
  readonly headTooLarge: Reply
  readonly urlTooLong: Reply
  readonly versionUnsupported: Reply
  methodNotAllowed(allow: string): Reply
  bodyTooLarge(max: number): Reply
  contentType(type: string): Reply
}

export const createFailures = (describe: DescribeFailure): Failures => ({
  describe,
  badRequest: toFailure(new RpcError('badRequest'), describe),
  tlsRequired: toFailure(new RpcError('tlsRequired'), describe),
  notFound: toFailure(new RpcError('notFound'), describe),
  unavailable: toFailure(new RpcError('unavailable'), describe),
  internal: toFailure(new RpcError('internal'), describe),
  upgradeVersion: toFailure(new RpcError('upgradeVersion'), describe),
  headTooLarge: toFailure(new RpcError('headTooLarge'), describe),
  urlTooLong: toFailure(new RpcError('urlTooLong'), describe),
  versionUnsupported: toFailure(new RpcError('versionUnsupported'), describe),
  methodNotAllowed: allow => ({
    ...toFailure(new RpcError('methodNotAllowed'), describe),
    headers: { Allow: allow },
  }),
  bodyTooLarge: max => toFailure(new RpcError('bodyTooLarge', { max }), describe),
  contentType: type => toFailure(new RpcError('contentType', { type }), describe),
})
