// Requests that are sent ahead on one connection: each is answered, in order, once its client has
// taken the reply to the one before.
import { spawn } from 'node:child_process'
import t from 'tap'
import type { Reply, Route } from '../../../src/shared/http.js'
import {
  connect,
  eventually,
  openTestServer,
  pageOf,
  post,
  replyCount,
  splitReplies,
  text,
} from '../../fixtures/server/server.js'
import { reset } from '../../fixtures/server/transport.js'

const MIB = 1024 ** 2

/** `/page` is answered in pieces, `/call` in a later turn, and others at once. */
const ROUTE: Partial<Route> = {
  bodyBytesMax: 100_000,
  handle: (path, body): Reply | Promise<Reply> => {
    if (path === '/page') return text(pageOf(3 * MIB))
    const reply = text(`${String(path)} ${Buffer.from(body).toString()}`)
    return path === '/call' ? new Promise(resolve => setTimeout(() => resolve(reply), 5)) : reply
  },
}

/** The first bytes of the bodies in what was received. */
const bodiesOf = (received: string): string[] =>
  splitReplies(received).map(({ body }) => (body.length > 100 ? `${body.length}` : body))

t.test('every request is answered once, in order, however packets cut them', async t => {
  const { port, server } = await openTestServer(t, [ROUTE])
  const kinds = ['/page', '/call', '/now', '/call', '/page', '/now', '/now']
  const requests = kinds.map((kind, index) => post(kind, `body ${index}`)).join('')
  const expected = kinds.map((kind, index) =>
    kind === '/page' ? `${3 * MIB}` : `${kind} body ${index}`,
  )
  for (const step of [requests.length, 1, 7, 150]) {
    const connection = await connect(port)
    for (let at = 0; at < requests.length; at += step) {
      connection.socket.write(requests.slice(at, at + step))
      if (step > 1) await new Promise(setImmediate)
    }
    t.strictSame(
      bodiesOf(await connection.until(now => replyCount(now) === kinds.length)),
      expected,
      `in steps of ${step}`,
    )
    connection.socket.destroy()
  }
  await eventually(() => server.stats().connections === 0)
  t.match(server.stats(), { requestsInFlight: 0, requestsCount: 4 * kinds.length })
})

t.test('a long body that is sent ahead is read after the reply', async t => {
  const { port } = await openTestServer(t, [ROUTE])
  const connection = await connect(port)
  const chunks = `4e20\r\n${'c'.repeat(20_000)}\r\n0\r\n\r\n`
  const body = 'b'.repeat(90_000)
  connection.socket.write(
    post('/call', 'x') +
      post('/now', body) +
      `POST /now HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}` +
      post('/call', 'y'),
  )
  const received = await connection.until(now => replyCount(now) === 4)
  t.strictSame(bodiesOf(received), [
    '/call x',
    `${'/now '.length + 90_000}`,
    `${'/now '.length + 20_000}`,
    '/call y',
  ])
  connection.socket.destroy()
})

t.test('thousands in one packet behind a call, none of them twice', async t => {
  let handled = 0
  const { port, server } = await openTestServer(t, [
    {
      handle: (_, body) => {
        handled++
        const reply = text(Buffer.from(body).toString())
        return handled % 2 === 0 ? reply : new Promise(resolve => setImmediate(resolve, reply))
      },
    },
  ])
  const count = 3_000
  const connection = await connect(port)
  const bodies = Array.from({ length: count }, (_, index) => `${index}`)
  connection.socket.write(bodies.map(body => post('/t', body)).join(''))
  const received = await connection.until(now => now.endsWith(`\r\n\r\n${count - 1}`))
  t.strictSame(bodiesOf(received), bodies)
  t.equal(handled, count)
  connection.socket.destroy()
  await eventually(() => server.stats().requestsInFlight === 0)
})

t.test('a refusal does not end the connection because a packet cut its body', async t => {
  const { port } = await openTestServer(t, [
    { open: () => text('refused', 429), bodyBytesMax: 100_000 },
  ])
  const request = post('/t', 'x'.repeat(300))
  const requests = request.repeat(60)
  for (const step of [requests.length, request.length - 1, 50]) {
    const connection = await connect(port)
    for (let at = 0; at < requests.length; at += step) {
      connection.socket.write(requests.slice(at, at + step))
      await new Promise(setImmediate)
    }
    const replies = splitReplies(await connection.until(now => replyCount(now) === 60))
    t.equal(replies.length, 60, `in steps of ${step}`)
    t.ok(replies.every(({ head, body }) => !head.includes('Connection') && body === 'refused'))
    connection.socket.destroy()
  }
})

t.test('a refused client that never sends its body reads the refusal', async t => {
  const refused = { open: () => text('refused', 401), bodyBytesMax: 100_000 }
  const { port, server } = await openTestServer(t, [refused])
  const head = 'POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\n'
  for (const sent of ['', 'x'.repeat(299)]) {
    const connections = await Promise.all(Array.from({ length: 200 }, () => connect(port)))
    for (const { socket } of connections) socket.write(head + sent)
    await Promise.all(connections.map(({ closed }) => closed))
    for (const connection of connections)
      t.match(connection.received(), /^HTTP\/1.1 401 [^]*\r\nConnection: close\r\n[^]*refused$/)
  }
  await eventually(() => server.stats().connections === 0)
  t.match(server.stats(), { requestsInFlight: 0, abortedCount: 0 })
})

t.test('what is behind a request that ends the connection is not handled', async t => {
  const seen: string[] = []
  const { port } = await openTestServer(t, [
    {
      handle: (path, body) => {
        seen.push(Buffer.from(body).toString())
        return new Promise(resolve => setImmediate(resolve, text(String(path))))
      },
    },
  ])
  const last = post('/t', 'last', ['Connection: close'])
  for (const behind of [post('/t', 'behind'), post('/t', 'half').slice(0, -2), '\0', '\r\n\r\n']) {
    seen.length = 0
    const connection = await connect(port)
    connection.socket.write(post('/t', 'first') + last + behind + post('/t', 'more').repeat(500))
    await connection.closed
    const replies = splitReplies(connection.received())
    t.equal(replies.length, 2)
    t.match(replies[0]?.head, /\r\nKeep-Alive: timeout=75\r\n/)
    t.match(replies[1]?.head, /\r\nConnection: close\r\n/)
    t.notMatch(replies[1]?.head, /Keep-Alive/)
    t.strictSame(seen, ['first', 'last'])
  }
})

t.test('a client that goes takes what it has sent ahead with it', async t => {
  let release: (reply: Reply) => void = () => {}
  let handled = 0
  const { port, server } = await openTestServer(t, [
    {
      handle: () => {
        handled++
        return new Promise<Reply>(resolve => (release = resolve))
      },
    },
  ])
  const connection = await connect(port)
  connection.socket.write(post('/t', 'x').repeat(100))
  await eventually(() => handled === 1)
  reset(connection.socket)
  // Its connection is not read, and the reset is noticed.
  await eventually(() => server.stats().abortedCount === 1)
  release(text('late'))
  await eventually(() => server.stats().requestsInFlight === 0)
  t.equal(handled, 1)
  t.equal(server.stats().connections, 0)
})

/** Clients that Node.js cannot be: with bytes out of band, and a reset after the end. */
const RAW_CLIENTS = {
  'bytes out of band': "s.send(b'!', socket.MSG_OOB)",
  'a reset after the end': `s.shutdown(socket.SHUT_WR); time.sleep(0.2)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); s.close()`,
}

for (const [name, action] of Object.entries(RAW_CLIENTS)) {
  for (const count of [1, 3]) {
    const isRead = name === 'bytes out of band' && count === 1
    if (isRead) continue
    t.test(`${name} closes a connection with ${count} requests`, async t => {
      const { port, server } = await openTestServer(t, [{ handle: () => new Promise(() => {}) }])
      const script = `import socket, struct, time
s = socket.create_connection(('127.0.0.1', ${port}))
s.sendall(${JSON.stringify(post('/t', 'x').repeat(count))}.encode())
time.sleep(0.2)
${action}
time.sleep(60)`
      const client = spawn('python3', ['-c', script])
      t.teardown(() => client.kill())
      await eventually(() => server.stats().abortedCount === 1)
      t.equal(server.stats().connections, 0)
    })
  }
}

t.test('a pipeline whose replies are not read waits in the kernel', async t => {
  const body = 'x'.repeat(20_000)
  for (const isLater of [false, true]) {
    const { port, server } = await openTestServer(t, [
      {
        handle: () =>
          isLater ? new Promise(resolve => setImmediate(resolve, text(body))) : text(body),
      },
    ])
    const connection = await connect(port)
    connection.socket.pause()
    const batch = post('/t', 'x').repeat(2_000)
    const before = process.memoryUsage.rss()
    let written = 0
    while (written < 200 && !connection.socket.writableNeedDrain) {
      connection.socket.write(batch)
      written++
      await new Promise(setImmediate)
    }
    let count = -1
    await eventually(() => {
      const known = count
      count = server.stats().requestsCount
      return known === count && count > 0
    })
    // The buffers of both sockets, which the system sizes.
    t.ok(count * body.length < 32 * MIB, `${count} requests are handled`)
    t.ok(process.memoryUsage.rss() - before < 100 * MIB)
    connection.socket.resume()
    await connection.until(now => replyCount(now.slice(0, 100_000)) > 3)
    reset(connection.socket)
    await eventually(() => server.stats().connections === 0)
  }
})
