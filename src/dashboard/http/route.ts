import * as v from 'valibot'
import type { HolderRole } from '../../access/tokens/admin-tokens.js'
import type { ApiKeyScope } from '../../access/store/key-shape.js'
import type { AccessRole } from '../../access/store/member-shape.js'
import type { Access } from '../../access/store/tables.js'
import type { AuditAction } from '../../access/audit/actions.js'
import { RpcError, type ErrorName } from '../../shared/errors.js'
import type { CookieKind } from './cookies.js'
import type { Session } from '../auth/session.js'

/** Who may call a route: everyone, signed-in people, or holders of the admin token. */
export type Guard = 'open' | 'session' | 'admin'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** The answer of a handler. An undefined body is no body. */
export type Answer = {
  readonly status: number
  /** Sent as JSON. */
  readonly body?: unknown
  /** In place of a body. */
  readonly stream?: ReadableStream<Uint8Array>
  /** Sent as it is, in place of `body`, with a `Content-Type` of `headers`. */
  readonly text?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Who signed in, where the request had no session yet. */
  readonly signedIn?: string
}

/** 200 with a JSON body. */
export const ok = (body: unknown): Answer => ({ status: 200, body })

/** A request that passed the guard of its route; query and body are not yet validated. */
export type Call = {
  readonly params: Readonly<Record<string, string>>
  /** The query as it was sent, with its `?`; empty if there is none. */
  readonly search: string
  /** Parsed JSON; undefined if there was no body. */
  readonly body: unknown
  readonly session: Session | undefined
  /** The access of the path, if its owner, a member or a key of it calls. */
  readonly access: Access | undefined
  /** Id of the API key of the request. */
  readonly apiKey: string | undefined
  /** Name of the admin token of the request. */
  readonly admin: string | undefined
  /** Address of the TCP peer. */
  readonly peer: string
  /** Address of the client: what a trusted proxy says, or the peer. */
  readonly client: string
  /** The `User-Agent` header; empty if it is absent. */
  readonly userAgent: string
  cookie(kind: CookieKind): string | undefined
  /** Sign-ins of this browser in progress: id → sealed state. */
  signIns(): ReadonlyMap<string, string>
}

/** A documented answer of a route. The OpenAPI document and tests use it. */
export type AnswerDoc = { readonly description: string; readonly body?: v.GenericSchema }

/** A route of the dashboard. */
export type Route = {
  readonly method: Method
  /** `:name` matches one segment. */
  readonly path: string
  readonly guard: Guard
  readonly summary: string
  readonly query: v.GenericSchema | undefined
  readonly body: v.GenericSchema | undefined
  readonly answers: Readonly<Record<number, AnswerDoc>>
  /** Failures that it may answer, besides those of its guard. */
  readonly errors: readonly ErrorName[]
  /** Calls of one person are limited: `changesPerMinuteMax`. */
  readonly isRateLimited: boolean
  /** The person must have entered the password within `recentSignInMs`. */
  readonly needsRecentSignIn: boolean
  /** Only for the subjects of `dashboard.operators`. */
  readonly needsOperator: boolean
  /** The role in the access of the path that the person needs; absent of other paths. */
  readonly accessRole?: AccessRole | undefined
  /** What an API key must be made for; absent: none may call the route. */
  readonly apiKeyScope?: ApiKeyScope
  /**
   * What operators see of the answer, of any access: all else is left out. Absent: they have no
   * such route. It must have no secret of the holder and no parameters of calls.
   */
  readonly operatorAnswer?: v.GenericSchema
  /**
   * How often the stream of an open page reads the answer, in milliseconds, to send what has
   * changed; of a holder's route also what operators see of it. Absent: the page asks by itself.
   */
  readonly watchedMs?: number
  /** The role that an admin token needs, where the guard demands one. */
  readonly needsRole: HolderRole
  /** Recorded in the audit log when it succeeds; of an open route, when someone signed in. */
  readonly audit?: AuditAction
  /** What the audit log has of the bodies of request and answer; absent: that of the request. */
  readonly auditRequest?: (body: unknown, answer: unknown) => unknown
  run(call: Call): Answer | Promise<Answer>
}

type ParamNames<P extends string> = P extends `${string}:${infer N}/${infer Rest}`
  ? N | ParamNames<Rest>
  : P extends `${string}:${infer N}`
    ? N
    : never

type Checked<S extends v.GenericSchema | undefined> = S extends v.GenericSchema
  ? v.InferOutput<S>
  : undefined

/** The access of the path: the guard of a route with one has checked that the caller may see it. */
type AccessOf<P extends string, G extends Guard> = G extends 'session'
  ? 'accessId' extends ParamNames<P>
    ? Access
    : undefined
  : undefined

/** A route of an access may be called with a key, without a session. */
type SessionOf<P extends string, G extends Guard> = G extends 'session'
  ? 'accessId' extends ParamNames<P>
    ? Session | undefined
    : Session
  : undefined

/** Each route of an access must declare who may call it: a role in it, or operators. */
type RoleOf<P extends string, G extends Guard> = G extends 'session'
  ? 'accessId' extends ParamNames<P>
    ? | { readonly accessRole: AccessRole; readonly needsOperator?: false }
      | { readonly accessRole?: undefined; readonly needsOperator: true }
    : { readonly accessRole?: undefined }
  : { readonly accessRole?: undefined }

type Flag = 'isRateLimited' | 'needsRecentSignIn' | 'needsOperator'

type Spec<
  P extends string,
  G extends Guard,
  Q extends v.GenericSchema | undefined,
  B extends v.GenericSchema | undefined,
> = Omit<Route, 'path' | 'guard' | 'query' | 'body' | 'errors' | 'run' | 'needsRole' | Flag> & {
  readonly path: P
  readonly guard: G
  readonly query?: Q
  readonly body?: B
  readonly errors?: readonly ErrorName[]
  readonly isRateLimited?: boolean
  readonly needsRecentSignIn?: boolean
  readonly needsOperator?: boolean
  /** Absent: `read` for GET, else `change`. */
  readonly needsRole?: HolderRole
  handle(call: {
    readonly params: Readonly<Record<ParamNames<P>, string>>
    readonly query: Checked<Q>
    readonly body: Checked<B>
    readonly session: SessionOf<P, G>
    readonly access: AccessOf<P, G>
    readonly search: string
    readonly peer: string
    readonly client: string
    readonly userAgent: string
    cookie(kind: CookieKind): string | undefined
    signIns(): ReadonlyMap<string, string>
  }): Answer | Promise<Answer>
}

const wrongInput = (field: string, problem: string): RpcError =>
  new RpcError('wrongInput', { field, problem })

const explain = (what: string, issue: v.BaseIssue<unknown>): RpcError => {
  const path = v.getDotPath(issue)
  const field = path === null ? what : `${what}.${path}`
  if (issue.type !== 'strict_object') return wrongInput(field, issue.message)
  if (issue.expected === 'never') return wrongInput(field, 'is unknown')
  return wrongInput(field, issue.expected === 'Object' ? 'must be a JSON object' : 'is missing')
}

const check = (what: string, schema: v.GenericSchema | undefined, value: unknown): unknown => {
  if (schema === undefined) return undefined
  // valibot accepts a list as an object.
  if (Array.isArray(value)) throw wrongInput(what, 'must be a JSON object')
  const result = v.safeParse(schema, value)
  if (result.success) return result.output
  throw explain(what, result.issues[0])
}

/** Body of a route without one: clients may send `{}`. */
const NOTHING = v.optional(v.strictObject({}))

const toQuery = (search: string): Readonly<Record<string, string>> => {
  const pairs = Array.from(new URLSearchParams(search))
  const twice = pairs.find(
    ([name], index) => pairs.findIndex(([other]) => other === name) !== index,
  )
  if (twice !== undefined) throw wrongInput('query', 'has a parameter twice')
  return Object.fromEntries(pairs)
}

/** Whether the path of a route of the API names an access. */
export const hasAccess = ({ guard, path }: Pick<Route, 'guard' | 'path'>): boolean =>
  guard === 'session' && path.split('/').includes(':accessId')

/** Declares a route. Query and body are validated before the handler runs. */
export const route = <
  const P extends string,
  const G extends Guard,
  Q extends v.GenericSchema | undefined = undefined,
  B extends v.GenericSchema | undefined = undefined,
>(
  declared: Spec<P, G, Q, B> & RoleOf<P, G>,
): Route => {
  const spec: Spec<P, G, Q, B> = declared
  const { handle, query, body, errors = [], ...rest } = spec
  const { isRateLimited = false, needsRecentSignIn = false, needsOperator = false } = spec
  return {
    ...rest,
    query,
    body,
    errors: [
      ...errors,
      ...(isRateLimited ? (['tooManyAttempts'] as const) : []),
      ...(needsRecentSignIn ? (['signInTooOld'] as const) : []),
      ...(needsOperator ? (['notOperator'] as const) : []),
      ...(hasAccess(spec) ? (['noSuchAccess'] as const) : []),
      ...(spec.accessRole === undefined ? [] : (['leaseExpired'] as const)),
      ...(spec.accessRole === undefined || spec.accessRole === 'view'
        ? []
        : (['accessRole'] as const)),
    ],
    isRateLimited,
    needsRecentSignIn,
    needsOperator,
    needsRole: spec.needsRole ?? (spec.method === 'GET' ? 'read' : 'change'),
    run: call =>
      // The casts are safe: the server has matched path and guard, and `check` validates the rest.
      handle({
        params: call.params as Readonly<Record<ParamNames<P>, string>>,
        query: check('query', query, query && toQuery(call.search)) as Checked<Q>,
        body: check('body', body ?? NOTHING, call.body) as Checked<B>,
        session: call.session as SessionOf<P, G>,
        access: call.access as AccessOf<P, G>,
        search: call.search,
        peer: call.peer,
        client: call.client,
        userAgent: call.userAgent,
        cookie: kind => call.cookie(kind),
        signIns: () => call.signIns(),
      }),
  }
}
