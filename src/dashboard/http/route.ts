import * as v from 'valibot'
import { RpcError, type ErrorName } from '../../shared/errors.js'
import type { CookieKind } from './cookies.js'
import type { Session } from '../auth/session.js'

/** Who may call a route: anybody, somebody signed in, or who has the admin token. */
export type Guard = 'open' | 'session' | 'admin'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** What a handler answers; an undefined body is none. */
export type Answer = {
  readonly status: number
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
}

/** A request whose guard has let it through, before its route has looked at what it holds. */
export type Call = {
  readonly params: Readonly<Record<string, string>>
  /** As it was sent, with its `?`; empty where there is none. */
  readonly search: string
  /** Parsed JSON; undefined where there was no body. */
  readonly body: unknown
  readonly session: Session | undefined
  cookie(kind: CookieKind): string | undefined
}

/** One answer that a route may give, for its documentation and for the tests made from that. */
export type AnswerDoc = { readonly says: string; readonly body?: v.GenericSchema }

/** A route as server and documentation see it. */
export type Route = {
  readonly method: Method
  /** `:name` stands for one segment. */
  readonly path: string
  readonly guard: Guard
  readonly summary: string
  readonly query: v.GenericSchema | undefined
  readonly body: v.GenericSchema | undefined
  readonly answers: Readonly<Record<number, AnswerDoc>>
  /** Rows of the error table that it may answer beside those of its guard. */
  readonly errors: readonly ErrorName[]
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

type Spec<
  P extends string,
  G extends Guard,
  Q extends v.GenericSchema | undefined,
  B extends v.GenericSchema | undefined,
> = Omit<Route, 'path' | 'guard' | 'query' | 'body' | 'errors' | 'run'> & {
  readonly path: P
  readonly guard: G
  readonly query?: Q
  readonly body?: B
  readonly errors?: readonly ErrorName[]
  handle(call: {
    readonly params: Readonly<Record<ParamNames<P>, string>>
    readonly query: Checked<Q>
    readonly body: Checked<B>
    readonly session: G extends 'session' ? Session : undefined
    readonly search: string
    cookie(kind: CookieKind): string | undefined
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
  // To valibot a list is an object, too.
  if (Array.isArray(value)) throw wrongInput(what, 'must be a JSON object')
  const result = v.safeParse(schema, value)
  if (result.success) return result.output
  throw explain(what, result.issues[0])
}

/** For a route without a body: clients may send `{}` where they have nothing to say. */
const NOTHING = v.optional(v.strictObject({}))

const toQuery = (search: string): Readonly<Record<string, string>> => {
  const pairs = Array.from(new URLSearchParams(search))
  const twice = pairs.find(
    ([name], index) => pairs.findIndex(([other]) => other === name) !== index,
  )
  if (twice !== undefined) throw wrongInput('query', 'has a parameter twice')
  return Object.fromEntries(pairs)
}

/** Declares a route: its query and body are checked before its handler sees them. */
export const route = <
  const P extends string,
  const G extends Guard,
  Q extends v.GenericSchema | undefined = undefined,
  B extends v.GenericSchema | undefined = undefined,
>(
  spec: Spec<P, G, Q, B>,
): Route => {
  const { handle, query, body, errors = [], ...rest } = spec
  return {
    ...rest,
    query,
    body,
    errors,
    run: call =>
      // The four casts say what was just checked: the server matched the path and the guard,
      // `check` the rest.
      handle({
        params: call.params as Readonly<Record<ParamNames<P>, string>>,
        query: check('query', query, query && toQuery(call.search)) as Checked<Q>,
        body: check('body', body ?? NOTHING, call.body) as Checked<B>,
        session: call.session as G extends 'session' ? Session : undefined,
        search: call.search,
        cookie: kind => call.cookie(kind),
      }),
  }
}
