// Clients of a proxy that stop at a reply before their request is complete, over HTTP/2 as browsers
// and libraries do: the proxy may put the connection that their request was on back into its pool.
// What later clients send there must never be taken for the rest of it.
import { once } from 'node:events'
import net from 'node:net'
import { connect, constants, type ClientHttp2Session } from 'node:http2'
import t, { type Test } from 'tap'
import type { Route } from '../../src/shared/http.js'
import { makeCertificate } from '../fixtures/server/certificates.js'
import { hasProxy, PROXIES, startProxy, type Proxy } from '../fixtures/server/proxies.js'
import { openTestServer, text } from '../fixtures/server/server.js'
import { until } from '../fixtures/until.js'

const BODY_BYTES_MAX = 1_000_000
/** Sent of a body before its client waits for the reply: less than the window of HTTP/2. */
const SENT_BYTES = 40_000

/** Path, and header fields, of requests that are refused at their head. */
const REFUSED: Readonly<Record<string, Refused>> = {
  400: ['/status/400'],
  401: ['/status/401'],
  403: ['/status/403'],
  404: ['/no/such/path'],
  405: ['/t', { ':method': 'PUT' }],
  413: ['/t', { 'content-length': String(BODY_BYTES_MAX * 9) }],
  415: ['/t', { 'content-type': 'text/plain' }],
  429: ['/status/429'],
  503: ['/status/503'],
}

const ROUTES: readonly Partial<Route>[] = [
  {
    bodyBytesMax: BODY_BYTES_MAX,
    contentType: 'application/json',
    handle: (_, body) => text(Buffer.from(body).toString()),
  },
  {
    pattern: '/status/:status',
    bodyBytesMax: BODY_BYTES_MAX * 9,
    open: ({ path }) => text('refused', Number(path.slice(-3))),
  },
  { method: 'GET', pattern: '/health', bodyBytesMax: 0, handle: () => text('ok') },
]

type Refused = readonly [path: string, headers?: Record<string, string>]

type Stopping = {
  readonly request: Refused
  /** Stated, and more than is sent. */
  readonly length: number
  /** Resolves once the proxy has passed on what was sent. */
  readonly passedOn: () => Promise<void>
}

const openClient = async (t: Test, url: string): Promise<ClientHttp2Session> => {
  const session = connect(url, { rejectUnauthorized: false })
  session.on('error', () => {})
  t.teardown(() => session.destroy())
  await once(session, 'connect')
  return session
}

/** Sends a part of a body of `length` bytes, stops at the reply and returns its status. */
const stopAtReply = async (
  session: ClientHttp2Session,
  { request, length, passedOn }: Stopping,
): Promise<number> => {
  const [path, headers = {}] = request
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/json',
    'content-length': String(length),
    ...headers,
  })
  stream.on('error', () => {})
  const replied = new Promise<number>(resolve =>
    stream.once('response', head => resolve(Number(head[':status']))),
  )
  stream.write(Buffer.alloc(SENT_BYTES, 'x'))
  const status = await replied
  await passedOn()
  stream.close(constants.NGHTTP2_CANCEL)
  stream.destroy()
  await ping(session)
  return status
}

const ping = (session: ClientHttp2Session): Promise<void> =>
  new Promise((resolve, reject) =>
    session.ping(error => (error === null ? resolve() : reject(error))),
  )

const post = (session: ClientHttp2Session, body: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/t',
      'content-type': 'application/json',
    })
    let reply = ''
    stream.once('response', head => (reply = `${head[':status']} `))
    stream.on('data', chunk => (reply += String(chunk)))
    stream.once('end', () => resolve(reply))
    stream.once('error', reject)
    stream.setTimeout(10_000, () => stream.destroy(new Error('no reply')))
    stream.end(body)
  })

/** Passes connections on to a port, and counts those that passed on `bytes`, or ended. */
const openTap = async (t: Test, upstream: number, bytes: number) => {
  let passedCount = 0
  const tap = net.createServer(client => {
    const server = net.connect(upstream, '127.0.0.1')
    let left = bytes
    const count = (chunk: Uint8Array): void => {
      if (left > 0 && left <= chunk.byteLength) passedCount++
      left -= chunk.byteLength
    }
    client.on('data', count).on('error', () => server.destroy())
    server.on('error', () => client.destroy()).once('end', () => count(Buffer.alloc(bytes)))
    client.pipe(server).pipe(client)
  })
  await once(tap.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => tap.close())
  return { port: (tap.address() as net.AddressInfo).port, passedCount: () => passedCount }
}

const check = async (t: Test, proxy: Proxy, isTls: boolean): Promise<void> => {
  const dir = t.testdir()
  const { port: upstream } = await openTestServer(t, ROUTES, {
    options: { trustedProxies: ['127.0.0.1'] },
    listeners: [
      { host: '127.0.0.1', port: 0, ...(isTls && { tls: makeCertificate(dir, 'server') }) },
    ],
  })
  const edit = (config: string): string => {
    const edited = proxy.withHttp2?.(config) ?? config
    return isTls && proxy.overTls !== undefined ? proxy.overTls(edited) : edited
  }
  const tap = await openTap(t, upstream, SENT_BYTES)
  const { url, errors } = await startProxy(t, proxy, { upstream: tap.port, dir, edit })
  let session: ClientHttp2Session | undefined
  await until(`the proxy answers ${errors()}`, async () => {
    session = await openClient(t, url).catch(() => undefined)
    return session !== undefined && (await post(session, '1').catch(() => '')) === '200 1'
  })
  for (const [status, request] of Object.entries(REFUSED)) {
    // The rest is longer, or as long as what later clients send, or a byte.
    for (const rest of [SENT_BYTES * 5, 300, 1]) {
      const attacker = await openClient(t, url)
      const length = SENT_BYTES + rest
      const before = tap.passedCount()
      const passedOn = (): Promise<void> =>
        until('the proxy passes the bodies on', () => tap.passedCount() - before >= 3)
      const replies = await Promise.all(
        [1, 2, 3].map(() => stopAtReply(attacker, { request, length, passedOn })),
      )
      t.strictSame(
        replies,
        [1, 2, 3].map(() => Number(status)),
        `${status} with ${rest} to come`,
      )
      attacker.close()
      const client = await openClient(t, url)
      const bodies = Array.from({ length: 6 }, (_, index) => `{"body":${index}}`)
      t.strictSame(
        await Promise.all(bodies.map(body => post(client, body).catch(String))),
        bodies.map(body => `200 ${body}`),
        `after ${status} with ${rest} to come`,
      )
      client.close()
    }
  }
}

for (const proxy of PROXIES) {
  if (proxy.scheme !== 'https') continue
  t.test(`behind ${proxy.name}`, async t => {
    if (!hasProxy(t, proxy)) return
    await check(t, proxy, false)
  })
  t.test(`behind ${proxy.name}, over TLS`, async t => {
    if (!hasProxy(t, proxy)) return
    await check(t, proxy, true)
  })
}
