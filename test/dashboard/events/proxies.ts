// The stream of events through common proxies, as docs/proxies.md configures them. A proxy that is
// not installed is skipped; in CI it fails.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { defaults } from '../../../src/dashboard/events/options.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { hasProxy, PROXIES, startProxy, type Proxy } from '../../fixtures/server/proxies.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { latencyMax } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

/** Time-outs of the proxies, which are 150 s in the document. */
const TIMEOUT_MS = 1_000
/** Of the events and heartbeats, which are 1 s and 10 s by default. */
const EVENTS = { ...defaults, checkMs: 50, heartbeatMs: 300, streamsPerSessionMax: 1 }
/** An event that is at once; other tests run beside those of `npm test`. */
const AT_ONCE_MS = latencyMax(700)

const openStream = async (t: Test, url: string, cookie: string) => {
  // As a browser: HTTP/2 where the proxy speaks it.
  const agent = new Agent({ connect: { rejectUnauthorized: false }, allowH2: true })
  t.teardown(() => agent.destroy())
  const stop = new AbortController()
  const { statusCode, headers, body } = await request(`${url}/api/events`, {
    dispatcher: agent,
    headers: { cookie, 'accept-encoding': 'gzip, br, zstd' },
    signal: stop.signal,
  })
  let text = ''
  let hasEnded = false
  body.on('data', chunk => (text += String(chunk)))
  for (const name of ['end', 'error', 'close']) body.on(name, () => (hasEnded = true))
  return {
    statusCode,
    headers,
    events: () => [...text.matchAll(/^event: accesses$/gm)].length,
    heartbeats: () => [...text.matchAll(/^:$/gm)].length,
    hasEnded: () => hasEnded,
    close: () => stop.abort(),
  }
}

const openBehind = async (t: Test, proxy: Proxy) => {
  const dir = ownDir(t, { data: {}, pages: { 'index.html': 'the page' }, proxy: {} })
  const dashboard = await startDashboard(t, {
    dataDir: join(dir, 'data'),
    pagesDir: join(dir, 'pages'),
    dashboard: { events: EVENTS },
  })
  const { url } = await startProxy(t, proxy, {
    upstream: dashboard.port,
    dir: join(dir, 'proxy'),
    edit: config => config.replaceAll('/health', '/').replaceAll(/\b150s/g, `${TIMEOUT_MS}ms`),
  })
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const cookie = Array.from(ada.cookies, ([name, value]) => `${name}=${value}`).join('; ')
  /** Again where the proxy closes a connection that was made in more than its time-out. */
  const open = async (): ReturnType<typeof openStream> =>
    openStream(t, url, cookie).catch((error: unknown) => {
      if (String(error).includes('other side closed')) return open()
      throw error
    })
  return { dashboard, open }
}

// Beside each other: each waits most of the time.
t.jobs = PROXIES.length
for (const proxy of PROXIES)
  t.test(`events behind ${proxy.name}`, async t => {
    if (!hasProxy(t, proxy)) return
    const { dashboard, open } = await openBehind(t, proxy)
    const { accessId } = await dashboard.grant('ada')
    let stream = await open().catch(() => undefined)
    await until('the proxy answers', async () => {
      if (stream?.statusCode !== 200) stream = await open().catch(() => undefined)
      return stream?.statusCode === 200
    })
    if (stream === undefined) return
    t.equal(stream.headers['content-encoding'], undefined)
    t.match(stream.headers['content-type'], /^text\/event-stream/)
    await until('the first event', () => stream?.events() === 1)
    const scope = { accessId, network: 'main', location: 'fra' }
    const changes = [
      () => dashboard.accessService.generate(scope),
      () => dashboard.accessService.revoke(scope),
    ]
    for (const [index, change] of changes.entries()) {
      await change()
      const startMs = performance.now()
      await until('it is reported', () => stream?.events() === index + 2)
      const tookMs = performance.now() - startMs
      t.ok(tookMs < AT_ONCE_MS, `an event took ${tookMs.toFixed(0)} ms`)
    }
    const before = stream.heartbeats()
    await new Promise(resolve => setTimeout(resolve, 3 * TIMEOUT_MS))
    t.notOk(stream.hasEnded(), 'it outlives the time-outs of the proxy')
    t.ok(stream.heartbeats() - before >= 6, `${stream.heartbeats() - before} heartbeats`)
    t.equal((await open()).statusCode, 503, 'the session has no further stream')
    stream.close()
    await until('the place of the closed one is free', async () => {
      const next = await open()
      next.close()
      return next.statusCode === 200
    })
  })
