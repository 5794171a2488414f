import t from 'tap'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { arrive, isSignedIn, leave, setUpSignIn } from '../../fixtures/dashboard/sign-in-steps.js'

const sessionCount = (setup: Awaited<ReturnType<typeof setUpSignIn>>): number =>
  Array.from(setup.dashboard.store.sessions.from(new Uint8Array())).length

const pendingCount = ({ cookies }: DashboardClient): number =>
  [...cookies.keys()].filter(name => name.includes('sign-in')).length

t.test('two tabs that sign in at once both succeed, in either order', async t => {
  for (const isReversed of [false, true]) {
    const setup = await setUpSignIn(t)
    const { client, provider } = setup
    const tabs: { readonly query: URLSearchParams; readonly nonce: string }[] = []
    for (let count = 0; count < 2; count++) {
      const query = await leave(setup)
      tabs.push({ query, nonce: provider.nonce })
    }
    t.equal(pendingCount(client), 2)
    for (const { query, nonce } of isReversed ? tabs.toReversed() : tabs) {
      provider.nonce = nonce
      t.equal(await arrive(client, query), '/')
      t.ok(await isSignedIn(client))
      t.equal(sessionCount(setup), 1, 'the second sign-in of a browser replaces its first session')
    }
    t.equal(pendingCount(client), 0)
  }
})

t.test('each tab has a state of its own', async t => {
  const setup = await setUpSignIn(t)
  const { client, provider } = setup
  const first = await leave(setup)
  const firstNonce = provider.nonce
  const second = await leave(setup)
  provider.nonce = firstNonce
  t.equal(await arrive(client, second), '/?sign-in=failed', 'the answer for the other tab')
  t.equal(pendingCount(client), 1, 'only the failed sign-in has ended')
  t.equal(await arrive(client, first), '/', 'the other tab goes on')
  t.ok(await isSignedIn(client))
})

t.test('one browser has a bounded number of sign-ins in progress', async t => {
  const setup = await setUpSignIn(t, { dashboard: { signInsPerBrowserMax: 3 } })
  const { client, dashboard, provider } = setup
  const oldest = await leave(setup)
  const nonces: string[] = []
  const others: URLSearchParams[] = []
  for (let count = 0; count < 3; count++) {
    dashboard.clock.nowMs += 1
    others.push(await leave(setup))
    nonces.push(provider.nonce)
  }
  t.equal(pendingCount(client), 3)
  t.equal(await arrive(client, oldest), '/?sign-in=failed', 'the oldest is lost')
  for (const [index, query] of others.entries()) {
    provider.nonce = nonces[index] ?? ''
    t.equal(await arrive(client, query), '/')
  }
  await leave(setup)
  for (const name of client.cookies.keys())
    if (name.includes('sign-in')) client.cookies.set(name, 'from-before-a-restart')
  await leave(setup)
  t.equal(pendingCount(client), 1, 'state of another process is removed')
})
