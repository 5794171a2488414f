import { request } from 'node:http'
import t from 'tap'
import { ADA, BEN, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { admin, ADMIN_TOKEN, bearer } from '../../fixtures/dashboard/admin-routes.js'

t.test('changes of one person are limited, and those of another are not', async t => {
  const dashboard = { changesBurstMax: 4, changesPerMinuteMax: 1 }
  const { url, grant, accessService } = await startDashboard(t, { dashboard })
  const [ada, ben] = [new DashboardClient(url), new DashboardClient(url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  const pathOf = async (subject: string): Promise<string> => {
    const { accessId } = await grant(subject)
    return `/api/accesses/${accessId}/networks/main/locations/fra/token`
  }
  const [mine, other] = [await pathOf('ada'), await pathOf('ben')]
  t.equal((await ada.call('POST', mine)).status, 201)
  t.equal((await ada.call('POST', `${mine}/reveal`)).status, 200)
  t.equal((await ada.call('POST', `${mine}/regenerate`)).status, 200)
  t.equal((await ada.call('PUT', `${mine}/restriction`, { address: '8.8.8.8' })).status, 200)
  const before = accessService.list(mine.split('/')[3] ?? '')
  for (const [method, path] of [
    ['POST', `${mine}/regenerate`],
    ['POST', `${mine}/reveal`],
    ['PUT', `${mine}/restriction`],
    ['DELETE', mine],
  ] as const) {
    const answer = await ada.call(method, path, method === 'PUT' ? { address: '' } : undefined)
    t.equal(answer.status, 429, `${method} ${path.slice(-12)}`)
    const seconds = Number(answer.headers.get('retry-after'))
    t.ok(seconds > 50 && seconds <= 60, `${seconds} s`)
    t.match(answer.json, {
      error: {
        code: 'tooManyAttempts',
        message: `Too many attempts; try again in ${seconds} s`,
        data: { retryAfterSeconds: seconds },
      },
    })
  }
  t.strictSame(accessService.list(mine.split('/')[3] ?? ''), before, 'nothing has changed')
  t.equal((await ada.ask(mine.replace('/token', ''))).status, 200, 'reads go on')
  t.equal((await ben.call('POST', other)).status, 201)
})

/** Status of one request with exactly these headers. */
const statusOf = (port: number, path: string, headers: Record<string, string>) =>
  new Promise<number>((resolve, reject) => {
    const options = { port, host: '127.0.0.1', path, method: 'PUT', agent: false, headers }
    const sent = request(options, response => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end('{"text":"a"}')
  })

t.test(
  'wrong admin tokens are limited and no longer logged; the right one is accepted',
  async t => {
    const dashboard = { failuresBurstMax: 3, failuresPerMinuteMax: 1 }
    const { port, lines } = await startDashboard(t, { ...admin, dashboard })
    const json = { 'content-type': 'application/json' }
    const put = (authorization: string) =>
      statusOf(port, '/admin/echo/me', { ...json, authorization })
    const wrong = []
    for (let attempt = 0; attempt < 20; attempt++) wrong.push(await put(`Bearer ${ADMIN_TOKEN}x`))
    t.strictSame(wrong, [401, 401, 401, ...Array.from({ length: 17 }, () => 429)])
    t.equal(lines.filter(line => line.includes('admin token refused')).length, 3)
    t.equal(await put(bearer.authorization), 200)
  },
)

t.test('failed sign-ins are limited; one that succeeds is not', async t => {
  const dashboard = { failuresBurstMax: 3, failuresPerMinuteMax: 1 }
  const { url, lines } = await startDashboard(t, { dashboard })
  const client = new DashboardClient(url)
  const statuses = []
  for (let attempt = 0; attempt < 6; attempt++)
    statuses.push((await client.ask('/callback?code=a&state=b')).status)
  t.strictSame(statuses, [303, 303, 303, 429, 429, 429])
  t.equal(lines.filter(line => line.includes('a sign-in failed')).length, 3)
  await client.signIn(ADA)
  t.equal((await client.ask('/api/session')).status, 200)
})

t.test('the admin API is served under names of this machine, and not through a proxy', async t => {
  const dashboard = { adminHosts: ['ops.example'] }
  const { port } = await startDashboard(t, { ...admin, dashboard })
  const json = { 'content-type': 'application/json' }
  const put = (headers: Record<string, string>) =>
    statusOf(port, '/admin/echo/me', { ...json, ...bearer, ...headers })
  t.equal(await put({}), 200)
  t.equal(await put({ host: 'localhost' }), 200)
  t.equal(await put({ host: 'ops.example' }), 200)
  t.equal(await put({ host: 'evil.example' }), 404)
  for (const name of ['via', 'x-real-ip', 'x-forwarded-host', 'x-forwarded-for', 'forwarded'])
    t.equal(await put({ [name]: '127.0.0.1' }), 404, name)
})
