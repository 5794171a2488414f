import t from 'tap'
import type { Request } from '../../../src/shared/http.js'
import { CLOSE, type Socket, type SocketRoute } from '../../../src/shared/socket.js'
import type { Options } from '../../../src/server/options.js'
import { eventually, exchange, openTestServer, text } from '../../fixtures/server/server.js'
import { openSocket, upgradeStatus } from '../../fixtures/server/socket.js'

type Closing = { teardown(fn: () => void): unknown }

/** A server with one pattern that records its events. */
const openEcho = async (
  t: Closing,
  route: Partial<SocketRoute<string>> = {},
  options: Partial<Options> = {},
) => {
  const events: string[] = []
  const sockets: Socket[] = []
  const echo: SocketRoute<string> = {
    pattern: '/:token',
    frameBytesMax: 1_000,
    open: request => request.path,
    onOpen: (path, socket) => {
      sockets.push(socket)
      events.push(`open ${path}`)
    },
    onMessage: (_, socket, body) => {
      socket.send(body)
    },
    onClose: path => void events.push(`close ${path}`),
    ...route,
  }
  const { server, port, lines } = await openTestServer(
    t,
    [{ method: 'GET', pattern: '/health', bodyBytesMax: 0, handle: () => text('well') }, {}],
    { sockets: [echo as SocketRoute], options: { socketSweepMs: 20, ...options } },
  )
  return { server, port, lines, events, sockets }
}

t.test('messages', async t => {
  const { port, events, server } = await openEcho(t)
  const client = await openSocket(port, { path: '/a?b=c' })
  client.send('{"a":"é"}')
  t.equal(await client.next(), '{"a":"é"}')
  client.send(Buffer.from('bytes'), { opcode: 2 })
  t.equal(await client.next(), 'bytes')
  t.strictSame(client.opcodes, [1, 1], 'replies are text')
  client.send('in ', { isLast: false })
  client.send('fragments', { opcode: 0 })
  t.equal(await client.next(), 'in fragments')
  client.send('are you there', { opcode: 9 })
  await eventually(() => client.opcodes.includes(10))
  t.strictSame(events, ['open /a'])
  t.match(server.stats(), { sockets: 1, connections: 0, requestsInFlight: 0, messagesCount: 3 })
  client.close(1000, 'done')
  t.strictSame(await client.closed, { code: 1000, reason: 'done' }, 'a client’s 1000 is echoed')
  t.strictSame(events, ['open /a', 'close /a'])
  t.match(server.stats(), { sockets: 0, closes: new Map([[1000, 1]]) })
})

t.test('upgrades that are accepted and refused', async t => {
  const opened: string[] = []
  const { port, events, server } = await openEcho(t, {
    open: (request: Request) => {
      opened.push(`${request.path} ${request.header('x-token')} ${request.address}`)
      return request.path === '/no' ? text('no', 403) : request.path
    },
  })
  const cases: [name: string, status: number, headers: Record<string, string>, path?: string][] = [
    ['a correct one', 101, {}],
    ['a Connection header of several words', 101, { Connection: 'keep-idle, Upgrade' }],
    ['a value in another case', 101, { Upgrade: 'WebSocket' }],
    ['one refused by its route', 403, {}, '/no'],
    ['another version', 426, { 'Sec-WebSocket-Version': '8' }],
    ['no upgrade', 400, { Upgrade: 'h2c' }],
    ['a Connection header without upgrade', 400, { Connection: 'keep-idle' }],
    ['a body', 400, { 'Content-Length': '5' }],
    ['a body of unknown length', 400, { 'Transfer-Encoding': 'chunked' }],
    ['two lengths', 400, { 'Content-Length': '0', 'content-length': '0' }],
    ['an invalid key', 405, { 'Sec-WebSocket-Key': 'short' }],
    ['a path without WebSockets', 404, {}, '/a/b'],
  ]
  for (const [name, status, headers, path] of cases)
    t.equal(await upgradeStatus(port, headers, path), status, name)
  t.equal(opened.length, 4, 'a route sees only valid handshakes')
  t.equal(opened[0], '/a  127.0.0.1')
  await eventually(() => server.stats().sockets === 0)
  t.equal(events.filter(event => event.startsWith('open')).length, 3)
  t.equal(events.filter(event => event.startsWith('close')).length, 3)
  t.match(await exchange(port, 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n'), /well$/)
  await eventually(() => server.stats().connections === 0)
})

t.test('the address is the peer’s, or the one a trusted proxy gives', async t => {
  const addresses: string[] = []
  const open = (request: Request): string => {
    addresses.push(request.address)
    return request.path
  }
  const { port } = await openEcho(t, { open }, { trustedProxies: ['127.0.0.9'] })
  const headers = { 'X-Forwarded-For': '9.9.9.9, 8.8.8.8' }
  const proxied = await openSocket(port, { path: '/a', headers, localAddress: '127.0.0.9' })
  const spoofed = await openSocket(port, { path: '/a', headers })
  t.strictSame(addresses.splice(0), ['8.8.8.8', '127.0.0.1'])
  for (const client of [proxied, spoofed]) client.destroy()
})

t.test('a socket that does not answer pings is closed', async t => {
  const { port, server } = await openEcho(t, {}, { socketIdleSeconds: 8 })
  const idle = await openSocket(port, { path: '/a' })
  const deaf = await openSocket(port, { path: '/a', isDeaf: true })
  t.equal((await deaf.closed).code, 1006, 'terminated')
  t.ok(deaf.opcodes.includes(9))
  t.ok(idle.opcodes.includes(9))
  idle.send('still here')
  t.equal(await idle.next(), 'still here')
  t.equal(server.stats().sockets, 1)
})

t.test('a message over the bound closes the socket', async t => {
  const { port, events } = await openEcho(t, {}, { socketReadBytesMax: 2_000 })
  const fits = await openSocket(port, { path: '/a' })
  fits.send('x'.repeat(1_000))
  t.equal((await fits.next()).length, 1_000)
  fits.send('x'.repeat(1_001))
  t.strictSame(await fits.closed, { code: 1009, reason: 'message exceeds 1000 bytes' })
  const fragmented = await openSocket(port, { path: '/a' })
  fragmented.send('x'.repeat(600), { isLast: false })
  fragmented.send('x'.repeat(600), { opcode: 0 })
  t.equal((await fragmented.closed).code, 1009, 'a fragmented message')
  const longer = await openSocket(port, { path: '/a' })
  longer.send('x'.repeat(2_001))
  t.equal((await longer.closed).code, 1006, 'over the message size limit')
  t.equal(events.filter(event => event === 'close /a').length, 3)
})

t.test('the server closes sockets', async t => {
  const { port, sockets, events, server } = await openEcho(t)
  const client = await openSocket(port, { path: '/a' })
  sockets[0]?.close(CLOSE.policy, 'token revoked')
  t.strictSame(events, ['open /a', 'close /a'], 'onClose runs before close returns')
  t.equal(sockets[0]?.isClosed, true)
  t.equal(sockets[0]?.send('late'), false)
  sockets[0]?.close(CLOSE.restart, 'again')
  sockets[0]?.subscribe('x')
  sockets[0]?.unsubscribe('x')
  t.strictSame(await client.closed, { code: 1008, reason: 'token revoked' })
  t.strictSame(client.messages, [])

  const others = await Promise.all([1, 2, 3].map(() => openSocket(port, { path: '/b' })))
  const drained = server.drain()
  for (const other of others) t.strictSame(await other.closed, { code: 1012, reason: 'restart' })
  await drained
  t.match(
    server.stats().closes,
    new Map([
      [1008, 1],
      [1012, 3],
    ]),
  )
})

t.test('a drain loses no answer of a client that always waits for one', async t => {
  const received: string[] = []
  const answered: string[] = []
  const { port, server } = await openEcho(t, {
    isBusy: () => received.length > answered.length,
    onMessage: (_, socket, body) => {
      const text = Buffer.from(body).toString()
      received.push(text)
      setTimeout(() => {
        answered.push(text)
        socket.send(text)
      }, 30)
    },
  })
  const client = await openSocket(port, { path: '/a' })
  client.send('0')
  await eventually(() => received.length === 1)
  const drained = server.drain()
  // The next one is on its way before the server could have seen an idle socket.
  const asking = (async () => {
    for (let count = 1; ; count++) client.send(String(await client.next().then(() => count)))
  })().catch(String)
  t.strictSame(await client.closed, { code: 1012, reason: 'restart' })
  await asking
  await drained
  t.strictSame(received, ['0'], 'nothing is taken after the drain began')
  t.strictSame(client.messages, received)
})

t.test('a handler that throws closes the socket with 1011', async t => {
  const { port, lines } = await openEcho(t, {
    onMessage: () => {
      throw new Error('a fault')
    },
  })
  const client = await openSocket(port, { path: '/a' })
  client.send('x')
  t.strictSame(await client.closed, { code: 1011, reason: 'internal error' })
  t.match(lines.join(''), /a WebSocket handler threw/)
})

t.test('frames go to the subscribers of their topic', async t => {
  const { port, server, sockets } = await openEcho(t)
  const [a, b] = await Promise.all([1, 2].map(() => openSocket(port, { path: '/a' })))
  for (const socket of sockets) socket.subscribe('x')
  sockets[0]?.subscribe('x')
  server.publish('x', Buffer.from('one'))
  server.publish('y', Buffer.from('no subscriber'))
  t.equal(await a?.next(), 'one')
  t.equal(await b?.next(), 'one')
  sockets[1]?.unsubscribe('x')
  sockets[1]?.unsubscribe('x')
  server.publish('x', Buffer.alloc(100_000, 'z'))
  sockets[0]?.send('last')
  sockets[1]?.send('last')
  const [left, right] = sockets[0] === undefined ? [] : [a, b]
  const lengths = [await left?.next(), await right?.next()].map(message => message?.length)
  t.strictSame(lengths.sort(), [100_000, 4], 'in order, and only to subscribers')
})

t.test('a client that does not read', async t => {
  const bounds = {
    socketQueueBytesMax: 1_000_000,
    socketStallMs: 300,
    socketCloseMs: 200,
  }
  const fill = (socket: Socket, bytes: number): void => {
    // First fills the socket buffer of some MB.
    while (!socket.isClosed && socket.queuedBytes === 0) socket.send(Buffer.alloc(65_536, 'a'))
    const frames = Math.ceil((bytes - socket.queuedBytes) / 65_536)
    for (let frame = 0; frame < frames; frame++) socket.send(Buffer.alloc(65_536, 'b'))
  }

  t.test('over the bound: 1013, and every frame before it is sent', async t => {
    const { port, sockets, events } = await openEcho(t, {}, { ...bounds, socketCloseMs: 5_000 })
    const client = await openSocket(port, { path: '/a' })
    client.socket.pause()
    const [socket] = sockets
    if (socket === undefined) return
    let sent = 0
    for (; sent < 1_000; sent++) if (!socket.send(`${sent} `.padEnd(65_536, 'a'))) break
    t.ok(socket.isClosed && sent < 1_000)
    t.strictSame(events, ['open /a', 'close /a'])
    client.socket.resume()
    t.strictSame(await client.closed, { code: 1013, reason: 'lagging' })
    const numbers = client.messages.map(message => Number(message.split(' ')[0]))
    t.strictSame(
      numbers,
      Array.from({ length: sent + 1 }, (_, index) => index),
    )
  })

  t.test('over the bound and not reading: terminated', async t => {
    const { port, sockets, server } = await openEcho(t, {}, bounds)
    const client = await openSocket(port, { path: '/a' })
    client.socket.pause()
    if (sockets[0] !== undefined) fill(sockets[0], 1_100_000)
    await eventually(() => server.stats().sockets === 0)
    t.match(server.stats().closes, new Map([[1013, 1]]))
    client.socket.resume()
    t.equal((await client.closed).code, 1006)
  })

  t.test('under the bound and not reading: 1013', async t => {
    // The client reads megabytes before the close.
    const { port, sockets, server } = await openEcho(t, {}, { ...bounds, socketCloseMs: 5_000 })
    const client = await openSocket(port, { path: '/a' })
    client.socket.pause()
    const [socket] = sockets
    if (socket !== undefined) fill(socket, 100_000)
    await eventually(() => socket?.isClosed === true)
    t.ok(server.stats().socketQueuedBytes < 1_000_000)
    client.socket.resume()
    t.strictSame(await client.closed, { code: 1013, reason: 'not reading' })
  })

  t.test('slow, but reading: stays open', async t => {
    const { port, sockets, server } = await openEcho(t, {}, bounds)
    const read = async (): Promise<{ isClosed: boolean | undefined; pauseMs: number }> => {
      const client = await openSocket(port, { path: '/a' })
      client.socket.pause()
      const socket = sockets.at(-1)
      if (socket !== undefined) fill(socket, 900_000)
      let [lastMs, pauseMs] = [performance.now(), 0]
      const reader = setInterval(() => {
        const nowMs = performance.now()
        pauseMs = Math.max(pauseMs, nowMs - lastMs)
        lastMs = nowMs
        client.socket.resume()
        setTimeout(() => client.socket.pause(), 2)
      }, 30)
      await eventually(() => socket?.isClosed === true || socket?.queuedBytes === 0)
      clearInterval(reader)
      client.socket.resume()
      const isClosed = socket?.isClosed
      await eventually(() => server.stats().socketQueuedBytes === 0)
      return { isClosed, pauseMs }
    }
    // Both ends are this process: on a busy machine the client is late, too.
    let found = await read()
    for (let more = 10; more > 0 && found.pauseMs > bounds.socketStallMs / 2; more--)
      found = await read()
    t.strictSame(found, { isClosed: false, pauseMs: found.pauseMs })
  })

  t.test('one frame may be larger than the bound', async t => {
    // Both ends are this process: 12 MB keep it busy for longer than a stall may last.
    const { port, sockets } = await openEcho(t, {}, { ...bounds, socketStallMs: 20_000 })
    const client = await openSocket(port, { path: '/a' })
    t.equal(sockets[0]?.send(Buffer.alloc(12_000_000, 'x')), true)
    t.equal((await client.next()).length, 12_000_000)
    t.equal(sockets[0]?.isClosed, false)
  })

  t.test('published frames count too, and other clients receive them', async t => {
    const { port, sockets, server } = await openEcho(t, {}, bounds)
    const slow = await openSocket(port, { path: '/slow' })
    const quick = await openSocket(port, { path: '/quick' })
    slow.socket.pause()
    for (const socket of sockets) socket.subscribe('x')
    for (let frame = 0; frame < 200; frame++) {
      server.publish('x', Buffer.alloc(65_536, 'a'))
      await new Promise(resolve => setImmediate(resolve))
    }
    await eventually(() => server.stats().sockets === 1)
    await eventually(() => quick.messages.length === 200)
    t.equal(quick.messages.length, 200, 'the other client receives every frame')
    slow.socket.resume()
    await slow.closed
  })

  t.test('over the bound of all sockets: those with the longest queues are closed', async t => {
    const most = { socketQueueBytesMax: 10 ** 9, socketsQueuedBytesMax: 4_000_000 }
    const options = { ...bounds, ...most, socketStallMs: 60_000 }
    const { port, sockets, server } = await openEcho(t, {}, options)
    const clients = []
    for (let index = 0; index < 4; index++) {
      const client = await openSocket(port, { path: `/${index}` })
      client.socket.pause()
      clients.push(client)
    }
    const fillAll = (ofFirst: number): void => {
      for (const [index, socket] of sockets.entries())
        if (!socket.isClosed) fill(socket, index === 0 ? ofFirst : 500_000 + index * 100_000)
    }
    fillAll(500_000)
    t.equal(server.stats().sockets, 4)
    const [first] = sockets
    await eventually(() => {
      // The system may take more of a queue meanwhile.
      fillAll(2_200_000)
      return server.stats().sockets === 3
    })
    t.equal(first?.isClosed, true)
    t.ok(server.stats().socketQueuedBytes <= 4_000_000)
    for (const client of clients) client.destroy()
  })

  t.test('nothing queued is sent after a policy close', async t => {
    const { port, sockets } = await openEcho(t, {}, bounds)
    const client = await openSocket(port, { path: '/a' })
    client.socket.pause()
    const [socket] = sockets
    if (socket !== undefined) fill(socket, 500_000)
    socket?.close(CLOSE.policy, 'token revoked')
    client.socket.resume()
    t.equal((await client.closed).code, 1006)
  })

  t.test('onDrain runs when the client has taken everything', async t => {
    let drained = 0
    const { port, sockets } = await openEcho(t, { onDrain: () => void drained++ }, bounds)
    const client = await openSocket(port, { path: '/a' })
    client.socket.pause()
    const [socket] = sockets
    if (socket !== undefined) fill(socket, 200_000)
    client.socket.resume()
    await eventually(() => drained > 0)
    t.equal(socket?.queuedBytes, 0)
  })
})
