// Reads, WebSockets and health checks through common proxies, as docs/proxies.md configures them. A
// proxy that is not installed is skipped; in CI it fails.
import { once } from 'node:events'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, request, WebSocket } from 'undici'
import { blocksOf, readPage } from '../fixtures/docs/markdown.js'
import { makeCertificate } from '../fixtures/server/certificates.js'
import { isPrebuilt, openTestServer, text } from '../fixtures/server/server.js'
import { skipAbsent } from '../fixtures/skip-absent.js'
import { until } from '../fixtures/until.js'

type Proxy = {
  readonly name: string
  readonly command: string
  readonly versionArgs: readonly string[]
  args(file: string, dir: string): readonly string[]
  readonly scheme: 'http' | 'https'
  /** Its configuration with the ports and the folder of docs/proxies.md. */
  readonly config: string
}

/** The configuration in a language on the page. */
const documented = (wanted: string): string =>
  blocksOf(readPage('docs/proxies.md')).find(({ language }) => language === wanted)?.text ?? ''

/** What a packaged nginx has around a file of `conf.d`. */
const inNginx = (server: string): string => `
daemon off;
master_process off;
pid pid;
events {}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  ${server}
}
`

/** HTTP/1.0 and a connection for each request, as nginx does by itself; WebSockets need 1.1. */
const NGINX_DEFAULTS = `
  map $http_upgrade $connection_upgrade { default upgrade; '' close; }
  server {
    listen 443;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    location /socket {
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_pass http://127.0.0.1:8899;
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }
    location / { proxy_pass http://127.0.0.1:8899; }
  }
`

const NGINX = {
  command: 'nginx',
  versionArgs: ['-v'],
  args: (file: string, dir: string) => ['-c', file, '-p', dir, '-e', 'error.log'],
}

const PROXIES: readonly Proxy[] = [
  {
    name: 'haproxy',
    command: 'haproxy',
    versionArgs: ['-v'],
    args: file => ['-f', file],
    scheme: 'https',
    config: `${documented('haproxy')}\n`,
  },
  { ...NGINX, name: 'nginx', scheme: 'https', config: inNginx(documented('nginx')) },
  { ...NGINX, name: 'nginx with its defaults', scheme: 'http', config: inNginx(NGINX_DEFAULTS) },
  {
    name: 'caddy',
    command: 'caddy',
    versionArgs: ['version'],
    args: file => ['run', '--config', file, '--adapter', 'caddyfile'],
    scheme: 'https',
    config: `{\n  admin off\n  auto_https disable_redirects\n}\n${documented('caddyfile')}\n`,
  },
]

/** A port that was free a moment ago: the proxies cannot choose one. */
const freePort = (): Promise<number> =>
  new Promise(resolve => {
    const probe = createServer()
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      const port = address !== null && typeof address === 'object' ? address.port : 0
      probe.close(() => resolve(port))
    })
  })

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
  const port = await freePort()
  const dir = join(t.testdir({ proxy: {} }), 'proxy')
  mkdirSync(dir, { recursive: true })
  const { certFile, keyFile } = makeCertificate(dir, 'proxy')
  const [chain, key] = [readFileSync(certFile), readFileSync(keyFile)]
  writeFileSync(join(dir, 'fullchain.pem'), chain)
  writeFileSync(join(dir, 'privkey.pem'), key)
  writeFileSync(join(dir, 'both.pem'), Buffer.concat([chain, key]))
  const file = join(dir, 'config')
  const config = proxy.config
    .replaceAll('8899', String(upstream))
    .replaceAll(/(?<=:|listen )443/g, String(port))
    .replaceAll('/etc/slotline/tls', dir)
  writeFileSync(file, config)
  const child = spawn(proxy.command, [...proxy.args(file, dir)], {
    env: { ...process.env, HOME: dir },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', chunk => (said += String(chunk)))
  const ended = once(child, 'close')
  t.teardown(() => {
    child.kill('SIGKILL')
    return ended
  })
  const dispatcher = new Agent({
    connections: 4,
    localAddress: '127.0.0.5',
    connect: { rejectUnauthorized: false },
  })
  t.teardown(() => dispatcher.close())
  const url = `${proxy.scheme}://127.0.0.1:${port}`
  const isHealthy = (): Promise<boolean> =>
    request(`${url}/health`, { dispatcher }).then(
      async ({ body, statusCode }) => statusCode === 200 && (await body.text()) === 'ok',
      () => false,
    )
  await until('the proxy answers', isHealthy, 10_000).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${said}`)
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
  const isInstalled = spawnSync(proxy.command, [...proxy.versionArgs]).error === undefined
  const skip = isPrebuilt ? 'the prebuilt package serves' : false
  t.test(`behind ${proxy.name}`, { skip }, async t => {
    const { command } = proxy
    if (!isInstalled)
      return skipAbsent(t, `no ${command} in PATH: install it with \`apt-get install ${command}\``)
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
    // Longer than the 8 to 12 s after which the prebuilt package closed an idle connection.
    await new Promise(resolve => setTimeout(resolve, 13_000))
    t.equal(await post('after a pause'), '200 after a pause')
    t.equal(await ask('three'), 'three', 'over the same WebSocket')
    if (command === 'nginx') return
    setHealth(503)
    await until('the health check takes the service out', async () =>
      (await post('x')).startsWith('503'),
    )
    setHealth(200)
    await until('and in again', isHealthy)
  })
}
