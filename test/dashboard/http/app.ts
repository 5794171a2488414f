import { join } from 'node:path'
import t from 'tap'
import { defaults } from '../../../src/dashboard/options.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { exchange, splitReplies, statusOf } from '../../fixtures/server/server.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { ADMIN_TOKEN, admin, bearer, echo } from '../../fixtures/dashboard/admin-routes.js'

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
        'Host: localhost',
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
    t.equal(
      statusOf(await exchange(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)),
      '404',
      path,
    )

  const get = 'GET /assets/index-Ab_1-x9Z.js HTTP/1.1\r\nHost: localhost\r\n'
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
