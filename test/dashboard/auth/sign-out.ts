import t from 'tap'
import { defaults } from '../../../src/dashboard/options.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { arrive, isSignedIn, leave, setUpSignIn } from '../../fixtures/dashboard/sign-in-steps.js'

/** Signs out; returns where the browser goes to end the session of the provider. */
const signOut = async (client: DashboardClient): Promise<unknown> => {
  const { json, status } = await client.call('POST', '/api/sign-out')
  if (status !== 200) throw new Error(`not signed out: ${status}`)
  return Object(json).providerUrl
}

const isForm = (url: string): boolean => url.includes('/interaction/')

t.test('after a sign-out the provider asks for the password again', async t => {
  const { url } = await startDashboard(t)
  const ada = new DashboardClient(url)
  const isBack = (to: string): boolean => to.startsWith(`${url}/callback`)
  await ada.signIn(ADA)
  t.ok(isBack(await ada.follow('/sign-in', isBack)), 'the provider has a session')

  // Whether or not the browser follows it to the end of the session of the provider.
  await signOut(ada)
  t.ok(isForm(await ada.follow('/sign-in', isBack)))
  t.equal(await ada.signIn(ADA), '/')
  t.ok(isBack(await ada.follow('/sign-in', isBack)), 'until it has asked')
})

t.test('a sign-out leads to the end of the session of the provider', async t => {
  const { url, issuer } = await startDashboard(t)
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const leaving = new URL(String(await signOut(ada)))
  t.equal(leaving.origin, issuer)
  t.equal(leaving.searchParams.get('post_logout_redirect_uri'), `${url}/`)
  t.equal(leaving.searchParams.get('client_id'), 'dashboard-under-test')
  t.equal(leaving.searchParams.has('id_token_hint'), false, 'no token in a URL')
  const { text, status } = await ada.ask(leaving.href)
  t.equal(status, 200)
  const [, action = ''] = /action="([^"]+)"/.exec(text) ?? []
  const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(text) ?? []
  const back = await ada.follow(action, to => to.startsWith(url), {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ xsrf, logout: 'yes' }).toString(),
  })
  t.equal(back, `${url}/`)
  // Without the mark of the dashboard.
  for (const name of [...ada.cookies.keys()])
    if (name.includes('signed-out')) ada.cookies.delete(name)
  t.ok(isForm(await ada.follow('/sign-in', () => false)), 'its session has ended')
})

t.test('a provider may have such a page or not', async t => {
  const setup = await setUpSignIn(t)
  t.equal(await arrive(setup.client, await leave(setup)), '/')
  t.equal(await signOut(setup.client), null)
  t.notOk(await isSignedIn(setup.client))

  const here = await setUpSignIn(t)
  here.provider.fault = { discovery: { end_session_endpoint: `${here.provider.issuer}/end` } }
  t.equal(await arrive(here.client, await leave(here)), '/')
  t.match(await signOut(here.client), `${here.provider.issuer}/end?`)
})

t.test('a failed discovery at the sign-out ends the session here', async t => {
  const setup = await setUpSignIn(t, { dashboard: { discoveryMs: 1 } })
  t.equal(await arrive(setup.client, await leave(setup)), '/')
  setup.dashboard.clock.nowMs += 1
  setup.provider.fault = { discovery: { issuer: 'https://evil.example' } }
  t.equal(await signOut(setup.client), null)
  t.notOk(await isSignedIn(setup.client))
  t.match(setup.dashboard.lines.join(), 'the session of the identity provider was not ended')
})

t.test('`signOut = "here"` keeps the session of the provider', async t => {
  const setup = await setUpSignIn(t, { signOut: 'here' })
  const { client, provider } = setup
  provider.fault = { discovery: { end_session_endpoint: `${provider.issuer}/end` } }
  t.equal(await arrive(client, await leave(setup)), '/')
  t.equal(await signOut(client), null)
  const { headers } = await client.ask('/sign-in')
  const asked = new URL(headers.get('location') ?? '').searchParams
  t.equal(asked.get('prompt'), 'login', 'the next sign-in asks for the password')
  t.equal(asked.get('max_age'), String(defaults.recentSignInMs / 1_000))
})

t.test('an `auth_time` of before the sign-out is refused', async t => {
  const setup = await setUpSignIn(t)
  const { client, provider, dashboard } = setup
  const seconds = (): number => Math.floor(dashboard.clock.nowMs / 1_000)
  const path = '/sign-in?prompt=login'
  const cases: readonly (readonly [authTime: number | undefined, to: string])[] = [
    [undefined, '/'],
    [seconds() + 2, '/'],
    [seconds() - 29, '/'],
    [seconds() - 32, '/?sign-in=stale'],
    [seconds() - 3_600, '/?sign-in=stale'],
  ]
  for (const [authTime, to] of cases) {
    client.cookies.clear()
    provider.fault = { claims: { auth_time: authTime } }
    t.equal(await arrive(client, await leave(setup, path)), to, String(authTime))
    t.equal(await isSignedIn(client), to === '/')
  }
})
