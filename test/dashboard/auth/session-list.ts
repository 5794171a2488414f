import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { openAuditLog } from '../../../src/access/audit/audit-log.js'
import { defaults as auditDefaults } from '../../../src/access/audit/options.js'
import { createSessions, type ListedSession } from '../../../src/dashboard/auth/session.js'
import { defaults } from '../../../src/dashboard/options.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { ADA, BEN, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { until } from '../../fixtures/until.js'

const ADA_PERSON = { subject: 'ada', email: 'a@a', verifiedEmail: 'a@a', name: 'Ada' }

/** Less than the clocks of dashboard and provider may differ. */
const TOUCH_MS = 1_000
const IDLE_MS = 10_000

type Listed = ListedSession & { readonly isCurrent: boolean }

const listOf = async (client: DashboardClient): Promise<readonly Listed[]> => {
  const { json, status } = await client.ask('/api/sessions')
  if (status !== 200) throw new Error(`not listed: ${status}`)
  return Object(json).sessions
}

const statusOf = async (client: DashboardClient): Promise<number> =>
  (await client.ask('/api/session')).status

t.test('sessions are listed, and one can be ended, which is in effect at once', async t => {
  const dataDir = ownDir(t)
  const { url, clock, port } = await startDashboard(t, {
    dataDir,
    trustedProxies: ['127.0.0.1'],
    dashboard: { sessionTouchMs: TOUCH_MS },
  })
  const [laptop, phone, ben] = Array.from({ length: 3 }, () => new DashboardClient(url)) as [
    DashboardClient,
    DashboardClient,
    DashboardClient,
  ]
  const firstMs = clock.nowMs
  await laptop.signIn(ADA)
  clock.nowMs += TOUCH_MS
  const back = await phone.authorize(ADA)
  const headers = {
    'user-agent': 'Mozilla/5.0 (Android 14; Mobile; rv:133.0) Gecko/133.0 Firefox/133.0',
    'x-forwarded-for': '8.8.4.4',
  }
  await phone.ask(back, { headers })
  await ben.signIn(BEN)

  const shown = await listOf(laptop)
  t.match(shown, [
    { createdAtMs: clock.nowMs, isCurrent: false, browser: 'Firefox on Android' },
    { createdAtMs: firstMs, seenAtMs: clock.nowMs, isCurrent: true, address: '127.0.0.1' },
  ])
  t.equal(shown[0]?.address, '8.8.4.4')
  t.equal(shown.length, 2, 'those of other persons are not listed')
  t.equal(shown[1]?.expiresAtMs, clock.nowMs + defaults.sessionIdleMs)
  clock.nowMs += TOUCH_MS
  await phone.ask('/api/session', { headers: { 'x-forwarded-for': '8.8.8.8' } })
  t.equal((await listOf(laptop)).find(one => !one.isCurrent)?.address, '8.8.8.8', 'it has moved')

  const secret = laptop.cookies.get(`slotline-session-${port}`) ?? ''
  t.notMatch(JSON.stringify(shown), secret, 'the list has no id of a session')
  const thief = new DashboardClient(url)
  thief.cookies.set(`slotline-session-${port}`, shown[1]?.sessionId ?? '')
  t.equal(await statusOf(thief), 401, 'what names it opens nothing')

  const path = `/api/sessions/${shown[0]?.sessionId}`
  t.equal((await ben.call('DELETE', path)).status, 404, 'someone else')
  t.equal(await statusOf(phone), 200)
  t.equal((await laptop.ask(path, { method: 'DELETE' })).status, 403, 'another site')
  t.equal((await laptop.call('DELETE', path)).status, 204)
  t.equal(await statusOf(phone), 401)
  t.equal((await laptop.call('DELETE', path)).status, 404, 'it has ended')
  t.equal(await statusOf(laptop), 200)

  const log = openAuditLog(dataDir, auditDefaults, Date.now)
  const [entry, ...more] = (await log.read({ beforeMs: Infinity, limit: 50 })).filter(
    ({ action }) => action === 'end-session',
  )
  t.match(entry, { by: ADA.subject, from: '127.0.0.1' })
  t.strictSame(entry?.request, { sessionId: shown[0]?.sessionId })
  t.equal(more.length, 0)
})

t.test('all other sessions of a person can be ended', async t => {
  const dataDir = ownDir(t)
  const { url } = await startDashboard(t, { dataDir })
  const clients = Array.from({ length: 4 }, () => new DashboardClient(url))
  for (const client of clients) await client.signIn(ADA)
  const ben = new DashboardClient(url)
  await ben.signIn(BEN)
  const [own = ben, ...others] = clients
  const { json, status } = await own.call('POST', '/api/sessions/end-others')
  t.equal(status, 200)
  t.strictSame(json, { ended: 3 })
  t.strictSame(await Promise.all(others.map(statusOf)), [401, 401, 401])
  t.equal(await statusOf(own), 200)
  t.equal(await statusOf(ben), 200)
  t.equal((await listOf(own)).length, 1)
  const log = openAuditLog(dataDir, auditDefaults, Date.now)
  t.match(await log.read({ beforeMs: Infinity, limit: 1 }), [{ action: 'end-sessions', by: 'ada' }])
})

t.test('an expired session is not listed', async t => {
  const { url, clock } = await startDashboard(t, { dashboard: { sessionIdleMs: IDLE_MS } })
  const [old, current] = [new DashboardClient(url), new DashboardClient(url)]
  await old.signIn(ADA)
  clock.nowMs += IDLE_MS - 1
  await current.signIn(ADA)
  t.equal((await listOf(current)).length, 2)
  clock.nowMs += 1
  t.equal((await listOf(current)).length, 1)
})

t.test('a request reads the sessions of its person, and not those of all others', async t => {
  const dashboard = await startDashboard(t, { dashboard: { operators: [BEN.subject] } })
  const { url, store } = dashboard
  const { accessId } = await dashboard.grant('ada')
  const [ada, ben] = [new DashboardClient(url), new DashboardClient(url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  await dashboard.restart()
  // Connections of before are closed.
  for (const client of [ada, ben])
    await until('it answers', async () => (await statusOf(client).catch(() => 0)) === 200)
  store.sessions.from = () => {
    throw new Error('all sessions are read')
  }
  const another = new DashboardClient(url)
  await another.signIn(ADA)
  t.equal((await listOf(ada)).length, 2)
  const { json } = await ben.ask('/api/operator/accesses?find=ADA@test')
  t.match(json, { accesses: [{ accessId, email: ADA.email }] })
  t.strictSame((await ada.call('POST', '/api/sessions/end-others')).json, { ended: 1 })
  t.equal(await statusOf(another), 401)
  t.equal((await listOf(ada)).length, 1)
})

t.test('more expired sessions than are looked at in one turn are removed', async t => {
  const { clock, store, url } = await startDashboard(t, { dashboard: { sessionSweepMs: 20 } })
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const all = () => Array.from(store.sessions.from(new Uint8Array()))
  const [[, record] = []] = all()
  if (record === undefined) throw new Error('it is not stored')
  await store.transaction(() => {
    for (let nth = 0; nth < 600; nth++)
      store.sessions.put(randomBytes(32), { ...record, createdAtMs: 0, seenAtMs: 0 })
  })
  clock.nowMs += 1
  await until('they are removed', () => all().length === 1)
  t.equal(await statusOf(ada), 200)
})

/** Sessions in a store of their own, and how often a session is read from it. */
const openOwn = async (t: Test) => {
  const { store } = await startDashboard(t)
  const sessions = createSessions({
    store,
    options: defaults,
    randomBytes,
    now: () => 1_000_000,
    onError: error => t.error(error),
  })
  const address = '127.0.0.1'
  const start = { person: ADA_PERSON, authenticatedAtMs: 1_000_000, address, browser: 'b' }
  return { sessions, start, store }
}

t.test('a session that is being opened is ended with the others of its person', async t => {
  const { sessions, start } = await openOwn(t)
  const opened = sessions.open(start)
  const ended = sessions.endOf(ADA_PERSON.subject, () => true)
  t.equal(sessions.isValid(await opened) || (await ended) !== 1, false)
  t.equal(sessions.list(ADA_PERSON.subject).length, 0)
})

t.test('sign-ins that cannot be stored leave nothing in memory', async t => {
  const { sessions, start, store } = await openOwn(t)
  const { transaction } = store
  // The commit fails, after its work.
  store.transaction = async <T>(work: () => T): Promise<T> => {
    await transaction.call(store, () => {
      work()
      throw new Error('the disk is full')
    })
    throw new Error('it was stored')
  }
  for (let nth = 0; nth < 20; nth++) await t.rejects(sessions.open(start), /the disk is full/)
  store.transaction = transaction
  const { get } = store.sessions
  let reads = 0
  store.sessions.get = key => {
    reads++
    return get.call(store.sessions, key)
  }
  t.equal(sessions.list(ADA_PERSON.subject).length, 0)
  t.equal(reads, 0, 'no key of them is looked up')
  t.ok(sessions.isValid(await sessions.open(start)))
})
