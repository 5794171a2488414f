import t from 'tap'
import { defaults } from '../../../src/dashboard/options.js'
import { ADA, BEN, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'

const { sessionIdleMs, sessionMaxMs, sessionTouchMs } = defaults

const statusOf = async (client: DashboardClient): Promise<number> =>
  (await client.ask('/api/session')).status

t.test('an idle session expires', async t => {
  const { url, clock } = await startDashboard(t)
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  clock.nowMs += sessionIdleMs - 1
  t.equal(await statusOf(ada), 200, 'a moment before')
  clock.nowMs += sessionIdleMs - 1
  t.equal(await statusOf(ada), 200, 'its use has lengthened it')
  clock.nowMs += sessionIdleMs
  t.equal(await statusOf(ada), 401, 'the moment itself')
  clock.nowMs -= sessionIdleMs
  const { json } = await ada.ask('/api/session')
  t.match(json, { expiresAtMs: clock.nowMs + sessionIdleMs }, 'being refused is no use of it')
})

t.test('a session expires even if used', async t => {
  const { url, clock } = await startDashboard(t)
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const endMs = clock.nowMs + sessionMaxMs
  while (clock.nowMs < endMs - sessionIdleMs) {
    clock.nowMs += sessionIdleMs / 2
    t.equal(await statusOf(ada), 200)
  }
  t.match(
    (await ada.ask('/api/session')).json,
    { expiresAtMs: endMs },
    'and the response has its expiry',
  )
  clock.nowMs = endMs - 1
  t.equal(await statusOf(ada), 200, 'a moment before')
  clock.nowMs = endMs
  t.equal(await statusOf(ada), 401, 'the moment itself')
})

t.test('a clock that is set back ends a session instead of extending it', async t => {
  const { url, clock } = await startDashboard(t)
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  clock.nowMs -= sessionTouchMs
  t.equal(await statusOf(ada), 200)
  clock.nowMs -= 1
  t.equal(await statusOf(ada), 401)
})

t.test('uses are stored at intervals only', async t => {
  const { url, clock, store } = await startDashboard(t)
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const seenAtMs = (): number | undefined =>
    Array.from(store.sessions.from(new Uint8Array()), ([, session]) => session.seenAtMs)[0]
  const first = seenAtMs()
  clock.nowMs += sessionTouchMs - 1
  await statusOf(ada)
  t.equal(seenAtMs(), first)
  clock.nowMs += 1
  await Promise.all([statusOf(ada), statusOf(ada)])
  // The next change waits for the previous one.
  await store.transaction(() => {})
  t.equal(seenAtMs(), clock.nowMs)
})

t.test('signing out ends a session for every copy of its cookie', async t => {
  const { url } = await startDashboard(t)
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const other = new DashboardClient(url)
  await other.signIn(ADA)
  const copy = new DashboardClient(url)
  for (const [name, value] of ada.cookies) copy.cookies.set(name, value)
  const answer = await ada.call('POST', '/api/sign-out')
  t.equal(answer.status, 200)
  t.match(answer.headers.get('set-cookie'), /^slotline-session-\d+=; .*Max-Age=0/)
  t.equal(await statusOf(copy), 401, 'the copy')
  t.equal((await copy.call('POST', '/api/sign-out')).status, 401)
  t.equal(await statusOf(other), 200, 'another session of the same user is still valid')
})

t.test('each sign-in gets a new id, and the previous id is invalid', async t => {
  const { url, store, port } = await startDashboard(t)
  const ada = new DashboardClient(url)
  const name = `slotline-session-${port}`
  // An attacker has put a known id into the browser.
  const planted = 'A'.repeat(43)
  ada.cookies.set(name, planted)
  await ada.signIn(ADA)
  const first = ada.cookies.get(name)
  t.match(first, /^[A-Za-z0-9_-]{43}$/)
  t.not(first, planted)
  t.equal(await statusOf(ada), 200)

  const before = new DashboardClient(url)
  before.cookies.set(name, first ?? '')
  await ada.signIn(BEN)
  t.not(ada.cookies.get(name), first)
  t.equal(await statusOf(before), 401)
  t.match((await ada.ask('/api/session')).json, { subject: 'ben', email: BEN.email, name: 'Ben' })
  t.equal(Array.from(store.sessions.from(new Uint8Array())).length, 1)
})

t.test('the stored form of an id is not accepted as an id', async t => {
  const { url, store, port } = await startDashboard(t)
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const [[key] = []] = Array.from(store.sessions.from(new Uint8Array()))
  const thief = new DashboardClient(url)
  for (const encoding of ['base64url', 'hex', 'latin1'] as const) {
    const text = Buffer.from(key ?? []).toString(encoding)
    thief.cookies.set(`slotline-session-${port}`, encodeURIComponent(text))
    t.equal(await statusOf(thief), 401, encoding)
  }
  t.notMatch(JSON.stringify([...ada.cookies]), Buffer.from(key ?? []).toString('base64url'))
})

t.test('sessions per person are limited, and the oldest is removed', async t => {
  const { url, clock } = await startDashboard(t, { dashboard: { sessionsPerPersonMax: 2 } })
  const clients = Array.from({ length: 3 }, () => new DashboardClient(url))
  const ben = new DashboardClient(url)
  await ben.signIn(BEN)
  for (const client of clients) {
    clock.nowMs += 1
    await client.signIn(ADA)
  }
  t.strictSame(await Promise.all(clients.map(statusOf)), [401, 200, 200])
  t.equal(await statusOf(ben), 200, 'a session of another user is not removed')
})

t.test('a restart keeps sessions, and expired ones are removed', async t => {
  const { url, clock, store, restart } = await startDashboard(t, {
    dashboard: { sessionSweepMs: 5 },
  })
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  await restart()
  t.equal(await statusOf(ada), 200)
  clock.nowMs += sessionIdleMs
  const count = (): number => Array.from(store.sessions.from(new Uint8Array())).length
  t.equal(count(), 1)
  while (count() > 0) await new Promise(resolve => setTimeout(resolve, 5))
  t.equal(await statusOf(ada), 401)
})
