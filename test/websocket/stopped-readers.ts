import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { defaults } from '../../src/config/sections/process-options.js'
import { boundUnsent } from '../../src/native/os.js'
import type { Socket, SocketRoute } from '../../src/shared/socket.js'
import { openTestServer } from '../fixtures/server/server.js'
import { openSocket, type SocketClient } from '../fixtures/server/socket.js'
import { isSoak } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

const COUNT = isSoak ? 1_000 : 100
/** A busy stream: 16 KB, 200 times a second for few readers and 100 times for many. */
const FRAME_BYTES = 16_000
const FRAME_MS = COUNT > 100 ? 10 : 5
const TOPIC = 'stream'
const MB = 1024 ** 2
/** Less than the default, so that many readers reach it before each one reaches its own. */
const QUEUED_BYTES_MAX = 64 * MB
/** Socket buffers, test code, and growth of queues between two measurements. */
const OTHER_BYTES_MAX = 128 * MB

t.test(`${COUNT} readers that stop reading`, async t => {
  t.setTimeout(120_000)
  const sockets: Socket[] = []
  const route: SocketRoute = {
    pattern: '/:name',
    frameBytesMax: 1_000,
    open: request => request.path,
    onOpen: (path, socket) => {
      if (path !== '/asks') socket.subscribe(TOPIC)
      sockets.push(socket)
    },
    onMessage: (_, socket, body) => void socket.send(body),
    onClose() {},
  }
  const { server, port } = await openTestServer(t, [], {
    sockets: [route],
    options: { socketsQueuedBytesMax: QUEUED_BYTES_MAX },
  })

  // As each edge does: otherwise the operating system buffers some MB per client.
  boundUnsent(defaults.unsentBytesMax)

  /** Round trips of a client that asks while the others do what they do. */
  const asking = await openSocket(port, { path: '/asks' })
  const ask = async (forMs: number): Promise<number> => {
    const times: number[] = []
    for (const endMs = performance.now() + forMs; performance.now() < endMs;) {
      const startMs = performance.now()
      asking.send('x')
      await asking.next()
      times.push(performance.now() - startMs)
      await sleep(2)
    }
    return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? NaN
  }

  const readers = await Promise.all(
    Array.from({ length: 5 }, () =>
      openSocket(port, { path: '/reads', keep: message => message.slice(0, 9) }),
    ),
  )
  let sent = 0
  const body = 'x'.repeat(FRAME_BYTES - 10)
  const publish = (): void =>
    server.publish(TOPIC, Buffer.from(`${String(sent++).padStart(9, '0')} ${body}`))
  const stream = setInterval(publish, FRAME_MS)
  t.teardown(() => clearInterval(stream))
  const quietMs = await ask(1_500)

  const stopped: SocketClient[] = []
  for (let index = 0; index < COUNT; index += 50) {
    const opened = Array.from({ length: 50 }, () => openSocket(port, { path: '/stops' }))
    for (const client of await Promise.all(opened)) {
      client.socket.pause()
      stopped.push(client)
    }
  }
  const startMs = performance.now()
  const before = process.memoryUsage().rss
  let [most, mostQueued] = [0, 0]
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss - before)
    mostQueued = Math.max(mostQueued, server.stats().socketQueuedBytes)
  }, 20)
  t.teardown(() => clearInterval(watch))
  const busy = ask(2_000)
  await until('those that do not read are closed', () => server.stats().sockets === 6, 30_000)
  const closedMs = performance.now() - startMs
  const busyMs = await busy
  clearInterval(watch)
  clearInterval(stream)

  // Beside other tests `until` bounds it.
  if (isSoak) t.ok(closedMs < 10_000, `all closed ${Math.round(closedMs)} ms after they stopped`)
  t.ok(mostQueued > MB, 'something did wait for them')
  t.ok(most < QUEUED_BYTES_MAX * 2 + OTHER_BYTES_MAX, `${Math.round(most / MB)} MB at most`)
  t.equal(server.stats().closes.get(1013), COUNT)
  t.comment(
    `${COUNT} stopped, closed after ${Math.round(closedMs)} ms; queued at most ${Math.round(mostQueued / MB)} MB, memory ${Math.round(most / MB)} MB more; ` +
      `p99 of another client ${quietMs.toFixed(1)} ms before, ${busyMs.toFixed(1)} ms with stopped readers`,
  )
  await until('the others have all of it', () =>
    readers.every(({ messages }) => Number(messages.at(-1)) === sent - 1),
  )
  for (const { messages } of readers) {
    const first = Number(messages[0])
    const isWhole = messages.every((message, index) => Number(message) === first + index)
    t.ok(isWhole && messages.length === sent - first, 'in order, and not one is missing')
  }
  for (const client of stopped) client.destroy()
})
