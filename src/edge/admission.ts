import {
  isRefusal,
  REFUSAL_ERRORS,
  type Authenticate,
  type RefusalError,
} from '../access/authenticate.js'
import type { UsageLimiter, Principal } from '../access/limiter/usage-limiter.js'
import { EXCEEDABLE_LIMITS, FULL, type ExceedableLimit } from '../access/limiter/limit-table.js'
import type { Exceeded, LimitRefusal } from '../native/access/limits.js'
import type { CallFailure, CallSource } from '../usage/calls.js'
import { RpcError, type CallError } from '../shared/errors.js'
import type { Grant } from '../shared/grant.js'
import { isReply, type Reply, type Request } from '../shared/http.js'

/** Why a request was refused before its body was read; a batch, before its first call ran. */
export type RefusedAs = RefusalError | ExceedableLimit | typeof FULL

export const REFUSED_AS: readonly RefusedAs[] = [
  'unauthorized',
  'forbidden',
  'leaseExpired',
  ...EXCEEDABLE_LIMITS,
  FULL,
]

/** What requests at one location are admitted with. */
export type AdmissionParts = {
  readonly location: string
  readonly authenticate: Authenticate
  /**
   * Value of accessVersion, NaN once the lease has expired: requests admitted before a change are
   * rechecked.
   */
  readonly version: () => number
  readonly limiter: UsageLimiter
  /** Unix milliseconds. */
  readonly now: () => number
  readonly onRefusal: (reason: RefusedAs) => void
}

/** The grant of a token, or the refusal to send. */
export type Admit = (token: string, request: Request, nowMs?: number) => Grant | Reply

/** The JSON of a failure that has an HTTP status and no JSON-RPC code. */
export const describeFailure = (error: RpcError): string =>
  JSON.stringify({ error: { message: error.message, data: error.data } })

/** A failure that has an HTTP status as a whole reply. */
export const toReply = (failure: RpcError): Reply => {
  return {
    status: failure.row.status ?? 500,
    contentType: 'application/json',
    body: describeFailure(failure),
    ...(failure.row.headers !== undefined && { headers: failure.row.headers }),
  }
}

/** A failure without a JSON-RPC code as a whole reply. */
export const failureReply = (
  name: RefusalError | 'noLander' | 'noLanes' | 'noRelay' | 'noSender' | 'unavailable',
): Reply => toReply(new RpcError(name))

export const UNAUTHORIZED = failureReply('unauthorized')

const REFUSALS: Readonly<Record<RefusalError, Reply>> = {
  unauthorized: UNAUTHORIZED,
  forbidden: failureReply('forbidden'),
  leaseExpired: failureReply('leaseExpired'),
}

export const createAdmit =
  ({ location, authenticate, limiter, now, onRefusal }: AdmissionParts): Admit =>
  (token, request, nowMs = now()) => {
    const grant = authenticate(token, location, request, nowMs)
    if (!isRefusal(grant)) return grant
    const error = REFUSAL_ERRORS[grant.reason]
    onRefusal(error)
    limiter.addRefused(grant, request, nowMs)
    return REFUSALS[error]
  }

/**
 * Returns a function that checks later whether an admitted request may still be started. Until the
 * next change of accesses that is one load. Do not call it after the request was forwarded: then
 * the client must learn the outcome.
 */
export const createRecheck = (parts: AdmissionParts) => {
  const admit = createAdmit(parts)
  return (token: string, request: Request): (() => Reply | undefined) => {
    const version = parts.version()
    return () => {
      if (parts.version() === version) return undefined
      const grant = admit(token, request)
      return isReply(grant) ? grant : undefined
    }
  }
}

const UNAVAILABLE = failureReply('unavailable')

/** Where waiting does not help, there is no time to wait for. */
const toData = ({ limit, max, retryAfterMs }: Exceeded) => ({
  limit,
  max,
  ...(retryAfterMs !== undefined && { retryAfterMs: Math.ceil(retryAfterMs) }),
})

/** The error of a limit, which says what would succeed where waiting does not help. */
const toExceeded = (exceeded: Exceeded): RpcError => {
  const { limit, retryAfterMs, callsMax: max } = exceeded
  if (retryAfterMs !== undefined)
    return new RpcError('tooManyRequests', undefined, toData(exceeded))
  if (max === undefined) return new RpcError('noRequests', { limit }, toData(exceeded))
  return new RpcError('batchTooManyRequests', { max }, toData(exceeded))
}

/** 429 with the limit that was exceeded. */
const exceededReply = (exceeded: Exceeded): Reply => {
  const { retryAfterMs, max, remaining } = exceeded
  return {
    ...toReply(toExceeded(exceeded)),
    headers: {
      ...(retryAfterMs !== undefined && {
        'Retry-After': String(Math.ceil(retryAfterMs / 1_000)),
      }),
      'x-ratelimit-method-limit': String(max),
      'x-ratelimit-method-remaining': String(remaining),
    },
  }
}

/** The error for a WebSocket message over a limit; the socket stays open. */
export const toOverLimit = (
  exceeded: LimitRefusal,
  onRefusal: AdmissionParts['onRefusal'],
): RpcError => {
  if (exceeded === FULL) {
    onRefusal(FULL)
    return new RpcError('overloaded')
  }
  const { limit, retryAfterMs, callsMax: max } = exceeded
  onRefusal(limit)
  if (retryAfterMs !== undefined) return new RpcError('overLimit', undefined, toData(exceeded))
  if (max === undefined) return new RpcError('limitIsNone', { limit }, toData(exceeded))
  return new RpcError('batchOverLimit', { max }, toData(exceeded))
}

/** How a failed call is counted and listed in its usage. */
export const failureOf = (error: CallError, source: CallSource): CallFailure => {
  if (!(error instanceof RpcError))
    return { code: error.code, text: error.message, origin: 'upstream', source }
  const { code, status = 500 } = error.row
  return { code: code ?? status, text: error.ownMessage, origin: 'service', source }
}

/** Admits a request, which must then be released, or says why not. */
export type Acquire = (principal: Principal, request: Request) => Reply | undefined

export const createAcquire =
  ({ limiter, onRefusal, now }: Pick<AdmissionParts, 'limiter' | 'onRefusal' | 'now'>): Acquire =>
  (principal, request) => {
    const exceeded = limiter.acquire(principal, now, request)
    return exceeded === undefined ? undefined : refusalOf(exceeded, onRefusal)
  }

/** The reply to a request over a limit. */
export const refusalOf = (
  exceeded: LimitRefusal,
  onRefusal: AdmissionParts['onRefusal'],
): Reply => {
  if (exceeded === FULL) {
    onRefusal(FULL)
    return UNAVAILABLE
  }
  onRefusal(exceeded.limit)
  return exceededReply(exceeded)
}

/** The token that is the first segment of the path. */
export const pathToken = ({ path }: Request): string => {
  const end = path.indexOf('/', 1)
  return end === -1 ? path.slice(1) : path.slice(1, end)
}

const bearerToken = (request: Request): string => {
  const [scheme = '', token = ''] = request.header('authorization').split(' ')
  return scheme.toLowerCase() === 'bearer' ? token : ''
}

/** Token of a read without one in its path: `x-token`, or `Authorization: Bearer`. */
export const headerToken = (request: Request): string =>
  request.header('x-token') || bearerToken(request)

// Some clients append a path to a base URL that has a query: `?api-key=<token>/bundles`.
const API_KEY = /(?:^|&)api-key=([^&/]*)/

/**
 * Token of a submission without one in its path: the headers of reads, `x-api-key`, or `?api-key=`.
 */
export const submissionToken = (request: Request): string =>
  request.header('x-token') ||
  request.header('x-api-key') ||
  bearerToken(request) ||
  (API_KEY.exec(request.query)?.[1] ?? '')
