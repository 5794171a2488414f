import t from 'tap'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'

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
  t.match(pending, /^slotline-sign-in-[\w-]{12}-\d+=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/)
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
