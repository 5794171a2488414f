import { toJsonSchema as convert } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { ERRORS, type ErrorName, type Row } from '../../shared/errors.js'
import { route, type Route } from '../http/route.js'
import { described } from './shape-parts.js'
import * as admin from './admin-shapes.js'
import { effect } from './effect-shape.js'
import { incidents } from './incidents/incident-shapes.js'
import * as limits from './limit-shapes.js'
import { members } from './members/shapes.js'
import * as shapes from './shapes.js'
import { submissions, summary } from './submissions/shapes.js'
import { failures } from './usage/failure-shapes.js'
import * as usage from './usage/shapes.js'
import { rules } from './webhook/alert-shapes.js'
import { found, list } from './webhook/shapes.js'

/** Answers of several routes: the document has each once, under its name. */
const SHARED: Readonly<Record<string, v.GenericSchema>> = {
  AccessUsage: limits.accessUsage,
  AdminAccess: admin.access,
  AlertRules: rules,
  ChangedAdminAccess: admin.changedAccess,
  ChangedAdminToken: admin.changedToken,
  ChangedToken: shapes.changedToken,
  Effect: effect,
  Failures: failures,
  Incidents: incidents,
  Locations: shapes.locations,
  Machines: shapes.machines,
  Members: members,
  MethodUsage: usage.methodUsage,
  NewToken: shapes.newToken,
  Panel: shapes.panel,
  RangeUsage: usage.rangeUsage,
  RestrictedPanel: shapes.restrictedPanel,
  Submissions: submissions,
  SubmissionSummary: summary,
  TokenUsage: shapes.tokenUsage,
  Warnings: limits.warnings,
  Webhook: found,
  Webhooks: list,
}
const NAMES = new Map<v.GenericSchema, string>([
  ...Object.entries(SHARED).map(([name, schema]) => [schema, name] as const),
  // Absent on a machine by itself.
  [shapes.removal, 'Effect'],
])
const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` })

type JsonSchema = Omit<ReturnType<typeof convert>, '$schema'>

/** The JSON Schema (2020-12, as OpenAPI 3.1 has it) of values before or after they are parsed. */
const toJsonSchema = (
  schema: v.GenericSchema,
  typeMode: 'input' | 'output' = 'input',
): JsonSchema => {
  const { $schema: _dialect, ...rest } = convert(schema, {
    target: 'draft-2020-12',
    typeMode,
    // A text is documented as what it is parsed to.
    ignoreActions: ['transform', 'readonly', 'check'],
  })
  return rest
}

/** The schema of an answer: a reference if several routes have it. */
const answerSchema = (body: v.GenericSchema): JsonSchema => {
  const name = NAMES.get(body)
  return name === undefined ? toJsonSchema(body) : refTo(name)
}

/** The schemas that the paths refer to. */
const sharedIn = (paths: object): Readonly<Record<string, JsonSchema>> => {
  const text = JSON.stringify(paths)
  const used = Object.entries(SHARED).filter(([name]) => text.includes(`"${refTo(name).$ref}"`))
  return Object.fromEntries(used.map(([name, schema]) => [name, toJsonSchema(schema)]))
}

/** Failures of every route with this guard and method. */
const guardErrors = ({ apiKeyScope, guard, method, needsRole }: Route): readonly ErrorName[] => [
  ...(guard === 'session' ? (['signedOut', 'apiKey'] as const) : []),
  ...(guard === 'session' && apiKeyScope === undefined ? (['apiKeyRoute'] as const) : []),
  ...(apiKeyScope === undefined
    ? []
    : ([
        ...(['apiKeyScope', 'accessEnded', 'accessUpcoming'] as const),
        ...(['tooManyAttempts', 'leaseExpired'] as const),
      ] as const)),
  ...(guard === 'session' && method !== 'GET' ? (['crossOrigin'] as const) : []),
  ...(guard === 'admin' ? (['adminToken'] as const) : []),
  ...(guard === 'admin' && needsRole !== 'read' ? (['adminRole'] as const) : []),
  ...(method === 'GET'
    ? []
    : (['badRequest', 'wrongInput', 'bodyTooLarge', 'contentType'] as const)),
  'notFound',
  'unavailable',
  'failed',
]

const json = (schema: JsonSchema) => ({ 'application/json': { schema } })

const errorsOf = (route: Route): readonly ErrorName[] => [...route.errors, ...guardErrors(route)]

/** The body of failures; its codes are those of the routes, each with its message. */
const failureOf = (routes: readonly Route[]): v.GenericSchema => {
  const names = [...new Set(routes.flatMap(errorsOf))].toSorted()
  const codes = names.map(name => described(v.literal(name), ERRORS[name].message))
  const { entries } = shapes.failure
  return v.object({
    ...entries,
    error: v.object({ ...entries.error.entries, code: v.union(codes) }),
  })
}

const failuresOf = (route: Route): Readonly<Record<string, unknown>> => {
  const byStatus = new Map<number, ErrorName[]>()
  for (const name of new Set(errorsOf(route))) {
    const { status = 500 }: Row = ERRORS[name]
    byStatus.set(status, [...(byStatus.get(status) ?? []), name])
  }
  return Object.fromEntries(
    Array.from(byStatus, ([status, names]) => [
      status,
      {
        description: names.join(', '),
        content: json(refTo('Failure')),
      },
    ]),
  )
}

const queryParametersOf = (query: v.GenericSchema): readonly unknown[] => {
  const { properties = {} } = toJsonSchema(query, 'output')
  const { required = [] } = toJsonSchema(query)
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

const parametersOf = ({ apiKeyScope, path, query, guard, method }: Route): readonly unknown[] => {
  const inPath = Array.from(path.matchAll(/:(\w+)/g), ([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
  }))
  const inQuery = query === undefined ? [] : queryParametersOf(query)
  const guardHeader =
    guard === 'session' && method !== 'GET'
      ? [
          {
            name: 'x-slotline',
            in: 'header',
            // Only of a request with the session cookie.
            required: apiKeyScope === undefined,
            schema: { const: '1' },
          },
        ]
      : []
  return [...inPath, ...inQuery, ...guardHeader]
}

/** Who may call a route; with a session of a person who has this role in the access of the path. */
const securityOf = ({ accessRole, guard }: Route): readonly unknown[] => {
  if (guard === 'open') return []
  if (guard === 'admin') return [{ adminToken: [] }]
  return [{ session: accessRole === undefined ? [] : [accessRole] }]
}

const operationOf = (route: Route) => ({
  summary: route.summary,
  security: [
    ...securityOf(route),
    ...(route.apiKeyScope === undefined ? [] : [{ apiKey: [route.apiKeyScope] }]),
  ],
  parameters: parametersOf(route),
  ...(route.body === undefined
    ? {}
    : { requestBody: { required: true, content: json(toJsonSchema(route.body)) } }),
  responses: {
    ...Object.fromEntries(
      Object.entries(route.answers).map(([status, { description, body }]) => [
        status,
        {
          description,
          ...(body === undefined ? {} : { content: json(answerSchema(body)) }),
        },
      ]),
    ),
    ...failuresOf(route),
  },
})

/** The OpenAPI document of the routes. */
const toOpenApi = (routes: readonly Route[]): Readonly<Record<string, unknown>> => {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Slotline dashboard',
      version: '1',
      description:
        'Changes under /api need the session cookie, the header x-slotline: 1 and the Origin of the dashboard, or an API key with the scope that security names. The entry session has the role that the person needs in the access.',
    },
    paths,
    components: {
      schemas: { ...sharedIn(paths), Failure: toJsonSchema(failureOf(routes)) },
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-slotline-session',
          description:
            'Set by /callback. With http on loopback its name is slotline-session-<port>.',
        },
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key of the access, slk_ and 38 characters. A request with one is judged by it alone, whatever its cookies are.',
        },
        adminToken: { type: 'http', scheme: 'bearer' },
      },
    },
  }
}

/** The route that serves the document. */
export const createOpenApiRoute = (routes: readonly Route[]): Route => {
  const own = (body: () => unknown): Route =>
    route({
      method: 'GET',
      path: '/api/openapi.json',
      guard: 'open',
      summary: 'The OpenAPI document of this API',
      answers: { 200: { description: 'OpenAPI 3.1' } },
      handle: () => ({ status: 200, body: body() }),
    })
  const document = toOpenApi([...routes, own(() => undefined)])
  return own(() => document)
}
