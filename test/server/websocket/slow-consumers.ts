import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { boundUnsent } from '../../../src/native/os.js'
import type { Socket, SocketRoute } from '../../../src/shared/socket.js'
import { openTestServer } from '../../fixtures/server/server.js'
import { openSocket, type SocketClient } from '../../fixtures/server/socket.js'
import { until } from '../../fixtures/until.js'

const FRAME_BYTES = 20_000
const TOPICS = ['a', 'b']
const COUNT = 3

type Closing = { teardown(fn: () => void): unknown }

/** Sockets of the server and their clients, in the same order. */
const openSome = async (t: Closing) => {
  const sockets: Socket[] = []
  const route: SocketRoute<string> = {
    pattern: '/:name',
    frameBytesMax: 1_000,
    open: request => request.path,
    onOpen: (_, socket) => void sockets.push(socket),
    onMessage() {},
    onClose() {},
  }
  const { server, port } = await openTestServer(t, [], {
    sockets: [route as SocketRoute],
    options: { socketSweepMs: 5, socketStallMs: 60_000 },
  })
  // Otherwise the operating system buffers some MB before the server queues anything.
  boundUnsent(4_096)
  const clients: SocketClient[] = []
  for (let index = 0; index < COUNT; index++)
    clients.push(await openSocket(port, { path: '/x', keep: message => message.slice(0, 6) }))
  t.teardown(() => clients.forEach(client => client.destroy()))
  return { server, sockets, clients }
}

/** Blocks the event loop, so that the next sweep runs in the same turn as earlier publishes. */
const spin = (ms: number): void => {
  for (const endMs = performance.now() + ms; performance.now() < endMs;);
}

const frame = (index: number): string => String(index).padEnd(FRAME_BYTES, ' ')

t.test('frames for clients that do not read are in memory once', async t => {
  const { server, sockets, clients } = await openSome(t)
  for (const { socket } of clients) socket.pause()
  for (const socket of sockets) socket.subscribe('a')
  let sent = 0
  const publishUntil = async (isEnough: () => boolean): Promise<void> => {
    while (!isEnough()) {
      server.publish('a', Buffer.from(frame(sent++)))
      await sleep(1)
    }
  }
  await publishUntil(() => sockets.every(socket => socket.queuedBytes > 0))
  await sleep(50)
  const before = server.stats().socketQueuedBytes
  const queuedFrom = sent
  await publishUntil(() => sent === queuedFrom + 100)
  await sleep(50)
  const grown = server.stats().socketQueuedBytes - before
  t.ok(grown >= 100 * FRAME_BYTES, 'queued bytes are counted')
  t.ok(grown < 130 * FRAME_BYTES, `${grown} bytes for ${COUNT} clients`)
  t.ok(
    sockets.every(socket => socket.queuedBytes >= 100 * FRAME_BYTES),
    'every client has all frames in its queue',
  )
  clients[0]?.destroy()
  for (const { socket } of clients.slice(1)) socket.resume()
  await until('the other clients receive every frame', () =>
    clients.slice(1).every(({ messages }) => messages.length === sent),
  )
  await until('all queues are empty', () => server.stats().socketQueuedBytes === 0)
  for (const { messages } of clients.slice(1))
    t.ok(messages.every((message, index) => Number(message) === index))
})

t.test('a client receives what it is subscribed to, in order, whatever it does', async t => {
  const { server, sockets, clients } = await openSome(t)
  const one = fc.nat({ max: COUNT - 1 })
  const topic = fc.constantFrom(...TOPICS)
  const action = fc.oneof(
    { arbitrary: fc.record({ kind: fc.constant('publish'), topic, one }), weight: 6 },
    fc.record({ kind: fc.constantFrom('subscribe', 'unsubscribe'), topic, one }),
    fc.record({ kind: fc.constantFrom('send', 'pause', 'resume', 'wait', 'spin'), topic, one }),
  )
  let sent = 0
  let queuedCount = 0
  const run = async (actions: readonly { kind: string; topic: string; one: number }[]) => {
    const topics = sockets.map(() => new Set<string>())
    const wanted: number[][] = sockets.map(() => [])
    for (const { messages } of clients) messages.length = 0
    for (const { kind, topic, one } of actions) {
      const [socket, client] = [sockets[one], clients[one]]
      if (kind === 'publish') {
        for (const [index, known] of topics.entries())
          if (known.has(topic)) wanted[index]?.push(sent)
        server.publish(topic, Buffer.from(frame(sent++)))
      } else if (kind === 'send') {
        wanted[one]?.push(sent)
        socket?.send(frame(sent++))
      } else if (kind === 'subscribe') {
        socket?.subscribe(topic)
        topics[one]?.add(topic)
      } else if (kind === 'unsubscribe') {
        socket?.unsubscribe(topic)
        topics[one]?.delete(topic)
      } else if (kind === 'pause') client?.socket.pause()
      else if (kind === 'resume') client?.socket.resume()
      else if (kind === 'wait') await sleep(8)
      else spin(8)
      queuedCount += Number(sockets.some(socket => socket.queuedBytes > 10 * FRAME_BYTES))
    }
    for (const { socket } of clients) socket.resume()
    await until('every frame is received', () =>
      clients.every(({ messages }, index) => messages.length >= (wanted[index]?.length ?? 0)),
    )
    await until('all queues are empty', () => sockets.every(socket => socket.queuedBytes === 0))
    await sleep(12)
    for (const socket of sockets) for (const topic of TOPICS) socket.unsubscribe(topic)
    return clients.every(
      ({ messages }, index) => messages.map(Number).join() === wanted[index]?.join(),
    )
  }
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 50, maxLength: 400, size: 'max' }), run),
    { numRuns: 40 },
  )
  t.ok(queuedCount > 40, `queues were in use ${queuedCount} times`)
})
