import t from 'tap'
import { EventStreams } from '../../../src/dashboard/events/event-streams.js'
import { defaults } from '../../../src/dashboard/events/options.js'
import {
  ADA,
  BEN,
  NO_ACCESS_USAGE,
  NO_PLACE_USAGE,
  startDashboard,
} from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { answersOf, eventsOf, openStream, watchOf } from '../../fixtures/dashboard/event-page.js'
import { latencyMax } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

t.test('changes, and the end of the session, are reported within seconds', async t => {
  const dashboard = await startDashboard(t)
  const [ada, ben] = [new DashboardClient(dashboard.url), new DashboardClient(dashboard.url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  const { accessId } = await dashboard.grant('ada')
  const scope = { accessId, network: 'main', location: 'fra' }
  const { page } = await openStream(t, dashboard, ada)
  const { page: other } = await openStream(t, dashboard, ben)
  t.equal(page.status, 200)
  t.match(page.headers.get('content-type'), /^text\/event-stream/)
  t.equal(page.headers.get('cache-control'), 'no-store')
  t.equal(page.headers.get('x-accel-buffering'), 'no')
  t.equal(page.headers.get('content-encoding'), null)
  t.equal(page.headers.get('connection'), 'close')
  await until('the first event', () => eventsOf(page).length === 1)
  t.match(page.text(), /^retry: 1000\nevent: accesses\ndata: [\w-]{22}\n\n$/)
  const changes: (() => Promise<unknown>)[] = [
    () => dashboard.accessService.generate(scope),
    () => dashboard.accessService.restrict(scope, '8.8.8.8'),
    () => dashboard.accessService.regenerate(scope),
    () => dashboard.accessService.revoke(scope),
    () => dashboard.accessService.extend(accessId, dashboard.clock.nowMs + 1_000),
    // It ends by itself.
    async () => (dashboard.clock.nowMs += 1_000),
  ]
  for (const [index, change] of changes.entries()) {
    const startMs = performance.now()
    await change()
    await until('it is reported', () => eventsOf(page).length === index + 2)
    t.ok(performance.now() - startMs < latencyMax(5_000))
  }
  t.equal(eventsOf(other).length, 1, 'those of another person are not')
  await ada.call('POST', '/api/sign-out', {})
  await until('the stream has ended', () => page.hasEnded())
  t.equal(eventsOf(page).at(-1), 'signed-out')
  t.notOk(other.hasEnded())
  t.equal((await openStream(t, dashboard, ada)).page.status, 401)
})

t.test('answers that a page watches are sent when they have changed', async t => {
  const events = { ...defaults, checkMs: 20, watchedMax: 3, watchedBytesMax: 4_000 }
  const use = { ...NO_ACCESS_USAGE, sockets: 0 }
  let isLong = false
  const dashboard = await startDashboard(t, {
    dashboard: { events, operators: ['ben'] },
    usage: {
      ...NO_PLACE_USAGE,
      // Named in the answer.
      ofAccess: () => ({
        ...use,
        ...(isLong && { missing: Array.from({ length: 99 }, () => 'x'.repeat(50)) }),
      }),
    },
  })
  const [ada, ben] = [new DashboardClient(dashboard.url), new DashboardClient(dashboard.url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/usage`
  const paths = [
    '/api/operator/nodes',
    path,
    '/api/accesses',
    `/api/accesses/${accessId}/submissions/export?format=csv`,
    `/api/accesses/${accessId}/../usage`,
    '/admin/accesses',
  ]
  const { page } = await openStream(t, dashboard, ada, watchOf(paths))
  await until('it says what it sends', () => page.text().includes('event: watching'))
  t.match(page.text(), /event: watching\ndata: \[1\]\n/, 'neither of operators nor of other routes')
  await until('the first answer', () => answersOf(page).length === 1)
  t.match(answersOf(page), [{ path, body: { sockets: 0 } }])
  await new Promise(resolve => setTimeout(resolve, 2_300))
  t.equal(answersOf(page).length, 1, 'nothing has changed')
  use.sockets = 3
  await until('the second answer', () => answersOf(page).length === 2)
  t.match(answersOf(page)[1], { path, body: { sockets: 3 } })
  t.notOk(page.hasEnded())

  const { page: other } = await openStream(
    t,
    dashboard,
    ben,
    watchOf([path, '/api/operator/nodes']),
  )
  await until('that of another person is not', () =>
    /event: watching\ndata: \[1\]\n/.test(other.text()),
  )
  t.notMatch(other.text(), '"sockets"')
  isLong = true
  use.sockets = 4
  const many = await openStream(t, dashboard, ada, watchOf(Array.from({ length: 9 }, () => path)))
  await until('a long answer is not sent', () => /watching\ndata: \[\]/.test(page.text()))
  t.match(many.page.text(), /event: watching\ndata: \[0,1,2\]\n/, 'at most as many')
  for (const wrong of ['x', '{}', '[1]', `["${'x'.repeat(9_000)}"]`])
    t.equal(
      (await openStream(t, dashboard, ada, watchOf(wrong))).page.status,
      400,
      wrong.slice(0, 9),
    )
})

t.test('an open stream does not keep a session', async t => {
  const dashboard = await startDashboard(t, { dashboard: { sessionIdleMs: 60_000 } })
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const { page } = await openStream(t, dashboard, ada)
  dashboard.clock.nowMs += 59_000
  await new Promise(resolve => setTimeout(resolve, 1_500))
  t.notOk(page.hasEnded())
  dashboard.clock.nowMs += 1_000
  await until('the stream has ended', () => page.hasEnded())
  t.equal(eventsOf(page).at(-1), 'signed-out')
})

t.test('streams are bounded, kept alive, and ended with the process', async t => {
  const events = {
    ...defaults,
    streamsPerSessionMax: 2,
    streamsMax: 3,
    heartbeatMs: 100,
    checkMs: 50,
  }
  const dashboard = await startDashboard(t, { dashboard: { events } })
  const [ada, ben] = [new DashboardClient(dashboard.url), new DashboardClient(dashboard.url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  const first = await openStream(t, dashboard, ada)
  const second = await openStream(t, dashboard, ada)
  t.equal((await openStream(t, dashboard, ada)).page.status, 503, 'of a session')
  const third = await openStream(t, dashboard, ben)
  t.equal((await openStream(t, dashboard, ben)).page.status, 503, 'of all')
  t.strictSame(
    [first, second, third].map(({ page }) => page.status),
    [200, 200, 200],
  )
  first.stop()
  await until('its place is free', async () => {
    const { page, stop } = await openStream(t, dashboard, ada)
    stop()
    return page.status === 200
  })
  await until('heartbeats', () => /(\n:\n){2}/.test(second.page.text()))
  const startMs = performance.now()
  const restarted = dashboard.restart()
  await until('the stream has ended', () => second.page.hasEnded())
  const tookMs = performance.now() - startMs
  t.ok(tookMs < latencyMax(1_000), `a page can connect again after ${tookMs} ms`)
  await restarted
  t.notMatch(second.page.text(), /signed-out/)
  t.equal((await openStream(t, dashboard, ada)).page.status, 200, 'the next process has it')
})

t.test('a page that takes nothing is given up', async t => {
  let change = 0
  const faults: unknown[] = []
  const streams = new EventStreams({
    options: { ...defaults, checkMs: 1, waitingBytesMax: 256 },
    stateOf: () => String(change++),
    isValid: () => true,
    elapsed: () => performance.now(),
    onError: fault => faults.push(fault),
  })
  t.teardown(() => streams.close())
  const stream = streams.open({ id: 'a', subject: 'ada', verifiedEmail: '' })
  let seen = 0
  await until('no more is sent', () => change > 3 && seen === (seen = change))
  let bytes = 0
  await t.rejects(async () => {
    for await (const chunk of stream) bytes += chunk.length
  }, /takes no events/)
  t.ok(bytes <= 256)
  t.strictSame(faults, [])
})
