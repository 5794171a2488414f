import t, { type Test } from 'tap'
import type { Options } from '../../../src/server/options.js'
import type { Route } from '../../../src/shared/http.js'
import {
  connect,
  eventually,
  openTestServer,
  replyCount,
  splitReplies,
  statusOf,
  text,
  type Connection,
} from '../../fixtures/server/server.js'
import { openSocket } from '../../fixtures/server/socket.js'

/** At `/valid` requests are authenticated; at `/slow` they are answered by `answer`. */
const open = async (t: Test, options: Partial<Options>, host = '127.0.0.1') => {
  const waiting: (() => void)[] = []
  const routes: Partial<Route>[] = [
    { pattern: '/valid', isAuthenticated: true },
    { pattern: '/invalid', isAuthenticated: true, open: () => text('no', 401) },
    {
      pattern: '/slow',
      handle: () => new Promise(resolve => waiting.push(() => resolve(text('slow')))),
    },
  ]
  const { port, server } = await openTestServer(t, routes, {
    listeners: [{ host, port: 0 }],
    options,
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
  })
  return { port, server, answer: () => waiting.splice(0).forEach(resolve => resolve()) }
}

/** Sends a request; returns the status of the reply, or '' where the connection closes. */
const post = async (connection: Connection, path: string): Promise<string> => {
  const before = replyCount(connection.received())
  connection.socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi`)
  const replies = splitReplies(await connection.until(now => replyCount(now) > before))
  const last = replies.length > before ? replies.at(-1) : undefined
  return last === undefined ? '' : statusOf(last.head)
}

const isOpen = async (connection: Connection): Promise<boolean> =>
  (await Promise.race([
    connection.closed,
    new Promise(resolve => setTimeout(resolve, 50, 'open')),
  ])) === 'open'

t.test('over the limit the oldest idle unauthenticated connection is closed', async t => {
  const { port, server, answer } = await open(t, { connectionsMax: 5 })
  const valid = await connect(port)
  t.equal(await post(valid, '/valid'), '200')
  const slow = await connect(port)
  const reply = post(slow, '/slow')
  const socket = await openSocket(port, { path: '/socket' })
  const silent = await connect(port)
  silent.socket.write('POST /valid HTTP/1.1\r\nHost: ')
  const refused = await connect(port)
  t.equal(await post(refused, '/invalid'), '401')
  t.equal(server.stats().connections, 4)

  const sixth = await connect(port)
  await silent.closed
  t.ok(await isOpen(refused))
  t.equal(await post(sixth, '/valid'), '200')
  const seventh = await connect(port)
  await refused.closed
  t.equal(await post(seventh, '/valid'), '200')

  const eighth = await connect(port)
  await eighth.closed
  t.equal(server.stats().connections, 4, 'the new one where no other may be closed')
  socket.send('still open')
  t.equal(await socket.next(), 'still open')
  for (const one of [valid, sixth, seventh]) t.equal(await post(one, '/valid'), '200')
  answer()
  t.equal(await reply, '200')
  const ninth = await connect(port)
  await slow.closed
  t.ok(await isOpen(ninth), 'its request is answered: it may be closed')
  for (const one of [valid, sixth, seventh, ninth]) one.socket.destroy()
  socket.destroy()
})

t.test('connections and WebSockets that close make room', async t => {
  const { port } = await open(t, { connectionsMax: 2 })
  for (let round = 0; round < 3; round++) {
    const socket = await openSocket(port, { path: '/socket' })
    const valid = await connect(port)
    t.equal(await post(valid, '/valid'), '200')
    const third = await connect(port)
    await third.closed
    socket.destroy()
    await socket.closed
    valid.socket.destroy()
    await valid.closed
    await new Promise(resolve => setTimeout(resolve, 20))
  }
})

t.test('10,000 connections that send nothing keep no client out', async t => {
  const { port, server } = await open(t, { connectionsMax: 64 })
  const valid = await connect(port)
  t.equal(await post(valid, '/valid'), '200')
  for (let count = 0; count < 10_000; count += 100) {
    const silent = await Promise.all(Array.from({ length: 100 }, () => connect(port)))
    t.ok(server.stats().connections <= 64)
    t.teardown(() => silent.forEach(({ socket }) => socket.destroy()))
  }
  t.equal(await post(valid, '/valid'), '200')
  const late = await connect(port)
  t.equal(await post(late, '/valid'), '200')
})

t.test('an address over its limit closes its own connections only', async t => {
  // Addresses of IPv4 that a socket of IPv6 maps are different ones.
  for (const host of ['127.0.0.1', '::']) {
    const { port, server } = await open(t, { connectionsPerAddressMax: 3 }, host)
    const bystander = await connect(port, { localAddress: '127.0.0.3' })
    const from = { localAddress: '127.0.0.2' }
    const valid = await connect(port, from)
    t.equal(await post(valid, '/valid'), '200')
    const socket = await openSocket(port, { path: '/socket', ...from })
    const third = await connect(port, from)
    const fourth = await connect(port, from)
    await third.closed
    t.equal(await post(fourth, '/valid'), '200')
    const fifth = await connect(port, from)
    await fifth.closed
    t.equal(await post(bystander, '/valid'), '200', 'of another address, although it idled longest')
    t.equal(await post(valid, '/valid'), '200')
    socket.send('still open')
    t.equal(await socket.next(), 'still open')
    socket.destroy()
    await socket.closed
    await eventually(() => server.stats().sockets === 0)
    const sixth = await connect(port, from)
    t.equal(await post(sixth, '/valid'), '200', 'a WebSocket that closed makes room')
    for (const one of [bystander, valid, fourth, sixth]) one.socket.destroy()
  }
})

t.test('connections of a trusted proxy are bounded together with all others only', async t => {
  const trustedProxies = ['127.0.0.9']
  const { port, server } = await open(t, { connectionsPerAddressMax: 3, trustedProxies })
  const many = await Promise.all(
    Array.from({ length: 20 }, () => connect(port, { localAddress: '127.0.0.9' })),
  )
  for (const one of many) t.equal(await post(one, '/invalid'), '401')
  t.equal(server.stats().connections, 20)
  for (const { socket } of many) socket.destroy()
})

t.test('3,000 connections of one address leave those of others', async t => {
  const { port, server } = await open(t, { connectionsMax: 200, connectionsPerAddressMax: 64 })
  const others = await Promise.all(
    Array.from({ length: 30 }, () => connect(port, { localAddress: '127.0.0.3' })),
  )
  for (let count = 0; count < 3_000; count += 100) {
    const silent = await Promise.all(
      Array.from({ length: 100 }, () => connect(port, { localAddress: '127.0.0.2' })),
    )
    if (server.stats().connections > 94) t.fail(`${server.stats().connections} connections`)
    t.teardown(() => silent.forEach(({ socket }) => socket.destroy()))
  }
  for (const one of others) t.equal(await post(one, '/valid'), '200')
  for (const { socket } of others) socket.destroy()
})
