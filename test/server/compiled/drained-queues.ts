import { fork } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import type { Socket, SocketRoute } from '../../../src/shared/socket.js'
import { scriptPath } from '../../fixtures/repository.js'
import { eventually, openTestServer } from '../../fixtures/server/server.js'
import { until } from '../../fixtures/until.js'

const SOCKETS = 32
const QUEUED_BYTES = 14 * 1024 ** 2
const FRAME_BYTES = 1024 ** 2
/** Of what was queued. An unpatched server keeps all. */
const KEPT_PART = 0.25
const GIVEN_BACK_MS = 10_000

t.test('a drained queue gives its memory back while its socket is open', async t => {
  const sockets: Socket[] = []
  const route: SocketRoute = {
    pattern: '/:token',
    frameBytesMax: 1_000,
    open: () => ({}),
    onOpen: (_context, socket) => void sockets.push(socket),
    onMessage: () => {},
    onClose: () => {},
  }
  const { port, server } = await openTestServer(t, [], {
    sockets: [route],
    options: { socketStallMs: 60_000, socketsQueuedBytesMax: 1024 ** 3 },
  })
  // Clients of a process of their own: what is measured is the memory of the server.
  const script = scriptPath('test/fixtures/server/unread-clients')
  const clients = fork(script, [String(port), String(SOCKETS)])
  t.teardown(() => clients.kill())
  await once(clients, 'message')
  const frame = Buffer.alloc(FRAME_BYTES, 'a')
  const before = process.memoryUsage.rss()
  for (const socket of sockets)
    while (socket.queuedBytes < QUEUED_BYTES) t.ok(socket.send(frame), 'queued')
  const full = process.memoryUsage.rss()
  t.ok(full - before > 0.7 * SOCKETS * QUEUED_BYTES, `${Math.round((full - before) / 1e6)} MB`)
  clients.send('read')
  await eventually(() => sockets.every(({ queuedBytes }) => queuedBytes === 0))
  t.equal(server.stats().sockets, SOCKETS)
  const kept = (): number => process.memoryUsage.rss() - before
  const isBack = (): boolean => kept() < KEPT_PART * (full - before)
  await until('memory is given back', isBack, GIVEN_BACK_MS).catch(() => undefined)
  t.ok(isBack(), `${Math.round(kept() / 1e6)} MB of ${Math.round((full - before) / 1e6)}`)
})
