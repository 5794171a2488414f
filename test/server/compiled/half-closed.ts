// Clients that end their side of a connection once they have sent their requests: that is no loss
// of interest in the replies.
import { once } from 'node:events'
import t from 'tap'
import type { Reply, Route } from '../../../src/shared/http.js'
import { makeCertificate } from '../../fixtures/server/certificates.js'
import {
  eventually,
  openTestServer,
  pageOf,
  post,
  splitReplies,
  text,
} from '../../fixtures/server/server.js'
import { dial, endPlain, reset } from '../../fixtures/server/transport.js'

const MIB = 1024 ** 2
const PAGE_BYTES = 12 * MIB

const later = (reply: Reply): Promise<Reply> =>
  new Promise(resolve => setTimeout(() => resolve(reply), 30))

const REPLIES: Readonly<Record<string, () => Reply | Promise<Reply>>> = {
  '/now': () => text('now'),
  '/long': () => text('l'.repeat(PAGE_BYTES)),
  '/call': () => later(text('call')),
  '/page': () => later(text(pageOf(PAGE_BYTES))),
  '/chunks': () => text(pageOf(PAGE_BYTES, { isSized: false })),
}

const ROUTE: Partial<Route> = {
  bodyBytesMax: 1_000_000,
  handle: path => REPLIES[String(path)]?.() ?? text('unknown', 404),
}

/** Everything that a client receives that sends `bytes` and ends its side in one of these ways. */
const sendAndEnd = async (
  port: number,
  bytes: string,
  { isTls, isBare }: { isTls: boolean; isBare: boolean },
): Promise<Buffer> => {
  const socket = dial({ port, host: '127.0.0.1', allowHalfOpen: true }, isTls)
  socket.on('error', () => {})
  await once(socket, isTls ? 'secureConnect' : 'connect')
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  const closed = once(socket, 'close')
  if (isBare) socket.write(bytes, () => endPlain(socket))
  else socket.end(bytes)
  socket.once('end', () => socket.end())
  await closed
  return Buffer.concat(chunks)
}

for (const { name, ...way } of [
  { name: 'a FIN', isTls: false, isBare: true },
  { name: 'close_notify', isTls: true, isBare: false },
  { name: 'a FIN below TLS', isTls: true, isBare: true },
]) {
  t.test(`every reply is sent whole after ${name}`, async t => {
    const tls = way.isTls ? makeCertificate(t.testdir(), 'server') : undefined
    const { port, server } = await openTestServer(t, [ROUTE], {
      listeners: [{ host: '127.0.0.1', port: 0, tls }],
    })
    for (const path of Object.keys(REPLIES)) {
      const received = await sendAndEnd(port, post(path, 'x'), way)
      const body = received.subarray(received.indexOf('\r\n\r\n') + 4)
      const isLong = !['/now', '/call'].includes(path)
      t.match(received.toString('latin1', 0, 500), /^HTTP\/1\.1 200 OK\r\n/, path)
      if (path === '/chunks') t.match(body.subarray(-7).toString(), /\r\n0\r\n\r\n$/)
      else if (isLong) t.equal(body.byteLength, PAGE_BYTES, path)
      else t.equal(body.toString(), path.slice(1))
    }
    const three = await sendAndEnd(
      port,
      ['/call', '/now', '/call'].map(path => post(path, 'x')).join(''),
      way,
    )
    t.strictSame(
      splitReplies(three.toString('latin1')).map(({ body }) => body),
      ['call', 'now', 'call'],
    )
    for (const incomplete of ['', 'POST /now HT', post('/now', 'x').slice(0, -1)])
      t.equal((await sendAndEnd(port, incomplete, way)).byteLength, 0, 'no request, no reply')
    await eventually(() => server.stats().connections === 0)
    t.match(server.stats(), { requestsInFlight: 0, repliesInFlight: 0 })
  })

  if (way.isTls === way.isBare) continue
  t.test(`a reset is an abort, ${way.isTls ? 'over TLS' : 'of a plain socket'}`, async t => {
    const tls = way.isTls ? makeCertificate(t.testdir(), 'server') : undefined
    const { port, server } = await openTestServer(t, [{ handle: () => new Promise(() => {}) }], {
      listeners: [{ host: '127.0.0.1', port: 0, tls }],
    })
    const socket = dial({ port, host: '127.0.0.1' }, way.isTls)
    socket.on('error', () => {})
    await once(socket, way.isTls ? 'secureConnect' : 'connect')
    socket.write(post('/t', 'x'))
    await eventually(() => server.stats().requestsInFlight === 1)
    reset(socket)
    await eventually(() => server.stats().abortedCount === 1)
    await eventually(() => server.stats().connections === 0)
  })
}

for (const isTls of [false, true]) {
  const name = `a client that ends its side and is reset then has gone${isTls ? ', over TLS' : ''}`
  t.test(name, { timeout: 20_000 }, async t => {
    const tls = isTls ? makeCertificate(t.testdir(), 'server') : undefined
    const { port, server } = await openTestServer(t, [ROUTE], {
      listeners: [{ host: '127.0.0.1', port: 0, tls }],
      // No other bound ends them.
      options: { replyStallMs: 600_000 },
    })
    const leave = async (path: string): Promise<void> => {
      const socket = dial({ port, host: '127.0.0.1', allowHalfOpen: true }, isTls)
      socket.on('error', () => {})
      await once(socket, isTls ? 'secureConnect' : 'connect')
      socket.write(post(path, 'x'))
      // The rest of the reply waits for a client that does not read.
      await once(socket, 'data')
      socket.pause()
      endPlain(socket)
      await new Promise(resolve => setTimeout(resolve, 50))
      reset(socket)
    }
    const paths = ['/long', '/page', '/chunks'].flatMap(path => Array<string>(20).fill(path))
    await Promise.all(paths.map(leave))
    await eventually(() => server.stats().connections === 0)
    t.match(server.stats(), { requestsInFlight: 0, repliesInFlight: 0 })
  })
}
