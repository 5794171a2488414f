import { join } from 'node:path'
import t from 'tap'
import { defaults as eventDefaults } from '../../../src/dashboard/events/options.js'
import { defaults } from '../../../src/dashboard/options.js'
import { route } from '../../../src/dashboard/http/route.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { until } from '../../fixtures/until.js'
import { connect, exchange, statusOf } from '../../fixtures/server/server.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { ADMIN_TOKEN, admin, bearer } from '../../fixtures/dashboard/admin-routes.js'

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

t.test('an answer before the end of a body closes the connection', async t => {
  const { port } = await startDashboard(t, admin)
  const next = 'GET /api/session HTTP/1.1\r\nHost: a\r\n\r\n'
  const put = 'PUT /admin/echo/me HTTP/1.1\r\nHost: 127.0.0.1\r\n'
  const length = `Content-Length: ${next.length + 2}\r\n\r\n`
  const large = `Content-Length: ${defaults.bodyBytesMax + 1}\r\n\r\n`
  const allowed = `Authorization: Bearer ${ADMIN_TOKEN}\r\n`
  const cases: [name: string, bytes: string, status: string][] = [
    ['no token', `${put}${length}{`, '401'],
    ['too long', `${put}${allowed}${large}{`, '413'],
    ['an unknown path', `POST /x HTTP/1.1\r\nHost: a\r\n${length}{`, '404'],
  ]
  for (const [name, bytes, status] of cases) {
    const connection = await connect(port)
    connection.socket.write(bytes)
    await connection.closed
    const received = connection.received()
    t.equal(statusOf(received), status, name)
    t.match(received, /^connection: close\r$/im, name)
  }
  const whole = `${put}Content-Length: 2\r\n\r\n{}${next}`
  const connection = await connect(port)
  connection.socket.write(whole)
  await connection.until(received => received.split('HTTP/1.1 401').length === 3)
  t.notMatch(connection.received(), /^connection: close\r$/im, 'a whole body keeps it')
  connection.socket.destroy()
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
    adminTokens: admin.adminTokens,
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

t.test('it closes at once, whatever connections are open', async t => {
  const events = { ...eventDefaults, streamsPerSessionMax: 40 }
  let finish: (() => void) | undefined
  const slow = route({
    method: 'POST',
    path: '/admin/slow',
    guard: 'admin',
    summary: 'Waits',
    answers: { 204: { description: 'At last' } },
    handle: () => new Promise(resolve => (finish = () => resolve({ status: 204 }))),
  })
  const dashboard = await startDashboard(t, {
    adminTokens: admin.adminTokens,
    adminRoutes: [slow],
    dashboard: { events },
  })
  const { port, url } = dashboard
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const cookie = Array.from(ada.cookies, ([name, value]) => `${name}=${value}`).join('; ')
  const openStream = async () => {
    const connection = await connect(port)
    connection.socket.write(`GET /api/events HTTP/1.1\r\nHost: a\r\nCookie: ${cookie}\r\n\r\n`)
    await until('the first event', () => connection.received().includes('event: accesses'))
    return connection
  }
  const streams = await Promise.all(Array.from({ length: 40 }, openStream))
  // A browser connects before it has something to send.
  const silent = await connect(port)
  const used = await connect(port)
  used.socket.write('GET /api/session HTTP/1.1\r\nHost: a\r\n\r\n')
  await until('an answer', () => used.received() !== '')
  const waiting = await connect(port)
  waiting.socket.write(
    `POST /admin/slow HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n\r\n`,
  )
  await until('it is in flight', () => finish !== undefined)
  for (const { socket } of streams.slice(20)) socket.resetAndDestroy()
  const startMs = performance.now()
  setTimeout(() => finish?.(), 300)
  await dashboard.restart()
  const tookMs = performance.now() - startMs
  t.ok(tookMs < defaults.drainMs / 2, `it took ${tookMs.toFixed(0)} ms`)
  await Promise.all([silent, used, waiting, ...streams].map(({ closed }) => closed))
  t.match(waiting.received(), /^HTTP\/1\.1 204 /, 'the request in flight is answered')
})
