// Connections that are closed because of a limit are counted by limit. Those of descriptors are in
// test/service/shares.ts, those of TLS in test/server/tls/.
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { closedConnections } from '../../../src/server/compiled/closed.js'
import type { ConnectionLimit } from '../../../src/server/compiled/functions.js'
import type { Options } from '../../../src/server/options.js'
import {
  connect,
  eventually,
  openTestServer,
  post,
  replyCount,
  text,
} from '../../fixtures/server/server.js'
import { dial } from '../../fixtures/server/transport.js'

const MIB = 1024 ** 2
const HEAD = 'POST /t HTTP/1.1\r\nHost: a\r\n'

const open = async (t: Test, options: Partial<Options> = {}) => {
  // Of replies this long uWebSockets keeps what is not taken.
  const reply = text('x'.repeat(200_000))
  const routes = [{}, { pattern: '/large', handle: () => reply }]
  return openTestServer(t, routes, { options })
}

type Opened = Awaited<ReturnType<typeof open>>

/** Sends bytes, and resolves when the server has closed. */
const send = async ({ port }: Opened, bytes: string): Promise<void> => {
  const connection = await connect(port)
  connection.socket.write(bytes)
  await connection.closed
}

/** A client that has an answer and sends no other request. */
const idle = async ({ port }: Opened): Promise<void> => {
  const connection = await connect(port)
  connection.socket.write(post('/t', 'x'))
  await connection.until(now => replyCount(now) > 0)
  await connection.closed
}

/** A client that reads no reply. */
const readNothing = async (
  { port, server }: Opened,
  count: number,
  path = '/large',
): Promise<void> => {
  const socket = dial({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  await once(socket.pause(), 'connect')
  socket.write(post(path, 'x').repeat(count))
  await eventually(() => server.stats().connections === 1)
  await eventually(() => server.stats().connections === 0)
  socket.destroy()
}

/** A client that does not close a connection which the server has ended. */
const staySilent = async ({ port, server }: Opened): Promise<void> => {
  const socket = dial({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {}).resume()
  socket.write('GET /t HTTP/1.0\r\n\r\n')
  await once(socket, 'end')
  await eventually(() => server.stats().connections === 0)
  socket.destroy()
}

type Case = readonly [limit: ConnectionLimit, run: (t: Test) => Promise<void>]

const cases: readonly Case[] = [
  ['address', async t => tooMany(await open(t, { connectionsPerAddressMax: 2 }))],
  ['total', async t => tooMany(await open(t, { connectionsMax: 2 }))],
  ['idle', async t => idle(await open(t, { idleSeconds: 1 }))],
  ['request', async t => send(await open(t), HEAD)],
  ['request', async t => send(await open(t), `${HEAD}Content-Length: 2\r\n\r\nx`)],
  ['response', async t => readNothing(await open(t), 90)],
  ['linger', async t => staySilent(await open(t))],
]

/** Opens a third connection where two are allowed. */
const tooMany = async ({ port }: Opened): Promise<void> => {
  const [first, ...others] = [await connect(port), await connect(port), await connect(port)]
  await first?.closed
  for (const { socket } of others) socket.destroy()
}

t.test('each connection that exceeds a limit is counted once', async t => {
  const before = closedConnections()
  await Promise.all(cases.map(([, run]) => run(t)))
  const after = closedConnections()
  for (const limit of new Set(cases.map(([name]) => name))) {
    const expected = cases.filter(([name]) => name === limit).length
    t.equal(after[limit] - before[limit], expected, limit)
  }
})

t.test('a large reply that is abandoned is counted', async t => {
  const slow = await openTestServer(t, [{ handle: () => text('x'.repeat(20 * MIB)) }], {
    options: { replyStallMs: 200 },
  })
  await readNothing(slow, 1, '/t')
  t.equal(slow.server.stats().abandonedCount, 1)
})
