import { readFileSync, writeFileSync } from 'node:fs'
import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import { parseConfig } from '../../../src/config/config.js'
import { admin, bearer } from '../../fixtures/dashboard/admin-routes.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { HOSTILE, valuesOf, type Schema } from '../../fixtures/dashboard/schema-values.js'
import { DashboardClient, type DashboardReply } from '../../fixtures/dashboard/dashboard-client.js'
import { repositoryPath } from '../../fixtures/repository.js'

type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: Schema
}
type Content = { readonly 'application/json': { readonly schema: Schema } }
type Operation = {
  readonly summary: string
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Content }>
  >
}
type Document = {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** Values that a grant must name to be valid. */
const KNOWN = {
  product: 'node',
  networks: ['main'],
  locations: ['fra'],
  address: '8.8.8.8',
  validUntilMs: null,
}

const FILE = repositoryPath('docs/openapi.json')

/** A fixed seed, so that the answers that occur do not change; a soak uses random ones. */
const RUNS = process.env['SLOTLINE_SOAK'] === 'full' ? { numRuns: 2_000 } : { numRuns: 15, seed: 7 }

/** Values of any kind, mostly of the wrong one. */
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(...HOSTILE),
  fc.record({ address: fc.oneof(fc.constantFrom(...HOSTILE), fc.ipV4(), fc.jsonValue()) }),
  fc.dictionary(fc.constantFrom('address', 'x', '__proto__'), fc.jsonValue()),
)

t.test('the document matches the routes and the copy in docs', async t => {
  const { url } = await startDashboard(t, {
    machines: () => [],
    dashboard: { statusPage: true },
  })
  const { text, status } = await new DashboardClient(url).ask('/api/openapi.json')
  t.equal(status, 200, 'it needs no session')
  // Formatted by prettier, because the format check reads this file, too.
  const printed = `${JSON.stringify(JSON.parse(text), null, 2)}\n`
  if (process.env['SLOTLINE_DOCS'] === 'write') writeFileSync(FILE, printed)
  t.equal(
    readFileSync(FILE, 'utf8'),
    printed,
    'regenerate it: SLOTLINE_DOCS=write npx tap run test/dashboard/api/openapi.ts',
  )
})

t.test('docs/dashboard.md names every request, and its configuration is valid', async t => {
  const page = readFileSync(repositoryPath('docs/dashboard.md'), 'utf8')
  const document = JSON.parse(readFileSync(FILE, 'utf8')) as Document
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, { security }] of Object.entries(operations)) {
      if (security.some(way => 'adminToken' in way)) continue
      const scope = '/api/accesses/{accessId}/networks/{network}/locations/{location}'
      const short = path.replace(scope, '<scope>').replace('{accessId}', '<access>')
      const isApi = path.startsWith('/api/') && security.length > 0
      t.ok(page.includes(isApi ? `\`${method.toUpperCase()} ${short}` : short), `${method} ${path}`)
    }
  const [, toml = ''] = /```toml\n(.*?)```/s.exec(page) ?? []
  const rest = `networks = [{ id = "n", feed = { endpoint = "http://x:1" } }]
locations = [{ id = "l", name = "L", listeners = [{ host = "::", port = 1 }] }]
`
  t.equal(parseConfig(rest + toml, 'dashboard.md').dashboard.identity?.clientId, 'slotline')
})

t.test('every operation answers as documented for any request', async t => {
  const dashboard = await startDashboard(t, {
    adminTokens: admin.adminTokens,
    machines: () => [],
  })
  const { accessService } = dashboard
  const ada = new DashboardClient(dashboard.url)
  t.equal(await ada.signIn(ADA), '/')
  const { accessId } = await dashboard.grant('ada')
  const here = { accessId, network: 'main', location: 'fra' }
  const document = JSON.parse(readFileSync(FILE, 'utf8')) as Document
  const ajv = new Ajv2020({ strict: true, keywords: ['components'] })
  const validators = new Map<Schema, ValidateFunction>()
  const validatorOf = (schema: Schema): ValidateFunction => {
    const known = validators.get(schema)
    if (known !== undefined) return known
    // The schemas reference the components of the document, so these are included.
    const compiled = ajv.compile({ ...schema, components: document.components })
    validators.set(schema, compiled)
    return compiled
  }
  const seen = new Map<string, Set<number>>()

  const check = (operation: Operation, name: string, answer: DashboardReply): void => {
    const documented = operation.responses[answer.status]
    const whole = `${name}: ${answer.status} ${answer.text.slice(0, 200)}`
    if (documented === undefined) throw new Error(`${whole} is not in the document`)
    if (answer.status >= 500) throw new Error(whole)
    if (answer.headers.get('cache-control') !== 'no-store') throw new Error(`${name}: cacheable`)
    seen.set(name, (seen.get(name) ?? new Set()).add(answer.status))
    const schema = documented.content?.['application/json'].schema
    if (schema === undefined) return
    const isRight = validatorOf(schema)
    if (!isRight(answer.json)) throw new Error(`${whole}: ${ajv.errorsText(isRight.errors)}`)
  }

  const right: Readonly<Record<string, string>> = here
  /** Extends the access and creates its token, or revokes it for a call that may lack one. */
  const prepare = async (mayLackToken: boolean): Promise<void> => {
    const access = accessService.find(accessId)
    if (access?.endedAtMs !== null || access.validUntilMs !== null)
      await accessService.extend(accessId, null)
    const isThere = accessService.list(accessId).some(({ location }) => location === 'fra')
    if (mayLackToken === !isThere) return
    await (isThere ? accessService.revoke(here) : accessService.generate(here))
  }
  const segment = (name: string) =>
    fc.oneof(
      { weight: 12, arbitrary: fc.constant(right[name] ?? '') },
      { weight: 1, arbitrary: fc.constantFrom(...HOSTILE) },
      { weight: 1, arbitrary: fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/) },
    )

  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(operations)) {
      // Signing in and out is tested elsewhere; here it would end the session under test.
      if (path === '/sign-in' || path === '/callback' || path === '/api/sign-out') continue
      const name = `${method.toUpperCase()} ${path}`
      const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, part = '']) => part)
      const query = operation.parameters.filter(parameter => parameter.in === 'query')
      const schema = operation.requestBody?.content['application/json'].schema
      const calls = fc.record({
        params: fc.record(Object.fromEntries(names.map(part => [part, segment(part)]))),
        query: fc.record(
          Object.fromEntries(
            query.map(({ name: key, schema: allowed }) => [
              key,
              fc.oneof(
                { weight: 4, arbitrary: valuesOf(allowed).map(String) },
                { weight: 1, arbitrary: fc.integer({ min: -2, max: 260 }).map(String) },
                { weight: 1, arbitrary: fc.constantFrom(...HOSTILE) },
              ),
            ]),
          ),
          { requiredKeys: [] },
        ),
        body: fc.option(
          schema === undefined ? anything : fc.oneof(valuesOf(schema, KNOWN), anything),
          {
            nil: undefined,
            freq: 4,
          },
        ),
        mayLackToken: fc.integer({ max: 3, min: 0 }).map(n => n === 0),
        isGuarded: fc.oneof(
          { weight: 5, arbitrary: fc.constant(true) },
          { weight: 1, arbitrary: fc.constant(false) },
        ),
      })
      await fc.assert(
        fc.asyncProperty(calls, async ({ params, query, body, isGuarded, mayLackToken }) => {
          await prepare(mayLackToken)
          const filled = names.reduce(
            (at, part) => at.replace(`{${part}}`, encodeURIComponent(params[part] ?? '')),
            path,
          )
          const given = Object.entries(query).map(([key, value = '']) => [key, value])
          const search = new URLSearchParams(given).toString()
          const target = search === '' ? filled : `${filled}?${search}`
          const sent = method === 'get' ? undefined : body
          const answer = isGuarded
            ? await ada.call(method.toUpperCase(), target, sent, bearer)
            : await ada.ask(target, { method: method.toUpperCase() })
          // An empty segment or one of dots is another path, which this operation does not
          // document.
          if (new URL(target, dashboard.url).pathname !== filled) return
          check(operation, name, answer)
        }),
        RUNS,
      )
    }

  const scopes = '/networks/{network}/locations/{location}'
  const wanted: [name: string, statuses: number[]][] = [
    ['GET /api/accesses', [200]],
    [`GET /api/accesses/{accessId}${scopes}`, [200, 404]],
    [`POST /api/accesses/{accessId}${scopes}/token`, [201, 403, 404, 409]],
    [`POST /api/accesses/{accessId}${scopes}/token/regenerate`, [200, 403, 404]],
    [`POST /api/accesses/{accessId}${scopes}/token/reveal`, [200, 403, 404]],
    [`PUT /api/accesses/{accessId}${scopes}/token/restriction`, [200, 400, 403, 422]],
    [`DELETE /api/accesses/{accessId}${scopes}/token`, [204, 403, 404]],
    ['GET /api/accesses/{accessId}/submissions', [200, 400]],
    ['POST /admin/accesses', [201, 400, 401, 422]],
    ['POST /admin/accesses/{accessId}/extend', [200, 400, 401]],
    [`PUT /admin/accesses/{accessId}${scopes}/token/restriction`, [200, 400, 401, 422]],
  ]
  for (const [name, statuses] of wanted)
    for (const status of statuses) t.ok(seen.get(name)?.has(status), `${name}: ${status}`)
  t.comment(Array.from(seen, ([name, statuses]) => `${name}: ${[...statuses].sort()}`).join('\n'))
  t.notMatch(dashboard.lines.join(), /"level":"error"/)
})

t.test('every operation that requires a session refuses calls without one', async t => {
  const { url } = await startDashboard(t, { machines: () => [] })
  const document = JSON.parse(readFileSync(FILE, 'utf8')) as Document
  let count = 0
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, { security, responses }] of Object.entries(operations)) {
      const filled = path.replace(/\{\w+\}/g, 'x')
      const answer = await new DashboardClient(url).call(method.toUpperCase(), filled)
      const isOpen = security.length === 0
      t.equal(answer.status === 401, !isOpen, `${method} ${path}`)
      t.ok(isOpen || responses[401] !== undefined, 'and the document knows')
      count += 1
    }
  t.ok(count > 10)
})
