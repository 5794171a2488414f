import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readAdminToken } from '../../../../src/access/tokens/admin-token.js'
import { DashboardClient } from '../../../fixtures/dashboard/dashboard-client.js'
import { startDashboard } from '../../../fixtures/dashboard/dashboard.js'
import { ownDir } from '../../../fixtures/own-dir.js'
import { repositoryPath } from '../../../fixtures/repository.js'

type Operations = Readonly<Record<string, { readonly security: readonly object[] }>>
type Document = { readonly paths: Readonly<Record<string, Operations>> }

const open = async (t: Test) => {
  const dataDir = ownDir(t)
  const dashboard = await startDashboard(t, { dataDir })
  const client = new DashboardClient(dashboard.url)
  const call = async (token: string, method: string, path: string, body?: unknown) => {
    const { status, text } = await client.ask(path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status, text, json: text === '' ? undefined : JSON.parse(text) }
  }
  const own = () => readAdminToken(join(dataDir, 'admin.token')).reveal()
  const make = async (name: string, role: string): Promise<string> => {
    const { json, status } = await call(own(), 'POST', '/admin/tokens', { name, role })
    t.equal(status, 201)
    return json.token
  }
  const audit = () =>
    readdirSync(join(dataDir, 'audit')).flatMap(name =>
      readFileSync(join(dataDir, 'audit', name), 'utf8')
        .split('\n')
        .filter(Boolean),
    )
  return { dashboard, call, own, make, audit }
}

t.test('a token to read changes nothing and sees no token, whatever it calls', async t => {
  const { dashboard, call, make, own, audit } = await open(t)
  const reader = await make('grafana', 'read')
  const { accessId } = await dashboard.grant('ada')
  const { paths } = JSON.parse(
    readFileSync(repositoryPath('docs/openapi.json'), 'utf8'),
  ) as Document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { security }]) => security.some(way => 'adminToken' in way))
      .map(([method]) => [method.toUpperCase(), path] as const),
  )
  t.ok(operations.length > 15)
  const entries = audit().length
  for (const [method, path] of operations) {
    const real = path
      .replace('{accessId}', accessId)
      .replace('{network}', 'main')
      .replace('{location}', 'fra')
      .replace('{name}', 'grafana')
    const { status, text } = await call(reader, method, real, method === 'GET' ? undefined : {})
    if (method === 'GET') t.equal(status, 200, `${method} ${path}`)
    else
      t.strictSame(
        [status, JSON.parse(text).error.message.split(' has ')[0]],
        [403, 'This admin token'],
        `${method} ${path}`,
      )
    t.notMatch(text, /sl[at]_[A-Za-z0-9]/, 'no token is in an answer')
  }
  t.equal(audit().length, entries, 'nothing was done')
  t.strictSame(dashboard.accessService.list(accessId), [])
  t.equal((await call(own(), 'GET', '/admin/tokens')).json.tokens.length, 2)
})

t.test('a token to change makes no other one, and is named in the audit log', async t => {
  const { dashboard, call, make, own, audit } = await open(t)
  const changer = await make('ci', 'change')
  const { accessId } = await dashboard.grant('ada')
  const token = `/admin/accesses/${accessId}/networks/main/locations/fra/token`
  t.equal((await call(changer, 'POST', token)).status, 201)
  t.equal((await call(own(), 'DELETE', token)).status, 204)
  for (const [method, path, body] of [
    ['POST', '/admin/tokens', { name: 'more', role: 'change' }],
    ['POST', '/admin/tokens/file/renew', undefined],
    ['DELETE', '/admin/tokens/ci', undefined],
  ] as const)
    t.match(await call(changer, method, path, body), {
      status: 403,
      json: { error: { message: /has the role change, and the request needs owner/ } },
    })
  t.equal((await call(own(), 'DELETE', '/admin/tokens/ci')).status, 204)
  t.equal((await call(changer, 'POST', token)).status, 401, 'from the answer on')
  const found = audit().map(line => {
    const { action, admin, request } = JSON.parse(line)
    return [action, admin, request?.name]
  })
  t.strictSame(found, [
    ['make-admin-token', 'file', 'ci'],
    ['generate', 'ci', undefined],
    ['revoke', 'file', undefined],
    ['end-admin-token', 'file', 'ci'],
  ])
  t.notOk(audit().join('').includes(changer))
  t.notOk(dashboard.lines.join('').includes(changer))
})

t.test('the token of the file is renewed, and the former one is refused', async t => {
  const { call, own } = await open(t)
  const former = own()
  t.equal((await call(former, 'POST', '/admin/tokens/file/renew')).status, 204)
  t.equal((await call(former, 'GET', '/admin/tokens')).status, 401)
  t.equal((await call(own(), 'GET', '/admin/tokens')).status, 200)
})

t.test('names, roles and ends that are wrong are refused', async t => {
  const { call, own } = await open(t)
  const wrong: [body: object, field: RegExp][] = [
    [{ role: 'read' }, /name/],
    [{ name: '', role: 'read' }, /name/],
    [{ name: 'A', role: 'read' }, /name/],
    [{ name: '1a', role: 'read' }, /name/],
    [{ name: '../x', role: 'read' }, /name/],
    [{ name: 'a'.repeat(33), role: 'read' }, /name/],
    [{ name: 'a', role: 'owner' }, /role/],
    [{ name: 'a', role: 'read', validUntilMs: -1 }, /validUntilMs/],
    [{ name: 'a', role: 'read', more: 1 }, /more/],
  ]
  for (const [body, field] of wrong) {
    const { status, text } = await call(own(), 'POST', '/admin/tokens', body)
    t.equal(status, 400, text)
    t.match(text, field)
  }
  const ended = { name: 'a', role: 'read', validUntilMs: 1 }
  t.equal((await call(own(), 'POST', '/admin/tokens', ended)).status, 422)
  t.equal((await call(own(), 'POST', '/admin/tokens', { name: 'file', role: 'read' })).status, 409)
  t.equal((await call('x'.repeat(8_000), 'GET', '/admin/tokens')).status, 401)
  t.equal((await call(own(), 'GET', '/admin/tokens')).json.tokens.length, 1)
})

t.test('resealing is started by a request, and its end is told', async t => {
  const { dashboard, call, own } = await open(t)
  const { accessId } = await dashboard.grant('ada')
  const scope = { accessId, network: 'main', location: 'fra' }
  const { token } = await dashboard.accessService.generate(scope)
  const started = await call(own(), 'POST', '/admin/sealing/reseal')
  t.match(started, { status: 202, json: { state: /running|done/ } })
  let state = started.json
  while (state.state === 'running') state = (await call(own(), 'GET', '/admin/sealing')).json
  t.match(state, { state: 'done', resealed: 1, unreadable: 0, formerKeyIds: [] })
  t.equal((await dashboard.accessService.reveal(scope))?.reveal(), token.reveal())
})
