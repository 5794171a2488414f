import * as v from 'valibot'
import * as incidentShapes from '../../api/incidents/incident-shapes.js'
import { access as operatorAccess } from '../../api/operator/access-shapes.js'
import * as operatorShapes from '../../api/operator/operator-shapes.js'
import * as serviceShapes from '../../api/operator/service-shapes.js'
import * as overviewShapes from '../../api/overview/overview-shapes.js'
import * as sessionShapes from '../../auth/session-shapes.js'
import * as keyShapes from '../../api/keys/shapes.js'
import type { MemberRole } from '../../../access/store/member-shape.js'
import * as memberShapes from '../../api/members/shapes.js'
import * as limitShapes from '../../api/limit-shapes.js'
import * as shapes from '../../api/shapes.js'
import { submissions, summary } from '../../api/submissions/shapes.js'
import * as failureShapes from '../../api/usage/failure-shapes.js'
import * as usageShapes from '../../api/usage/shapes.js'
import * as alertShapes from '../../api/webhook/alert-shapes.js'
import * as webhookShapes from '../../api/webhook/shapes.js'
import { learnClock } from './clock.js'
import type { WantedAlertRule } from './wire.js'

/** What a token is for. */
export type TokenScope = {
  readonly accessId: string
  readonly network: string
  readonly location: string
}

/**
 * Timeout of API requests. A revocation takes up to half a second, because it waits for every edge.
 */
const ANSWER_TIMEOUT_MS = 15_000

/** The same of an export, which is searched for longer: `submissionStore.exportMs`. */
const EXPORT_TIMEOUT_MS = 60_000
const NO_ANSWER = 'Slotline did not answer. Check your connection and try again.'

/** A file to save. */
export type ExportedFile = {
  readonly name: string
  readonly content: Blob
  /** Where the next file continues; null: this one is complete. */
  readonly next: string | null
  /** Machines whose part it lacks. */
  readonly missing: readonly string[] | undefined
}

/** A failed API request; `status` is 0 if there was no response. The message can be shown. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  readonly status: number
  /** A name from docs/errors.md; empty if there is none. */
  readonly code: string
  constructor(status: number, message: string, code = '') {
    super(message)
    this.status = status
    this.code = code
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

const fetchAnswer = async (
  method: Method,
  path: string,
  body: unknown,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<Response> => {
  const headers: Record<string, string> = { accept: 'application/json' }
  // A header that forms and links cannot send: part of the protection against cross-site requests.
  if (method !== 'GET') headers['x-slotline'] = '1'
  if (body !== undefined) headers['content-type'] = 'application/json'
  try {
    const response = await fetch(path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      cache: 'no-store',
      credentials: 'same-origin',
      signal: AbortSignal.timeout(timeoutMs),
    })
    learnClock(response.headers)
    return response
  } catch {
    throw new ApiFailure(0, NO_ANSWER)
  }
}

const toFailure = (status: number, answer: unknown): ApiFailure => {
  const parsed = v.safeParse(shapes.failure, answer)
  if (parsed.success) {
    const { code, message } = parsed.output.error
    return new ApiFailure(status, message, code)
  }
  return new ApiFailure(status, `The request failed (HTTP ${status}). Try again in a moment.`)
}

type Read = <S extends v.GenericSchema>(
  schema: S,
  method: Method,
  path: string,
  body?: unknown,
) => Promise<v.InferOutput<S>>

type Ask = (method: Method, path: string, body?: unknown) => Promise<unknown>

/** What an answer is to, so that it can be watched. */
type Query = { readonly path: string; readonly parse: (answer: unknown) => unknown }

const queries = new WeakMap<Promise<unknown>, Query>()

/** The query that a promise of this client answers; undefined of another promise. */
export const queryOf = (answer: Promise<unknown>): Query | undefined => queries.get(answer)

/** What only operators may read. */
const createOperatorCalls = (read: Read) => ({
  operatorAccesses: (find: string, after: string) => {
    const query = new URLSearchParams({ find, after })
    return read(operatorShapes.accesses, 'GET', `/api/operator/accesses?${query}`)
  },
  operatorAccess: (accessId: string) =>
    read(operatorAccess, 'GET', accessPath(accessId, '/api/operator/accesses')),
  operatorUsage: (query: Readonly<Record<string, string>>) =>
    read(
      serviceShapes.serviceUsage,
      'GET',
      `/api/operator/usage/range?${new URLSearchParams(query)}`,
    ),
  operatorTop: (query: Readonly<Record<string, string>>) =>
    read(
      serviceShapes.topAccesses,
      'GET',
      `/api/operator/usage/accesses?${new URLSearchParams(query)}`,
    ),
  operatorLanes: (hours: string) =>
    read(operatorShapes.lanes, 'GET', `/api/operator/lanes?${new URLSearchParams({ hours })}`),
  operatorNodes: () => read(operatorShapes.nodes, 'GET', '/api/operator/nodes'),
  operatorIncidents: (before: string) =>
    read(
      operatorShapes.incidentPage,
      'GET',
      `/api/operator/incidents?${new URLSearchParams({ before })}`,
    ),
  operatorAudit: (subject: string, before: string) => {
    const query = new URLSearchParams({
      limit: '50',
      ...(subject === '' ? {} : { subject }),
      ...(before === '' ? {} : { before }),
    })
    return read(operatorShapes.audit, 'GET', `/api/operator/audit?${query}`)
  },
})

const accessPath = (accessId: string, accesses = '/api/accesses'): string =>
  `${accesses}/${encodeURIComponent(accessId)}`

const scopePath = ({ accessId, network, location }: TokenScope, accesses?: string): string => {
  const [at, of] = [encodeURIComponent(location), encodeURIComponent(network)]
  return `${accessPath(accessId, accesses)}/networks/${of}/locations/${at}`
}

/** The webhooks of an access, and the rules by which its holder is alerted. */
const createAlertCalls = (read: Read, ask: Ask) => {
  const pathOf = (accessId: string, webhookId: string): string =>
    `${accessPath(accessId)}/webhooks/${encodeURIComponent(webhookId)}`
  return {
    webhooks: (accessId: string) =>
      read(webhookShapes.list, 'GET', `${accessPath(accessId)}/webhooks`),
    addWebhook: (accessId: string, url: string) =>
      read(webhookShapes.made, 'POST', `${accessPath(accessId)}/webhooks`, { url }),
    replaceWebhook: (accessId: string, webhookId: string, url: string) =>
      read(webhookShapes.made, 'PUT', pathOf(accessId, webhookId), { url }),
    removeWebhook: (accessId: string, webhookId: string) =>
      ask('DELETE', pathOf(accessId, webhookId)),
    revealWebhookSecret: (accessId: string, webhookId: string) =>
      read(webhookShapes.revealed, 'POST', `${pathOf(accessId, webhookId)}/reveal-secret`, {}),
    testWebhook: (accessId: string, webhookId: string, ruleId?: string) =>
      read(
        webhookShapes.tested,
        'POST',
        `${pathOf(accessId, webhookId)}/test`,
        ruleId === undefined ? {} : { ruleId },
      ),
    resumeWebhook: (accessId: string, webhookId: string) =>
      read(webhookShapes.found, 'POST', `${pathOf(accessId, webhookId)}/resume`, {}),
    alerts: (accessId: string) => read(alertShapes.rules, 'GET', `${accessPath(accessId)}/alerts`),
    setAlerts: (accessId: string, rules: readonly WantedAlertRule[]) =>
      read(alertShapes.rules, 'PUT', `${accessPath(accessId)}/alerts`, { rules }),
  }
}

/** A key to make. */
type WantedKey = v.InferInput<typeof keyShapes.wanted>

/** The API keys of an access. */
const createKeyCalls = (read: Read, ask: Ask) => ({
  keys: (accessId: string) => read(keyShapes.keys, 'GET', `${accessPath(accessId)}/keys`),
  makeKey: (accessId: string, key: WantedKey) =>
    read(keyShapes.made, 'POST', `${accessPath(accessId)}/keys`, key),
  revokeKey: (accessId: string, keyId: string) =>
    ask('DELETE', `${accessPath(accessId)}/keys/${encodeURIComponent(keyId)}`),
})

/** Who else may use the dashboard for an access. */
const createMemberCalls = (read: Read, ask: Ask) => {
  const pathOf = (accessId: string): string => `${accessPath(accessId)}/members`
  return {
    members: (accessId: string) => read(memberShapes.members, 'GET', pathOf(accessId)),
    addMember: (accessId: string, email: string, role: MemberRole) =>
      ask('POST', pathOf(accessId), { email, role }),
    setMemberRole: (accessId: string, email: string, role: MemberRole) =>
      ask('PUT', pathOf(accessId), { email, role }),
    removeMember: (accessId: string, email: string) =>
      ask('POST', `${pathOf(accessId)}/remove`, { email }),
    leave: (accessId: string) => ask('POST', `${pathOf(accessId)}/leave`),
  }
}

/** What the page does where the API refuses a request for the state of the session. */
export type SessionFaults = {
  readonly onSignedOut: () => void
  /** The person must sign in again first. Receives the last part of the request's path. */
  readonly onSignInTooOld: (action: string) => void
}

/** The file of what matches; `query` has the format. */
const createExportFile =
  (onSignedOut: () => void) =>
  async (
    accessId: string,
    what: 'submissions' | 'failures',
    query: Readonly<Record<string, string>>,
  ): Promise<ExportedFile> => {
    const path = `${accessPath(accessId)}/${what}/export?${new URLSearchParams(query)}`
    const response = await fetchAnswer('GET', path, undefined, EXPORT_TIMEOUT_MS)
    if (response.status === 401) onSignedOut()
    if (!response.ok) throw toFailure(response.status, await response.json().catch(() => undefined))
    const { headers } = response
    const [, name = ''] = /filename="(.+)"/.exec(headers.get('content-disposition') ?? '') ?? []
    const content = await response.blob().catch(() => {
      throw new ApiFailure(0, NO_ANSWER)
    })
    const missing = headers.get('x-missing')?.split(', ')
    return { name, content, next: headers.get('x-next'), missing }
  }

/** What was counted and listed of an access; operators read the same at a path of theirs. */
const createReadCalls = (read: Read, accesses?: string) => {
  const pathOf = (accessId: string, end: string): string =>
    `${accessPath(accessId, accesses)}/${end}`
  const ask = <S extends v.GenericSchema>(schema: S, accessId: string, end: string) =>
    read(schema, 'GET', pathOf(accessId, end))
  type Query = Readonly<Record<string, string>>
  return {
    // Not the minutes, which the range has: the event stream sends no answer as long as these.
    tokenUsage: (scope: TokenScope) =>
      read(shapes.tokenUsage, 'GET', `${scopePath(scope, accesses)}/usage?minutes=0`),
    usageRange: (accessId: string, query: Query) =>
      ask(usageShapes.rangeUsage, accessId, `usage/range?${new URLSearchParams(query)}`),
    failures: (accessId: string, query: Query) =>
      ask(failureShapes.failures, accessId, `failures?${new URLSearchParams(query)}`),
    accessUsage: (accessId: string) => ask(limitShapes.accessUsage, accessId, 'usage'),
    incidents: (accessId: string) => ask(incidentShapes.incidents, accessId, 'incidents'),
    warnings: (accessId: string) => ask(limitShapes.warnings, accessId, 'warnings'),
    locations: (accessId: string) => ask(shapes.locations, accessId, 'locations'),
    machines: (accessId: string) => ask(shapes.machines, accessId, 'machines'),
    submissionSummary: (accessId: string, query: Query) =>
      ask(summary, accessId, `submissions/summary?${new URLSearchParams(query)}`),
    submissions: (accessId: string, query: Query) =>
      ask(submissions, accessId, `submissions?${new URLSearchParams(query)}`),
  }
}

/** Client of the dashboard's API. */
export const createApi = ({ onSignedOut, onSignInTooOld }: SessionFaults) => {
  const ask = async (method: Method, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetchAnswer(method, path, body)
    const answer: unknown = await response.json().catch(() => undefined)
    if (response.status === 401) onSignedOut()
    if (response.ok) return answer
    const failure = toFailure(response.status, answer)
    if (failure.code === 'signInTooOld') onSignInTooOld(path.slice(path.lastIndexOf('/') + 1))
    throw failure
  }
  const read = <S extends v.GenericSchema>(
    schema: S,
    ...call: Parameters<typeof ask>
  ): Promise<v.InferOutput<S>> => {
    const parse = (answer: unknown): v.InferOutput<S> => {
      const parsed = v.safeParse(schema, answer)
      if (parsed.success) return parsed.output
      throw new ApiFailure(0, 'This page is outdated. Reload it to continue.')
    }
    const answer = ask(...call).then(parse)
    const [method, path] = call
    if (method === 'GET') queries.set(answer, { path, parse })
    return answer
  }
  return {
    session: () => read(shapes.session, 'GET', '/api/session'),
    signOut: () => read(shapes.signedOut, 'POST', '/api/sign-out', {}),
    ...createOperatorCalls(read),
    ...createAlertCalls(read, ask),
    ...createKeyCalls(read, ask),
    ...createMemberCalls(read, ask),
    sessions: () => read(sessionShapes.sessions, 'GET', '/api/sessions'),
    endSession: (sessionId: string) =>
      ask('DELETE', `/api/sessions/${encodeURIComponent(sessionId)}`),
    endOtherSessions: () =>
      read(sessionShapes.endedSessions, 'POST', '/api/sessions/end-others', {}),
    accesses: () => read(shapes.accesses, 'GET', '/api/accesses'),
    overview: () => read(overviewShapes.overview, 'GET', '/api/overview'),
    relabel: (accessId: string, label: string) =>
      ask('PUT', `${accessPath(accessId)}/label`, { label }),
    panel: (scope: TokenScope) => read(shapes.panel, 'GET', scopePath(scope)),
    generate: (scope: TokenScope) => ask('POST', `${scopePath(scope)}/token`, {}),
    regenerate: async (scope: TokenScope, overlapSeconds: number) => {
      const path = `${scopePath(scope)}/token/regenerate`
      return (await read(shapes.withEffect, 'POST', path, { overlapSeconds }))?.effect
    },
    endFormer: async (scope: TokenScope) =>
      (await read(shapes.withEffect, 'DELETE', `${scopePath(scope)}/token/former`))?.effect,
    revoke: (scope: TokenScope) => read(shapes.removal, 'DELETE', `${scopePath(scope)}/token`),
    reveal: (scope: TokenScope) =>
      read(shapes.revealed, 'POST', `${scopePath(scope)}/token/reveal`, {}),
    check: (scope: TokenScope) =>
      read(shapes.checked, 'POST', `${scopePath(scope)}/token/check`, {}),
    restrict: async (scope: TokenScope, address: string) =>
      (await read(shapes.withEffect, 'PUT', `${scopePath(scope)}/token/restriction`, { address }))
        ?.effect,
    clients: (scope: TokenScope, address = '') => {
      const query = new URLSearchParams({ address })
      return read(shapes.clients, 'GET', `${scopePath(scope)}/clients?${query}`)
    },
    ownAddress: () => read(shapes.address, 'GET', '/api/address'),
    keepParameters: (accessId: string, isOn: boolean) =>
      read(failureShapes.paramsState, 'PUT', `${accessPath(accessId)}/failures/parameters`, {
        isOn,
      }),
    exportFile: createExportFile(onSignedOut),
    ...createReadCalls(read),
    /** In place of these: the same of any access, without secrets. */
    forOperator: createReadCalls(read, '/api/operator/accesses'),
  }
}

export type Api = ReturnType<typeof createApi>
