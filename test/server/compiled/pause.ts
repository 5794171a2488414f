import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CLOSE, type Socket, type SocketRoute } from '../../../src/shared/socket.js'
import { eventually, openTestServer } from '../../fixtures/server/server.js'
import { openSocket } from '../../fixtures/server/socket.js'

const PAUSE_MS = 300
const openFiles = (): number => readdirSync('/proc/self/fd').length

t.test('a paused socket is read later, and others are read meanwhile', async t => {
  const received: string[] = []
  const paused: Socket[] = []
  const route: SocketRoute = {
    pattern: '/:token',
    frameBytesMax: 1_000,
    open: () => ({}),
    onOpen: () => {},
    onMessage: (_context, socket, body) => {
      const message = Buffer.from(body).toString()
      received.push(message)
      if (message === 'pause') {
        socket.pause()
        paused.push(socket)
      }
      if (message === 'end') {
        socket.pause()
        return socket.close(CLOSE.overload, 'end')
      }
      socket.send(body)
    },
    onClose: () => {},
  }
  const { port, server } = await openTestServer(t, [], { sockets: [route] })
  const client = await openSocket(port, { path: '/a' })
  const other = await openSocket(port, { path: '/b' })
  client.send('pause')
  t.equal(await client.next(), 'pause')
  for (let nth = 0; nth < 1_000; nth++) client.send('more')
  other.send('other')
  t.equal(await other.next(), 'other')
  const resumeLater = async (): Promise<void> => {
    await sleep(PAUSE_MS)
    paused.pop()?.resume()
  }
  await sleep(PAUSE_MS)
  t.strictSame(received, ['pause', 'other'])
  paused.pop()?.resume()
  t.equal(await client.next(), 'more')
  await eventually(() => client.messages.length === 1_001)
  client.send('pause')
  await eventually(() => client.messages.length === 1_002)
  // A client that leaves meanwhile is noticed when its socket is read again.
  client.destroy()
  await resumeLater()
  await eventually(() => server.stats().sockets === 1)
  other.send('pause')
  other.close(1000)
  await resumeLater()
  t.match(await other.closed, { code: 1000 })
  await eventually(() => server.stats().sockets === 0)
  // The connection of one that is closed meanwhile ends at once.
  const before = openFiles()
  const last = await openSocket(port, { path: '/c' })
  const endMs = performance.now()
  last.send('end')
  t.strictSame(await last.closed, { code: 1013, reason: 'end' })
  await eventually(() => openFiles() <= before)
  t.ok(performance.now() - endMs < 5_000)
})
