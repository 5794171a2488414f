import t, { type Test } from 'tap'
import { EventStreams } from '../../../src/dashboard/events/event-streams.js'
import { defaults } from '../../../src/dashboard/events/options.js'
import { ADA, BEN, startDashboard, type TestDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { isSoak } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

/** A page that is open. */
type Page = {
  readonly status: number
  readonly headers: Headers
  /** What was received. */
  readonly text: () => string
  readonly hasEnded: () => boolean
}

const openStream = async (t: Test, { url }: TestDashboard, client: DashboardClient) => {
  const stopping = new AbortController()
  t.teardown(() => stopping.abort())
  const cookie = Array.from(client.cookies, ([name, value]) => `${name}=${value}`).join('; ')
  const response = await fetch(`${url}/api/events`, {
    headers: { cookie, 'accept-encoding': 'gzip' },
    signal: stopping.signal,
  })
  let text = ''
  let hasEnded = false
  const read = async (): Promise<void> => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString()
  }
  void read()
    .catch(() => {})
    .finally(() => (hasEnded = true))
  const page: Page = {
    status: response.status,
    headers: response.headers,
    text: () => text,
    hasEnded: () => hasEnded,
  }
  return { page, stop: () => stopping.abort() }
}

const eventsOf = (page: Page): string[] =>
  [...page.text().matchAll(/^event: (\S+)$/gm)].map(([, name = '']) => name)

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
    t.ok(performance.now() - startMs < 5_000)
  }
  t.equal(eventsOf(other).length, 1, 'those of another person are not')
  await ada.call('POST', '/api/sign-out', {})
  await until('the stream has ended', () => page.hasEnded())
  t.equal(eventsOf(page).at(-1), 'signed-out')
  t.notOk(other.hasEnded())
  t.equal((await openStream(t, dashboard, ada)).page.status, 401)
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
  t.ok(tookMs < (isSoak ? 1_000 : 5_000), `a page can connect again after ${tookMs} ms`)
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
  const stream = streams.open({ id: 'a', subject: 'ada' })
  let seen = 0
  await until('no more is sent', () => change > 3 && seen === (seen = change))
  let bytes = 0
  await t.rejects(async () => {
    for await (const chunk of stream) bytes += chunk.length
  }, /takes no events/)
  t.ok(bytes <= 256)
  t.strictSame(faults, [])
})
