import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { SocketRoute } from '../../../src/shared/socket.js'
import { countTurns } from '../../fixtures/count-turns.js'
import { openTestServer } from '../../fixtures/server/server.js'
import { openSocket, type SocketClient } from '../../fixtures/server/socket.js'
import { isSoak } from '../../fixtures/soak.js'
import { isTls } from '../../fixtures/server/transport.js'
import { until } from '../../fixtures/until.js'

const COUNT = isSoak ? 400 : 200
/** What a handler of a close takes; all together take 40 ms, and 80 ms in a soak run. */
const CLOSE_MS = 0.2
/** A turn closes sockets for 2 ms, and the first one late. */
const CLOSES_PER_TURN_MAX = 20
/** The shortest that the server has; the last half of it begins with a ping. */
const IDLE_SECONDS = 8

const skip = isTls && 'Node resets no connection of TLS'

/** Opens sockets, of whose closes the handler takes time. */
const open = async (t: Test) => {
  const turnOf = countTurns(t)
  const closesByTurn = new Map<number, number>()
  const route: SocketRoute = {
    pattern: '/:name',
    frameBytesMax: 1_000,
    open: request => request.path,
    onOpen: () => {},
    onMessage: (_, socket, body) => void socket.send(body),
    onClose: name => {
      if (name === '/stays') return
      for (const endMs = performance.now() + CLOSE_MS; performance.now() < endMs;);
      closesByTurn.set(turnOf(), (closesByTurn.get(turnOf()) ?? 0) + 1)
    },
  }
  const options = { socketIdleSeconds: IDLE_SECONDS }
  const { port, server } = await openTestServer(t, [], { sockets: [route], options })
  const staying = await openSocket(port, { path: '/stays' })
  const clients: SocketClient[] = []
  while (clients.length < COUNT) {
    const opening = Array.from({ length: 50 }, () => openSocket(port, { path: '/a', isDeaf: true }))
    clients.push(...(await Promise.all(opening)))
  }
  const closed = (): number => [...closesByTurn.values()].reduce((sum, count) => sum + count, 0)
  const most = (): number => Math.max(...closesByTurn.values())
  return { clients, staying, server, closed, most }
}

t.test('sockets that are reset at once are closed over several turns', { skip }, async t => {
  const { clients, staying, server, closed, most } = await open(t)
  for (const { socket } of clients) socket.resetAndDestroy()
  await until('all are closed', () => closed() === COUNT)
  t.ok(most() <= CLOSES_PER_TURN_MAX, `${most()} in a turn`)
  staying.send('still here')
  t.equal(await staying.next(), 'still here')
  t.equal(server.stats().sockets, 1)
})

t.test('sockets that are idle at once are closed over several turns', async t => {
  const { clients, staying, server, closed, most } = await open(t)
  await sleep((IDLE_SECONDS / 2) * 1_000)
  await until('all are closed', () => closed() === COUNT, 2 * IDLE_SECONDS * 1_000)
  t.ok(most() <= CLOSES_PER_TURN_MAX, `${most()} in a turn`)
  const codes = new Set(
    (await Promise.all(clients.map(client => client.closed))).map(({ code }) => code),
  )
  t.strictSame(codes, new Set([1006]))
  // Time went on for the others: it has answered its pings.
  staying.send('still here')
  t.equal(await staying.next(), 'still here')
  t.equal(server.stats().sockets, 1)
})
