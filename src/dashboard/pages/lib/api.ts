import * as v from 'valibot'
import * as shapes from '../../api/shapes.js'

/** A scope of a token: what all panel calls are about. */
export type TokenScope = {
  readonly accessId: string
  readonly network: string
  readonly location: string
}

/**
 * Longest wait for an answer of the API; a revocation waits for every edge, which takes up to half
 * a second.
 */
const ANSWER_TIMEOUT_MS = 15_000

/** The API said no, or nothing (`status` 0). The message is written for the person at the page. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

const fetchAnswer = async (method: Method, path: string, body: unknown): Promise<Response> => {
  const headers: Record<string, string> = { accept: 'application/json' }
  // A header that no form and no link can send: a part of what keeps other sites out.
  if (method !== 'GET') headers['x-slotline'] = '1'
  if (body !== undefined) headers['content-type'] = 'application/json'
  try {
    return await fetch(path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      cache: 'no-store',
      credentials: 'same-origin',
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    })
  } catch {
    throw new ApiFailure(0, 'Slotline did not answer. Check your connection and try again.')
  }
}

const toFailure = (status: number, answer: unknown): ApiFailure => {
  const said = v.safeParse(shapes.failure, answer)
  if (said.success) return new ApiFailure(status, said.output.error.message)
  return new ApiFailure(
    status,
    `Slotline could not do this (HTTP ${status}). Try again in a moment.`,
  )
}

/** The calls of the dashboard's API. `onSignedOut` hears of each answer that says: no session. */
export const createApi = (onSignedOut: () => void) => {
  const ask = async (method: Method, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetchAnswer(method, path, body)
    const answer: unknown = await response.json().catch(() => undefined)
    if (response.status === 401) onSignedOut()
    if (!response.ok) throw toFailure(response.status, answer)
    return answer
  }
  const read = async <S extends v.GenericSchema>(
    schema: S,
    ...call: Parameters<typeof ask>
  ): Promise<v.InferOutput<S>> => {
    const parsed = v.safeParse(schema, await ask(...call))
    if (parsed.success) return parsed.output
    throw new ApiFailure(0, 'This page is older than the service. Reload it to go on.')
  }
  const accessPath = (accessId: string): string => `/api/accesses/${encodeURIComponent(accessId)}`
  const placePath = ({ accessId, network, location }: TokenScope): string =>
    `${accessPath(accessId)}/networks/${encodeURIComponent(network)}/locations/${encodeURIComponent(location)}`
  return {
    session: () => read(shapes.session, 'GET', '/api/session'),
    signOut: () => ask('POST', '/api/sign-out', {}),
    accesses: () => read(shapes.accesses, 'GET', '/api/accesses'),
    panel: (scope: TokenScope) => read(shapes.panel, 'GET', placePath(scope)),
    generate: (scope: TokenScope) => ask('POST', `${placePath(scope)}/token`, {}),
    regenerate: (scope: TokenScope) => ask('POST', `${placePath(scope)}/token/regenerate`, {}),
    revoke: (scope: TokenScope) => ask('DELETE', `${placePath(scope)}/token`),
    reveal: (scope: TokenScope) =>
      read(shapes.revealed, 'POST', `${placePath(scope)}/token/reveal`, {}),
    restrict: (scope: TokenScope, address: string) =>
      read(shapes.panel, 'PUT', `${placePath(scope)}/token/restriction`, { address }),
    placeUsage: (scope: TokenScope) => read(shapes.tokenUsage, 'GET', `${placePath(scope)}/usage`),
    accessUsage: (accessId: string) =>
      read(shapes.accessUsage, 'GET', `${accessPath(accessId)}/usage`),
    submissions: (accessId: string) =>
      read(shapes.submissions, 'GET', `${accessPath(accessId)}/submissions?limit=50`),
  }
}

export type Api = ReturnType<typeof createApi>
