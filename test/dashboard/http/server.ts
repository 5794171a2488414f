import { join } from 'node:path'
import t from 'tap'
import * as v from 'valibot'
import { defaults } from '../../../src/dashboard/options.js'
import { route } from '../../../src/dashboard/http/route.js'
import { RpcError } from '../../../src/shared/errors.js'
import { Secret } from '../../../src/shared/secret.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { connect, exchange, splitReplies, statusOf } from '../../fixtures/server/server.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'

const ADMIN_TOKEN = 'sla_canary-of-the-admin-token-0123456789'

t.test('a change needs a header that no form can send, and the origin of the page', async t => {
  const { url, port, grant, accessService, issuer } = await startDashboard(t)
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const { accessId } = await grant('ada')
  const scope = { accessId, network: 'main', location: 'fra' }
  const path = `/api/accesses/${accessId}/networks/main/locations/fra/token`
  const own = { origin: url, 'x-slotline': '1' }
  const json = { 'content-type': 'application/json' }
  const refused: [name: string, headers: Record<string, string>][] = [
    ['nothing', {}],
    ['no origin', { 'x-slotline': '1' }],
    ['no header', { origin: url }],
    ['an empty header', { ...own, 'x-slotline': '' }],
    ['another value', { ...own, 'x-slotline': '0' }],
    ['a sandboxed frame', { ...own, origin: 'null' }],
    ['another host', { ...own, origin: 'https://evil.example' }],
    ['another port of this host', { ...own, origin: `http://127.0.0.1:${port + 1}` }],
    ['the identity provider', { ...own, origin: issuer }],
    ['a host that begins as ours', { ...own, origin: `${url}.evil.example` }],
    ['a host that ends as ours', { ...own, origin: `http://evil.example#${url}` }],
    ['our host by another name', { ...own, origin: `http://localhost:${port}` }],
    ['our host by https', { ...own, origin: url.replace('http', 'https') }],
    ['our origin with a path', { ...own, origin: `${url}/` }],
    ['a referrer in place of an origin', { 'x-slotline': '1', referer: `${url}/` }],
    ['a form', { origin: url, 'content-type': 'application/x-www-form-urlencoded' }],
    ['text of a form', { origin: url, 'content-type': 'text/plain' }],
  ]
  const changes: [method: string, path: string][] = [
    ['POST', path],
    ['POST', `${path}/regenerate`],
    ['POST', `${path}/reveal`],
    ['PUT', `${path}/restriction`],
    ['DELETE', path],
    ['POST', '/api/sign-out'],
  ]
  const made = await accessService.generate(scope)
  for (const [name, headers] of refused)
    for (const [method, target] of changes) {
      const answer = await ada.ask(target, { method, headers: { ...json, ...headers }, body: '{}' })
      t.equal(answer.status, 403, `${name}: ${method} ${target.slice(-12)}`)
      t.match(answer.json, { error: { code: 'crossOrigin' } })
      t.notMatch(answer.text, made.token.reveal())
    }
  t.equal(accessService.list(accessId)[0]?.tokenId, made.tokenId, 'nothing has changed')
  t.equal((await ada.ask('/api/session')).status, 200, 'the session is still valid')

  const anonymous = new DashboardClient(url)
  t.equal((await anonymous.call('POST', `${path}/regenerate`)).status, 401, 'without a session')
  t.equal((await ada.call('POST', `${path}/regenerate`)).status, 200, 'as the page does it')
})

t.test('GET changes nothing on any path', async t => {
  const { url, grant, accessService } = await startDashboard(t)
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const { accessId } = await grant('ada')
  const scope = `/api/accesses/${accessId}/networks/main/locations/fra`
  await accessService.generate({ accessId, network: 'main', location: 'fra' })
  const before = JSON.stringify(accessService.list(accessId))
  const gets = ['/token', '/token/regenerate', '/token/reveal', '/token/restriction']
  for (const path of [...gets.map(end => scope + end), '/api/sign-out'])
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PATCH']) {
      const override = { 'x-http-method-override': 'DELETE', 'x-slotline': '1', origin: url }
      const answer = await ada.ask(`${path}?_method=DELETE`, { method, headers: override })
      t.equal(answer.status, 405, `${method} ${path}`)
      t.match(answer.headers.get('allow'), /^(DELETE|POST|PUT)/)
    }
  t.equal(JSON.stringify(accessService.list(accessId)), before)
})

t.test('every answer has the security headers', async t => {
  const { url, issuer } = await startDashboard(t)
  const ada = new DashboardClient(url)
  for (const path of [
    '/api/session',
    '/api/openapi.json',
    '/sign-in',
    '/callback',
    '/nowhere',
    '/',
  ]) {
    const { headers } = await ada.ask(path)
    t.equal(headers.get('cache-control'), 'no-store', path)
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.equal(headers.get('referrer-policy'), 'no-referrer')
    t.equal(headers.get('x-frame-options'), 'DENY')
    t.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
    t.equal(headers.get('cross-origin-resource-policy'), 'same-origin')
    t.equal(headers.get('strict-transport-security'), null, 'plain http cannot promise TLS')
    t.equal(headers.get('access-control-allow-origin'), null)
    const policy = headers.get('content-security-policy') ?? ''
    t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self'")
    t.match(policy, "object-src 'none'; frame-ancestors 'none'")
    t.match(policy, "base-uri 'none'")
    t.match(
      policy,
      "connect-src 'self' https://fra.rpc.example wss://fra.rpc.example http://127.0.0.1:2 ws://127.0.0.1:2;",
    )
    t.notMatch(policy, /unsafe|\*/)
    t.notMatch(policy, issuer)
  }
})

t.test('behind TLS cookies are bound to the host, and HSTS is sent', async t => {
  const { port } = await startDashboard(t, {
    dashboard: { publicUrl: 'https://dashboard.example' },
  })
  const { headers } = await new DashboardClient(`http://127.0.0.1:${port}`).ask('/sign-in')
  t.match(
    headers.get('set-cookie'),
    /^__Host-slotline-sign-in=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  )
  t.equal(headers.get('strict-transport-security'), 'max-age=31536000; includeSubDomains')
})

t.test('a session cookie is HttpOnly, SameSite and for its host only', async t => {
  const { url, port } = await startDashboard(t)
  const ada = new DashboardClient(url)
  const { headers } = await ada.ask(await ada.authorize(ADA))
  const [session = '', pending = '', ...more] = headers.getSetCookie()
  t.match(
    session,
    new RegExp(
      `^slotline-session-${port}=[\\w-]{43}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict$`,
    ),
  )
  t.match(pending, /^slotline-sign-in-\d+=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/)
  t.equal(more.length, 0)

  const [, id = ''] = /=([\w-]+)/.exec(session) ?? []
  const name = `slotline-session-${port}`
  const cookies: [cookie: string, status: number][] = [
    [`${name}=${id}`, 200],
    [`a=b; ${name}=${id}; c="d; e"`, 200],
    [`${name}=${id}; ${name}=${'A'.repeat(43)}`, 401],
    [`${name}=${'A'.repeat(43)}; ${name}=${id}`, 401],
    [`${name.toUpperCase()}=${id}`, 401],
    [`x${name}=${id}`, 401],
    [`${name}="${id}"`, 401],
    [`${name}=${id}A`, 401],
    [`${name}=${id.slice(1)}`, 401],
    [`${name}=`, 401],
    ['', 401],
  ]
  for (const [cookie, status] of cookies) {
    const answer = await new DashboardClient(url).ask('/api/session', { headers: { cookie } })
    t.equal(answer.status, status, cookie.replaceAll(id, '<id>'))
  }
})

const echo = route({
  method: 'PUT',
  path: '/admin/echo/:name',
  guard: 'admin',
  summary: 'Says what it was given',
  body: v.strictObject({ text: v.string('must be a text') }),
  answers: { 200: { description: 'The same' } },
  handle: ({ params, body }) => ({ status: 200, body: { ...params, ...body } }),
})
const broken = route({
  method: 'POST',
  path: '/admin/broken/:how',
  guard: 'admin',
  summary: 'Fails',
  answers: { 204: { description: 'Never' } },
  handle: ({ params }) => {
    if (params.how === 'row') throw new RpcError('noToken')
    if (params.how === 'call') throw new RpcError('noIndex')
    throw new Error('canary-of-a-bug slt_0123456789')
  },
})
const admin = { adminToken: new Secret(ADMIN_TOKEN), adminRoutes: [echo, broken] }
const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` }

t.test('admin routes accept the admin token only', async t => {
  const { url, lines } = await startDashboard(t, admin)
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const put = async (headers: Record<string, string>) => {
    const body = '{"text":"hello"}'
    const json = { 'content-type': 'application/json' }
    return ada.ask('/admin/echo/me', { method: 'PUT', headers: { ...json, ...headers }, body })
  }
  t.strictSame((await put(bearer)).json, { name: 'me', text: 'hello' })
  t.equal((await put({ authorization: `bearer  ${ADMIN_TOKEN}` })).status, 200)
  const wrong = [
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${ADMIN_TOKEN}x`,
    `Bearer ${ADMIN_TOKEN.slice(0, -1)}`,
    `Basic ${ADMIN_TOKEN}`,
    ADMIN_TOKEN,
    `Bearer x ${ADMIN_TOKEN}`,
  ]
  for (const authorization of wrong) {
    const answer = await put({ authorization, origin: url, 'x-slotline': '1' })
    t.equal(answer.status, 401, authorization.replace(ADMIN_TOKEN, '<token>'))
    t.equal(answer.headers.get('www-authenticate'), 'Bearer')
  }
  t.equal((await put({})).status, 401, 'a session is not enough')
  t.notMatch(lines.join(), ADMIN_TOKEN)

  const without = await startDashboard(t, { adminRoutes: [echo] })
  const answer = await new DashboardClient(without.url).ask('/admin/echo/me', {
    method: 'PUT',
    headers: { authorization: 'Bearer undefined' },
  })
  t.equal(answer.status, 401, 'without a token there is no way in')
})

t.test('a body must be JSON of the declared shape and within its length', async t => {
  const { port } = await startDashboard(t, admin)
  const most = defaults.bodyBytesMax
  const send = (body: string, lines: readonly string[] = [], type = 'application/json') =>
    exchange(
      port,
      [
        'PUT /admin/echo/me HTTP/1.1',
        'Host: a',
        `Authorization: Bearer ${ADMIN_TOKEN}`,
        ...(type === '' ? [] : [`Content-Type: ${type}`]),
        ...(lines.length > 0 ? lines : [`Content-Length: ${Buffer.byteLength(body, 'latin1')}`]),
        '',
        body,
      ].join('\r\n'),
    )
  const ofBytes = (byteCount: number): string => `{"text":"${'a'.repeat(byteCount - 11)}"}`
  const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const te = ['Transfer-Encoding: chunked']
  const cases: [name: string, reply: Promise<string>, status: string, says: string][] = [
    ['as it should be', send('{"text":"a"}'), '200', '{"name":"me","text":"a"}'],
    ['a charset', send('{"text":"a"}', [], 'application/json; charset=utf-8'), '200', ''],
    ['the longest', send(ofBytes(most)), '200', ''],
    ['one byte more', send(ofBytes(most + 1)), '413', `Body exceeds ${most} bytes`],
    ['the longest in chunks', send(chunked(ofBytes(most)), te), '200', ''],
    ['one byte more in chunks', send(chunked(ofBytes(most + 1)), te), '413', ''],
    ['a length that is only claimed', send('', ['Content-Length: 99999999999']), '413', ''],
    [
      'another type',
      send('{"text":"a"}', [], 'text/plain'),
      '415',
      'Content-Type: application/json',
    ],
    ['no type', send('{"text":"a"}', [], ''), '415', ''],
    ['a type that begins alike', send('{"text":"a"}', [], 'application/jsonp'), '415', ''],
    ['half a document', send('{"text":'), '400', 'badRequest'],
    ['no UTF-8', send('{"text":"\xff"}'), '400', 'badRequest'],
    ['nothing', send(''), '400', 'body must be a JSON object'],
    ['a list', send('[]'), '400', 'body must be a JSON object'],
    ['null', send('null'), '400', 'body must be a JSON object'],
    ['a text', send('"text"'), '400', 'body must be a JSON object'],
    ['a number for a text', send('{"text":1}'), '400', 'body.text must be a text'],
    ['too little', send('{}'), '400', 'body.text is missing'],
    ['too much', send('{"text":"a","more":1}'), '400', 'body.more is unknown'],
    ['the prototype', send('{"text":"a","__proto__":{"x":1}}'), '400', 'body'],
    ['a deep one', send('['.repeat(8_000) + ']'.repeat(8_000)), '400', 'body must be'],
  ]
  for (const [name, reply, status, says] of cases) {
    const received = await reply
    t.equal(statusOf(received), status, name)
    t.ok(received.includes(says), `${name}: ${says}`)
  }
})

t.test('a failure shows public details to the client, and the rest in the log', async t => {
  const { url, lines } = await startDashboard(t, admin)
  const client = new DashboardClient(url)
  const ask = (how: string) =>
    client.ask(`/admin/broken/${how}`, { method: 'POST', headers: bearer })
  t.match(await ask('row'), { status: 404, json: { error: { code: 'noToken' } } })
  t.match(await ask('call'), { status: 500, json: { error: { code: 'failed' } } })
  const bug = await ask('bug')
  t.equal(bug.status, 500)
  t.equal(
    bug.text,
    '{"error":{"code":"failed","message":"Something went wrong; the log of the service says what"}}',
  )
  t.match(lines.join(), 'canary-of-a-bug')
  t.notMatch(lines.join(), 'slt_0123456789', 'and even there no token')
})

t.test('a client that disconnects during its body causes no failure', async t => {
  const { port, url, lines } = await startDashboard(t, admin)
  const connection = await connect(port)
  const head = `PUT /admin/echo/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n`
  connection.socket.write(`${head}Content-Length: 9\r\n\r\n{"te`)
  await new Promise(resolve => setTimeout(resolve, 50))
  connection.socket.resetAndDestroy()
  t.equal((await new DashboardClient(url).ask('/api/session')).status, 401)
  t.strictSame(lines, [])
})

t.test('paths are normalised as URLs are, and ids have no other characters', async t => {
  const { port } = await startDashboard(t, admin)
  const paths: [path: string, status: string][] = [
    ['/api/session', '401'],
    ['/api/session?x=1', '401'],
    ['/api/session/', '404'],
    ['//api/session', '404'],
    ['/api//session', '404'],
    ['/API/session', '404'],
    ['/api/%73ession', '401'],
    ['/api/./session', '401'],
    ['/api/x/../session', '401'],
    ['/api/session%00', '404'],
    [`/api/accesses/${'a'.repeat(64)}/usage`, '401'],
    [`/api/accesses/${'a'.repeat(65)}/usage`, '404'],
    ['/api/accesses//usage', '404'],
    ['/api/accesses/a%2fb/usage', '404'],
    ['/api/accesses/a.b/usage', '404'],
    ['/api/accesses/__proto__/usage', '401'],
    ['/../../etc/passwd', '404'],
    ['*', '400'],
    [`/${'a'.repeat(10_000)}`, '404'],
    [`/${'a'.repeat(defaults.headerBytesMax)}`, '431'],
  ]
  for (const [path, status] of paths) {
    const received = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    t.equal(statusOf(received), status, path.slice(0, 60))
  }
})

t.test('another name of this host redirects to the one where cookies work', async t => {
  const { url, port } = await startDashboard(t)
  const get = (host: string, path = '/sign-in?prompt=login') =>
    exchange(port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  t.match(
    await get(`localhost:${port}`),
    new RegExp(`^location: ${url}/sign-in\\?prompt=login\r$`, 'im'),
  )
  t.match(
    await get(`localhost:${port}`, '//evil.example/'),
    new RegExp(`^location: ${url}//evil.example/\r$`, 'im'),
  )
  for (const host of [`127.0.0.1:${port}`, 'localhost', `localhost:${port + 1}`, 'evil.example'])
    t.equal(statusOf(await get(host, '/api/session')), '401', host)
  const secure = await startDashboard(t, {
    dataDir: join(t.testdir(), 'secure'),
    dashboard: { publicUrl: 'https://dashboard.example' },
  })
  const host = `localhost:${secure.port}`
  const received = await exchange(secure.port, `GET /api/session HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  t.equal(statusOf(received), '401', 'behind a proxy names are its business')
})

t.test('slow clients are disconnected', async t => {
  const { port } = await startDashboard(t, { ...admin, dashboard: { requestMs: 500, idleMs: 700 } })
  const head = `PUT /admin/echo/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n`
  const json = 'Content-Type: application/json\r\n'
  const slow = ['GET / HTTP/1.1\r\nHo', `${head}${json}Content-Length: 9\r\n\r\n{"te`, '']
  const started = performance.now()
  await Promise.all(
    slow.map(async bytes => {
      const connection = await connect(port)
      connection.socket.write(bytes)
      await connection.closed
    }),
  )
  t.ok(performance.now() - started < 5_000)
})

t.test('connections and requests are limited', async t => {
  const waiting: (() => void)[] = []
  const hold = route({
    method: 'POST',
    path: '/admin/hold',
    guard: 'admin',
    summary: 'Waits',
    answers: { 204: { description: 'At last' } },
    handle: () => new Promise(resolve => waiting.push(() => resolve({ status: 204 }))),
  })
  const { url, port } = await startDashboard(t, {
    adminToken: admin.adminToken,
    adminRoutes: [hold],
    dashboard: { requestsInFlightMax: 2, connectionsMax: 3 },
  })
  const client = new DashboardClient(url)
  const ask = () => client.ask('/admin/hold', { method: 'POST', headers: bearer })
  const held = [ask(), ask()]
  while (waiting.length < 2) await new Promise(resolve => setImmediate(resolve))
  const third = await ask()
  t.equal(third.status, 503)
  t.equal(third.headers.get('retry-after'), '1')
  const extra = await connect(port)
  extra.socket.write('GET /api/session HTTP/1.1\r\nHost: a\r\n\r\n')
  await extra.closed
  t.equal(extra.received(), '', 'the fourth connection is closed')
  for (const go of waiting) go()
  t.strictSame(
    (await Promise.all(held)).map(({ status }) => status),
    [204, 204],
  )
})

t.test('the page is compressed if accepted', async t => {
  const script = 'console.log(1)\n'.repeat(100)
  const dataDir = t.testdir({
    secret: 'not of the page',
    pages: {
      'index.html': '<!doctype html><title>page</title>',
      'mark.svg': '<svg/>',
      assets: { 'index-Ab_1-x9Z.js': script },
    },
  })
  const { url, port } = await startDashboard(t, { dataDir, pagesDir: join(dataDir, 'pages') })
  const client = new DashboardClient(url)
  const index = await client.ask('/')
  t.equal(index.status, 200)
  t.equal(index.headers.get('content-type'), 'text/html; charset=utf-8')
  t.equal(index.headers.get('cache-control'), 'no-cache')
  t.match(index.headers.get('content-security-policy'), "script-src 'self'")
  t.match(index.text, '<title>page')
  const asset = await client.ask('/assets/index-Ab_1-x9Z.js')
  t.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  t.equal(asset.headers.get('content-encoding'), 'gzip')
  t.equal(asset.text, script)
  t.equal((await client.ask('/mark.svg')).headers.get('cache-control'), 'no-cache')
  for (const path of ['/missing.svg', '/assets', '/assets/', '/%2e%2e/secret', '/..%2fsecret'])
    t.equal(statusOf(await exchange(port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)), '404', path)

  const get = 'GET /assets/index-Ab_1-x9Z.js HTTP/1.1\r\nHost: a\r\n'
  const [plain] = splitReplies(await exchange(port, `${get}\r\n`))
  t.equal(plain?.body, script)
  t.match(plain?.head, /vary: accept-encoding/i)
  const head = await client.ask('/', { method: 'HEAD' })
  t.strictSame([head.status, head.text], [200, ''])
  t.equal((await client.call('POST', '/')).status, 405)
})

t.test('a page that is not built says how to build it', async t => {
  const { url } = await startDashboard(t)
  const answer = await new DashboardClient(url).ask('/')
  t.equal(answer.status, 503)
  t.match(answer.json, { error: { message: /npm run build:page/ } })
})
