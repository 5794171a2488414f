// Reads, WebSockets and health checks through common proxies, as docs/proxies.md configures them. A
// proxy that is not installed is skipped; in CI it fails.
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { Agent, request, WebSocket } from 'undici'
import { hasProxy, PROXIES, startProxy, type Proxy } from '../fixtures/server/proxies.js'
import { openTestServer, text } from '../fixtures/server/server.js'
import { until } from '../fixtures/until.js'

const openBehind = async (t: Test, proxy: Proxy) => {
  let health = 200
  const { port: upstream, server } = await openTestServer(
    t,
    [
      { bodyBytesMax: 4_000_000, handle: (_, body) => text(Buffer.from(body).toString()) },
      {
        pattern: '/address',
        open: request => request.address,
        handle: address => text(String(address)),
      },
      { method: 'GET', pattern: '/health', bodyBytesMax: 0, handle: () => text('ok', health) },
    ],
    {
      options: { trustedProxies: ['127.0.0.1'] },
      sockets: [
        {
          pattern: '/socket',
          frameBytesMax: 1_000,
          open: () => undefined,
          onOpen() {},
          onMessage: (_, socket, message) => void socket.send(Buffer.from(message)),
          onClose() {},
        },
      ],
    },
  )
  const { url, errors } = await startProxy(t, proxy, { upstream, dir: t.testdir() })
  const dispatcher = new Agent({
    connections: 4,
    localAddress: '127.0.0.5',
    connect: { rejectUnauthorized: false },
  })
  t.teardown(() => dispatcher.close())
  const isHealthy = (): Promise<boolean> =>
    request(`${url}/health`, { dispatcher }).then(
      async ({ body, statusCode }) => statusCode === 200 && (await body.text()) === 'ok',
      () => false,
    )
  await until('the proxy answers', isHealthy, 10_000).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${errors()}`)
  })
  return { url, dispatcher, server, isHealthy, setHealth: (status: number) => (health = status) }
}

/** Answers of a WebSocket that sends back what it is sent. */
const echo = async (t: Test, url: string, dispatcher: Agent) => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/socket`, { dispatcher })
  await once(socket, 'open')
  t.teardown(() => socket.close())
  return async (message: string): Promise<string> => {
    socket.send(message)
    const [{ data }] = (await once(socket, 'message')) as [{ data: string }]
    return data
  }
}

// Beside each other: each waits for 13 s.
t.jobs = PROXIES.length
for (const proxy of PROXIES) {
  t.test(`behind ${proxy.name}`, async t => {
    if (!hasProxy(t, proxy)) return
    const { url, dispatcher, server, isHealthy, setHealth } = await openBehind(t, proxy)
    const post = async (body: string): Promise<string> => {
      const reply = await request(`${url}/t`, { method: 'POST', body, dispatcher })
      return `${reply.statusCode} ${await reply.body.text()}`
    }
    const bodies = Array.from({ length: 200 }, (_, index) => `body ${index}`)
    const replies = await Promise.all(bodies.map(post))
    t.strictSame(
      replies,
      bodies.map(body => `200 ${body}`),
    )
    if (proxy.scheme === 'https') {
      const { connections } = server.stats()
      t.ok(connections > 0 && connections < 40, `${connections} connections are kept`)
      const large = 'x'.repeat(3_000_000)
      t.equal(await post(large), `200 ${large}`)
    }
    for (const headers of [{}, { 'x-forwarded-for': '9.9.9.9' }]) {
      const reply = await request(`${url}/address`, {
        method: 'POST',
        body: 'x',
        headers,
        dispatcher,
      })
      t.equal(await reply.body.text(), '127.0.0.5', 'the address of the client')
    }
    const ask = await echo(t, url, dispatcher)
    for (const message of ['one', 'two']) t.equal(await ask(message), message)
    // Longer than the 8 to 12 s after which uWebSockets closes an idle connection by itself.
    await new Promise(resolve => setTimeout(resolve, 13_000))
    t.equal(await post('after a pause'), '200 after a pause')
    t.equal(await ask('three'), 'three', 'over the same WebSocket')
    if (proxy.command === 'nginx') return
    setHealth(503)
    await until('the health check takes the service out', async () =>
      (await post('x')).startsWith('503'),
    )
    setHealth(200)
    await until('and in again', isHealthy)
  })
}
