import type { Authenticate } from '../access/authenticate.js'
import { RpcError } from '../shared/errors.js'
import type { Grant } from '../shared/grant.js'
import { isReply, type Reply, type Request } from '../shared/http.js'

/** What lets requests into one location. */
export type AdmissionParts = {
  readonly location: string
  readonly authenticate: Authenticate
  /** Value of accessVersion: what was let in before it changed is judged again. */
  readonly version: () => number
  /** Unix milliseconds. */
  readonly now: () => number
  readonly onRefusal: (reason: 'unauthorized' | 'forbidden') => void
}

/** What a token opens, or the refusal to send. */
export type Admit = (token: string, request: Request) => Grant | Reply

/** The JSON of a failure that has an HTTP status and no JSON-RPC code. */
export const describeFailure = (error: RpcError): string =>
  JSON.stringify({ error: { message: error.message } })

/** A failure without a JSON-RPC code as a whole reply. */
export const failureReply = (
  name: 'unauthorized' | 'forbidden' | 'noLander' | 'noRelay',
): Reply => {
  const failure = new RpcError(name)
  return {
    status: failure.row.status ?? 500,
    contentType: 'application/json',
    body: describeFailure(failure),
  }
}

/** A token that opens nothing here. */
export const UNAUTHORIZED = failureReply('unauthorized')
const FORBIDDEN = failureReply('forbidden')

export const createAdmit =
  ({ location, authenticate, now, onRefusal }: AdmissionParts): Admit =>
  (token, request) => {
    const grant = authenticate(token, location, request, now())
    if (typeof grant !== 'string') return grant
    onRefusal(grant)
    return grant === 'unauthorized' ? UNAUTHORIZED : FORBIDDEN
  }

/**
 * For what is let in now: says later whether it may still be begun. Until the next change of
 * accesses that is one load. What is forwarded must not be asked again: its outcome is the client's
 * to know.
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

/** The token that is the first segment of the path. */
export const pathToken = ({ path }: Request): string => {
  const end = path.indexOf('/', 1)
  return end === -1 ? path.slice(1) : path.slice(1, end)
}

const bearerToken = (request: Request): string => {
  const [scheme = '', token = ''] = request.header('authorization').split(' ')
  return scheme.toLowerCase() === 'bearer' ? token : ''
}

/** Token of a read without one in its path: `x-token`, or `Authorization: Bearer` (design §6). */
export const headerToken = (request: Request): string =>
  request.header('x-token') || bearerToken(request)

// Some clients append a path to their base URL, query and all: `?api-key=<token>/bundles`.
const API_KEY = /(?:^|&)api-key=([^&/]*)/

/**
 * Token of a submission without one in its path: the headers of reads, `x-api-key`, or `?api-key=`.
 */
export const submissionToken = (request: Request): string =>
  request.header('x-token') ||
  request.header('x-api-key') ||
  bearerToken(request) ||
  (API_KEY.exec(request.query)?.[1] ?? '')
