import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { boundUnsent } from '../../../src/native/os.js'
import type { Options } from '../../../src/server/options.js'
import type { Socket, SocketRoute } from '../../../src/shared/socket.js'
import { openTestServer } from '../../fixtures/server/server.js'
import { openSocket, type SocketClient } from '../../fixtures/server/socket.js'
import { until } from '../../fixtures/until.js'

const KIB = 1024
/** What a test of ours lets a close take, so that it is seen which turn it is in. */
const CLOSE_MS = 2

/** Blocks the event loop. */
const spin = (ms: number): void => {
  for (const endMs = performance.now() + ms; performance.now() < endMs;);
}

/** Sockets of the server, and their clients in the same order, none of which reads. */
const openStopped = async (t: Test, count: number, options: Partial<Options> = {}) => {
  const sockets: Socket[] = []
  let turn = 0
  const closesByTurn = new Map<number, number>()
  const route: SocketRoute = {
    pattern: '/:name',
    frameBytesMax: 1_000,
    open: () => undefined,
    onOpen: (_, socket) => void sockets.push(socket),
    onMessage() {},
    onClose: () => {
      closesByTurn.set(turn, (closesByTurn.get(turn) ?? 0) + 1)
      spin(CLOSE_MS)
    },
  }
  const { server, port } = await openTestServer(t, [], {
    sockets: [route],
    options: { socketSweepMs: 10, socketStallMs: 60_000, ...options },
  })
  boundUnsent(4 * KIB)
  const clients: SocketClient[] = []
  for (let index = 0; index < count; index++) {
    const client = await openSocket(port, { path: '/a', keep: message => message.slice(0, 8) })
    client.socket.pause()
    clients.push(client)
  }
  t.teardown(() => clients.forEach(client => client.destroy()))
  let isEnded = false
  const counting = (async () => {
    for (; !isEnded; turn += 1) await nextTurn()
  })()
  t.teardown(() => {
    isEnded = true
    return counting
  })
  return { server, sockets, clients, closesByTurn }
}

/** Sends more than the systems of both ends will take. */
const block = (socket: Socket): void => {
  while (socket.queuedBytes < 512 * KIB) socket.send(Buffer.alloc(64 * KIB, 'a'))
}

t.test('sockets that stall at once are closed over several turns', async t => {
  const count = 60
  const { server, sockets, closesByTurn } = await openStopped(t, count, { socketStallMs: 200 })
  for (const socket of sockets) block(socket)
  await until('all are closed', () => sockets.every(socket => socket.isClosed))
  const most = Math.max(...closesByTurn.values())
  // One a turn takes longer than a check may take in a turn.
  t.ok(most <= 3, `${most} closes in a turn`)
  await until('none is left', () => server.stats().sockets === 0)
  t.equal(server.stats().closes.get(1013), count)
  t.equal(server.stats().socketQueuedBytes, 0, 'nothing is counted any more')
})

t.test('what is published counts once for all sockets, to the byte', async t => {
  const { server, sockets, clients } = await openStopped(t, 3)
  for (const socket of sockets) {
    block(socket)
    socket.subscribe('a')
  }
  const own = sockets.map(socket => socket.queuedBytes)
  const before = server.stats().socketQueuedBytes
  t.equal(
    before,
    own.reduce((sum, bytes) => sum + bytes, 0),
  )
  for (const bytes of [1, 15 * KIB, 16 * KIB, 200 * KIB]) server.publish('a', Buffer.alloc(bytes))
  await nextTurn()
  await nextTurn()
  const published = 1 + (15 + 16 + 200) * KIB
  t.strictSame(
    sockets.map(socket => socket.queuedBytes),
    own.map(bytes => bytes + published),
  )
  // Beside what it takes to refer to a frame.
  const grown = server.stats().socketQueuedBytes - before - published
  t.ok(grown > 0 && grown <= 3 * 4 * 16, `${grown} bytes`)
  const [first, ...others] = clients
  first?.destroy()
  await until('its own bytes are free', () => server.stats().sockets === 2)
  t.ok(server.stats().socketQueuedBytes >= published, 'the others have what is shared')
  for (const { socket } of others) socket.resume()
  await until('all is taken', () => server.stats().socketQueuedBytes === 0)
})

t.test('frames without bytes have a bound too', async t => {
  const { server, sockets } = await openStopped(t, 2, { socketsQueuedBytesMax: 1_024 * KIB })
  const [stopped, other] = sockets
  if (stopped === undefined || other === undefined) throw new Error('no socket')
  block(stopped)
  stopped.subscribe('a')
  const frame = new Uint8Array(0)
  for (let sent = 0; sent < 80_000 && !stopped.isClosed; sent++) {
    server.publish('a', frame)
    if (sent % 1_000 === 0) await nextTurn()
  }
  t.equal(stopped.isClosed, true, 'what refers to them is memory')
  t.equal(other.isClosed, false)
})

t.test('the longest queues are closed at once where all are too long', async t => {
  const { server, sockets } = await openStopped(t, 5, { socketsQueuedBytesMax: 5_000 * KIB })
  for (const [index, socket] of sockets.entries()) {
    block(socket)
    socket.send(Buffer.alloc(index * 100 * KIB + 1))
  }
  t.equal(server.stats().sockets, 5)
  const [first] = sockets
  if (first === undefined) throw new Error('no socket')
  t.equal(first.send(Buffer.alloc(2_000 * KIB)), false, 'the one that sends has the longest')
  t.strictSame(
    sockets.map(socket => socket.isClosed),
    [true, false, false, false, false],
  )
  t.ok(server.stats().socketQueuedBytes <= 5_000 * KIB)
})

t.test('a socket that is closed takes its queue along within a time', async t => {
  const { server, sockets, clients } = await openStopped(t, 2, { socketCloseMs: 300 })
  for (const socket of sockets) {
    block(socket)
    socket.subscribe('a')
  }
  await nextTurn()
  server.publish('a', Buffer.from('last'))
  await nextTurn()
  for (const socket of sockets) socket.close(1012, 'restart')
  server.publish('a', Buffer.from('late'))
  for (const socket of sockets) t.equal(socket.send('late'), false)
  t.equal(server.stats().sockets, 2, 'open until it is taken')
  const [, reader] = clients
  reader?.socket.resume()
  t.strictSame(await reader?.closed, { code: 1012, reason: 'restart' })
  t.equal(reader?.messages.at(-1), 'last')
  await until('the other is terminated', () => server.stats().sockets === 0)
  t.equal(server.stats().closes.get(1012), 2)
})
