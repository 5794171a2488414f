import t from 'tap'
import { startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'

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
    /^__Host-slotline-sign-in-[\w-]{12}=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  )
  t.equal(headers.get('strict-transport-security'), 'max-age=31536000; includeSubDomains')
})
