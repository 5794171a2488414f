import t from 'tap'
import { CLOSE, type Socket, type SocketRoute } from '../../../src/shared/socket.js'
import type { SizedSource } from '../../../src/shared/http.js'
import type { Options } from '../../../src/server/options.js'
import { eventually, openTestServer } from '../../fixtures/server/server.js'
import { openSocket } from '../../fixtures/server/socket.js'

/** More than all buffers between both ends take at once. */
const MIB = 1024 ** 2
const LONG_BYTES = 14 * MIB
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'

type Source = SizedSource & { readonly closeCount: number; readonly readBytes: number }

/** Letters in turn, `stepBytes` at a time. */
const letters = (
  byteLength: number,
  { failsAfter = Infinity, stepBytes = Infinity, isSlow = false } = {},
): Source => {
  const all = Buffer.alloc(LETTERS.length * 4_096, LETTERS)
  let readBytes = 0
  let closeCount = 0
  const step = (into: Uint8Array): number => {
    if (closeCount > 0) throw new Error('read after close')
    if (readBytes >= failsAfter) throw new Error('the rest cannot be read')
    const count = Math.min(into.length, byteLength - readBytes, stepBytes)
    into.set(all.subarray(readBytes % LETTERS.length).subarray(0, count))
    readBytes += count
    return count
  }
  return {
    byteLength,
    read: into =>
      isSlow ? new Promise(resolve => setImmediate(() => resolve(step(into)))) : step(into),
    close: () => void closeCount++,
    get closeCount() {
      return closeCount
    },
    get readBytes() {
      return readBytes
    },
  }
}

const isWhole = (message: string, bytes: number): boolean =>
  message.length === bytes && Buffer.from(message).equals(Buffer.alloc(bytes, LETTERS))

const open = async (t: Parameters<typeof openTestServer>[0], options: Partial<Options> = {}) => {
  const sockets: Socket[] = []
  const received: string[] = []
  const route: SocketRoute<undefined> = {
    pattern: '/:token',
    frameBytesMax: 1_000,
    open: () => undefined,
    onOpen: (_, socket) => void sockets.push(socket),
    onMessage: (_, socket, body) => {
      received.push(Buffer.from(body).toString())
      socket.send(body)
    },
    onClose: () => {},
  }
  const { server, port, lines } = await openTestServer(t, [], {
    sockets: [route as SocketRoute],
    options: { socketSweepMs: 20, socketStallMs: 20_000, ...options },
  })
  const client = await openSocket(port, { path: '/a' })
  const [socket] = sockets
  if (socket === undefined) throw new Error('no socket')
  let endCount = 0
  return {
    ...{ server, lines, client, socket, received },
    send: (source: SizedSource) => socket.sendSource(source, () => void endCount++),
    endCount: () => endCount,
  }
}

t.test('a long message is one frame, and all others wait behind it in order', async t => {
  const { server, client, socket, send, endCount } = await open(t)
  socket.subscribe('before')
  server.publish('before', Buffer.from('published before'))
  socket.send('sent before')
  t.strictSame([await client.next(), await client.next()].sort(), [
    'published before',
    'sent before',
  ])
  client.socket.pause()
  const source = letters(LONG_BYTES)
  send(source)
  await eventually(() => source.readBytes > 0)
  server.publish('before', Buffer.from('1'))
  socket.send('2')
  socket.subscribe('later')
  server.publish('later', Buffer.from('3'))
  socket.unsubscribe('later')
  server.publish('later', Buffer.from('not subscribed'))
  socket.send('4')
  t.ok(socket.queuedBytes > 1024 ** 2)
  client.socket.resume()
  t.ok(isWhole(await client.next(), LONG_BYTES))
  const later = [await client.next(), await client.next(), await client.next(), await client.next()]
  t.strictSame(later, ['1', '2', '3', '4'])
  t.strictSame(client.opcodes, [1, 1, 1, 1, 1, 1, 1])
  t.equal(endCount(), 1)
  t.equal(source.closeCount, 1)
  server.publish('before', Buffer.from('subscribed again'))
  t.equal(await client.next(), 'subscribed again')
  t.equal(socket.queuedBytes, 0)
  client.destroy()
})

t.test('sources of all kinds', async t => {
  const { client, send, endCount } = await open(t)
  const sources = [
    letters(1),
    letters(126),
    letters(65_535, { stepBytes: 10_000 }),
    letters(65_536, { isSlow: true }),
    letters(1_000_000, { stepBytes: 30_000, isSlow: true }),
  ]
  for (const [nth, source] of sources.entries()) {
    send(source)
    t.ok(isWhole(await client.next(), source.byteLength), `${source.byteLength}`)
    await eventually(() => endCount() === nth + 1)
    t.equal(source.closeCount, 1)
  }
  client.destroy()
})

t.test('no control frame is within it', async t => {
  const { client, received, send, server } = await open(t)
  client.socket.pause()
  send(letters(LONG_BYTES))
  for (let nth = 0; nth < 10; nth++) client.send(`${nth}`, { opcode: 9 })
  client.send('a call')
  await eventually(() => received.length === 1)
  client.close(1000, 'enough')
  client.send('after the close')
  client.socket.resume()
  t.strictSame(await client.closed, { code: 1000, reason: 'enough' })
  t.ok(isWhole(await client.next(), LONG_BYTES))
  t.strictSame(client.opcodes, [1, 10, 8], 'the last ping and the close are answered after it')
  t.strictSame(received, ['a call'])
  await eventually(() => server.stats().sockets === 0)
})

t.test('an idle time that ends within it closes nothing', async t => {
  const { client, send } = await open(t, {
    socketIdleSeconds: 8,
    socketStallMs: 60_000,
    replyStallMs: 60_000,
  })
  client.socket.pause()
  send(letters(LONG_BYTES))
  await new Promise(resolve => setTimeout(resolve, 14_000))
  client.socket.resume()
  t.ok(isWhole(await client.next(), LONG_BYTES))
  client.send('still open')
  t.equal(await client.next(), 'still open')
  client.destroy()
})

t.test('a client that stops reading is closed, and its source too', async t => {
  const { client, socket, server, send, endCount } = await open(t, {
    socketStallMs: 300,
    socketCloseMs: 200,
  })
  client.socket.pause()
  const source = letters(LONG_BYTES)
  send(source)
  socket.send('behind it')
  await eventually(() => server.stats().sockets === 0)
  t.ok(source.readBytes < LONG_BYTES)
  t.strictSame([source.closeCount, endCount()], [1, 1])
  t.equal(socket.queuedBytes, 0)
  t.match(server.stats(), { repliesInFlight: 0, closes: new Map([[1013, 1]]) })
  client.socket.resume()
  t.equal((await client.closed).code, 1006)
})

t.test('one that reads slowly is not', async t => {
  const socketStallMs = 3_000
  const { client, send, endCount } = await open(t, { socketStallMs, socketCloseMs: 200 })
  const startMs = performance.now()
  let dueBytes = 0
  let readBytes = 0
  client.socket.on('data', ({ length }) => {
    readBytes += length
    if (readBytes >= dueBytes) client.socket.pause()
  })
  client.socket.pause()
  // So much at once that the window of TCP opens, and several times within the bound.
  const reader = setInterval(() => {
    dueBytes += MIB
    client.socket.resume()
  }, socketStallMs / 6)
  t.teardown(() => clearInterval(reader))
  send(letters(LONG_BYTES))
  const end = client.closed.then(({ code }) => `closed with ${code}`)
  const received = await Promise.race([client.next(), end])
  t.ok(isWhole(received, LONG_BYTES), received.slice(0, 20))
  t.equal(endCount(), 1)
  t.ok(performance.now() - startMs > 1.5 * socketStallMs, 'it took longer than the bound')
  client.destroy()
})

t.test('what waits behind it is bounded', async t => {
  const { client, socket, server, send } = await open(t, {
    socketQueueBytesMax: 1_000_000,
    socketCloseMs: 200,
  })
  client.socket.pause()
  const source = letters(LONG_BYTES)
  send(source)
  let sentBytes = 0
  while (socket.send(Buffer.alloc(50_000, 'a')) && sentBytes < 10 ** 8) sentBytes += 50_000
  t.ok(sentBytes >= 900_000 && sentBytes <= 1_100_000, `${sentBytes}`)
  await eventually(() => server.stats().sockets === 0)
  t.equal(source.closeCount, 1)
  client.destroy()
})

t.test('a source that fails', async t => {
  const begun = await open(t)
  const half = letters(LONG_BYTES, { failsAfter: LONG_BYTES / 2 })
  begun.send(half)
  t.strictSame(await begun.client.closed, { code: 1006, reason: '' }, 'within the frame')
  t.strictSame([half.closeCount, begun.endCount()], [1, 1])
  t.match(begun.lines.join(''), /a long message was not completed/)
  const fresh = await open(t)
  const none = letters(LONG_BYTES, { failsAfter: 0 })
  fresh.send(none)
  t.strictSame(await fresh.client.closed, { code: 1011, reason: 'internal error' }, 'before it')
  t.strictSame([none.closeCount, fresh.endCount()], [1, 1])
  const short = await open(t)
  short.send({ ...letters(100), byteLength: 200, read: () => 0, close: () => {} })
  t.equal((await short.client.closed).code, 1011, 'one that is shorter than its length')
})

t.test('closes', async t => {
  const restarting = await open(t, { socketCloseMs: 20_000 })
  const source = letters(LONG_BYTES)
  restarting.send(source)
  restarting.socket.close(CLOSE.restart, 'restart')
  const refused = letters(10)
  restarting.send(refused)
  t.equal(refused.closeCount, 1, 'nothing follows a close')
  t.strictSame(await restarting.client.closed, { code: 1012, reason: 'restart' })
  t.ok(isWhole(await restarting.client.next(), LONG_BYTES), 'it is sent before the close')
  t.equal(restarting.endCount(), 2)

  const revoked = await open(t)
  revoked.client.socket.pause()
  const secret = letters(LONG_BYTES)
  revoked.send(secret)
  revoked.socket.close(CLOSE.policy, 'token revoked')
  t.equal(secret.closeCount, 1, 'nothing more of it is sent')
  revoked.client.socket.resume()
  t.equal((await revoked.client.closed).code, 1006)

  const gone = await open(t)
  gone.client.socket.pause()
  const unread = letters(LONG_BYTES)
  gone.send(unread)
  await eventually(() => unread.readBytes > 0)
  gone.client.destroy()
  await eventually(() => gone.server.stats().sockets === 0)
  t.strictSame([unread.closeCount, gone.endCount()], [1, 1])

  const stopped = await open(t)
  stopped.client.socket.pause()
  const left = letters(LONG_BYTES)
  stopped.send(left)
  stopped.server.close()
  t.equal(left.closeCount, 1, 'with the server')
  stopped.client.destroy()
})
