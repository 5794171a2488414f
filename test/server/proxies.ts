// Reads, WebSockets and health checks through common proxies with little more than their defaults.
// A proxy that is not installed is skipped; in CI it fails.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import {
  connect,
  isPrebuilt,
  openTestServer,
  replyCount,
  statusOf,
  text,
} from '../fixtures/server/server.js'
import { openSocket } from '../fixtures/server/socket.js'
import { skipAbsent } from '../fixtures/skip-absent.js'

type Proxy = {
  readonly command: string
  readonly versionArgs: readonly string[]
  args(file: string, dir: string): readonly string[]
  config(port: number, upstream: number, dir: string): string
}

const HAPROXY: Proxy = {
  command: 'haproxy',
  versionArgs: ['-v'],
  args: file => ['-f', file],
  config: (port, upstream) => `
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
  timeout tunnel 30s
frontend front
  bind 127.0.0.1:${port}
  default_backend back
backend back
  option forwardfor
  option httpchk GET /health
  server one 127.0.0.1:${upstream} check inter 100ms
`,
}

const NGINX: Proxy = {
  command: 'nginx',
  versionArgs: ['-v'],
  args: (file, dir) => ['-c', file, '-p', dir, '-e', 'error.log'],
  // HTTP/1.0 and a connection for each request, as nginx does by itself; WebSockets need 1.1.
  config: (port, upstream, dir) => `
daemon off;
master_process off;
pid ${join(dir, 'pid')};
events {}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  map $http_upgrade $connection_upgrade { default upgrade; '' close; }
  server {
    listen 127.0.0.1:${port};
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    location /socket {
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_pass http://127.0.0.1:${upstream};
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }
    location / { proxy_pass http://127.0.0.1:${upstream}; }
  }
}
`,
}

const CADDY: Proxy = {
  command: 'caddy',
  versionArgs: ['version'],
  args: file => ['run', '--config', file, '--adapter', 'caddyfile'],
  config: (port, upstream) => `
{
  admin off
  auto_https off
}
http://:${port} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${upstream} {
    health_uri /health
    health_interval 100ms
  }
}
`,
}

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
  const { port: upstream } = await openTestServer(
    t,
    [
      { handle: (_, body) => text(Buffer.from(body).toString()) },
      {
        pattern: '/address',
        open: request => request.address,
        handle: address => text(String(address)),
      },
      { method: 'GET', pattern: '/health', bodyBytesMax: 0, handle: () => text('ok') },
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
  const dir = t.testdir({ proxy: {} })
  mkdirSync(join(dir, 'proxy'), { recursive: true })
  const file = join(dir, 'proxy', 'config')
  writeFileSync(file, proxy.config(port, upstream, join(dir, 'proxy')))
  const child = spawn(proxy.command, [...proxy.args(file, join(dir, 'proxy'))], {
    env: { ...process.env, HOME: dir },
    stdio: 'ignore',
  })
  t.teardown(() => child.kill('SIGKILL'))
  for (let tries = 0; tries < 100; tries++) {
    try {
      const connection = await connect(port)
      connection.socket.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n')
      const received = await connection.until(now => replyCount(now) > 0)
      connection.socket.destroy()
      if (statusOf(received) === '200') return port
    } catch {
      // It does not listen yet.
    }
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`${proxy.command} did not answer`)
}

// Beside each other: each waits for 13 s.
t.jobs = 3
for (const proxy of [HAPROXY, NGINX, CADDY]) {
  const isInstalled = spawnSync(proxy.command, [...proxy.versionArgs]).error === undefined
  const skip = isPrebuilt ? 'the prebuilt package serves' : false
  t.test(`behind ${proxy.command}`, { skip }, async t => {
    const { command } = proxy
    if (!isInstalled)
      return skipAbsent(t, `no ${command} in PATH: install it with \`apt-get install ${command}\``)
    const port = await openBehind(t, proxy)
    const dispatcher = new Agent({ connections: 4, localAddress: '127.0.0.5' })
    t.teardown(() => dispatcher.close())
    const post = async (body: string): Promise<string> => {
      const reply = await request(`http://127.0.0.1:${port}/t`, {
        method: 'POST',
        body,
        dispatcher,
      })
      return `${reply.statusCode} ${await reply.body.text()}`
    }
    const bodies = Array.from({ length: 200 }, (_, index) => `body ${index}`)
    const replies = await Promise.all(bodies.map(post))
    t.strictSame(
      replies,
      bodies.map(body => `200 ${body}`),
    )
    for (const headers of [{}, { 'x-forwarded-for': '9.9.9.9' }]) {
      const url = `http://127.0.0.1:${port}/address`
      const reply = await request(url, { method: 'POST', body: 'x', headers, dispatcher })
      t.equal(await reply.body.text(), '127.0.0.5', 'the address of the client')
    }
    const client = await openSocket(port, { path: '/socket' })
    t.teardown(() => client.destroy())
    for (const message of ['one', 'two']) {
      client.send(message)
      t.equal(await client.next(), message)
    }
    // Longer than the 8 to 12 s after which the prebuilt package closed an idle connection.
    await new Promise(resolve => setTimeout(resolve, 13_000))
    t.equal(await post('after a pause'), '200 after a pause')
  })
}
