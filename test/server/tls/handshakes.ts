// Clients that begin a handshake and do not end it, and those that make it costly.
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import tls, { type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { closedConnections } from '../../../src/server/compiled/closed.js'
import { measureTurns } from '../../../src/server/compiled/turns.js'
import { TURN_MS_MAX } from '../../fixtures/count-turns.js'
import { makeCertificate } from '../../fixtures/server/certificates.js'
import { readHello } from '../../fixtures/server/hello.js'
import { openTestServer, post, replyCount } from '../../fixtures/server/server.js'
import { until } from '../../fixtures/until.js'

const take = measureTurns(Float64Array.of(0.005))

const HALF_OPEN = 1_000

const open = async (t: Test, connectionsMax = 4_096) => {
  const { port, server } = await openTestServer(t, [{ isAuthenticated: true }], {
    listeners: [{ host: '127.0.0.1', port: 0, tls: makeCertificate(t.testdir(), 'own') }],
    options: { connectionsMax, connectionsPerAddressMax: connectionsMax },
  })
  return { port, server }
}

/** An authenticated client that has no request in flight. */
const openBystander = async (t: Test, port: number) => {
  const socket: TLSSocket = tls.connect({ port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  t.teardown(() => socket.destroy())
  let received = ''
  let answers = 0
  socket.on('data', (chunk: Buffer) => void (received += chunk.toString('latin1')))
  const ask = async (): Promise<void> => {
    socket.write(post('/t', '1'))
    while (replyCount(received) <= answers) {
      if (socket.destroyed) throw new Error('the connection of the bystander was closed')
      await once(socket, 'data')
    }
    answers++
  }
  await ask()
  return { ask, count: () => answers }
}

const openSilent = async (port: number, first?: Buffer): Promise<net.Socket> => {
  const socket = net.connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {}).resume()
  await once(socket, 'connect')
  if (first !== undefined) socket.write(first)
  return socket
}

t.test('a thousand handshakes that do not end keep no client out', async t => {
  const { port, server } = await open(t)
  const hello = await readHello()
  const bystander = await openBystander(t, port)
  take()
  const startedAt = performance.now()
  // Some say nothing, some a part of the first message, some all of it.
  const parts = [undefined, hello.subarray(0, 100), hello]
  const sockets: net.Socket[] = []
  // Few at a time: this process has both ends, and its turns are measured.
  while (sockets.length < HALF_OPEN) {
    const some = parts.flatMap(part => [1, 2, 3].map(() => openSilent(port, part)))
    sockets.push(...(await Promise.all(some)))
  }
  t.teardown(() => sockets.forEach(socket => socket.destroy()))
  await until('all are accepted', () => server.stats().connections === sockets.length + 1)
  const closed = Promise.all(sockets.map(socket => once(socket, 'close')))
  for (let count = 0; count < 100; count++) await bystander.ask()
  const { longestCpuSeconds } = take()
  t.ok(longestCpuSeconds * 1_000 <= TURN_MS_MAX, `a turn of ${longestCpuSeconds * 1_000} ms`)
  // None has 75 s, which are for connections that are established.
  await closed
  t.ok(closedConnections().handshake >= HALF_OPEN, 'they are counted')
  const seconds = (performance.now() - startedAt) / 1_000
  t.ok(seconds < 20, `closed after ${seconds} s`)
  await bystander.ask()
})

t.test('they are the first to be closed over the limit of connections', async t => {
  const { port, server } = await open(t, 64)
  const hello = await readHello()
  const bystander = await openBystander(t, port)
  const sockets: net.Socket[] = []
  for (let index = 0; index < 200; index++) {
    sockets.push(await openSilent(port, index % 2 === 0 ? hello : undefined))
    if (index % 20 === 0) await bystander.ask()
  }
  t.teardown(() => sockets.forEach(socket => socket.destroy()))
  await until('the limit is kept', () => server.stats().connections <= 64)
  const other = await openBystander(t, port)
  await other.ask()
  await bystander.ask()
})

t.test('no turn of the event loop is long, whatever records clients send', async t => {
  const { port } = await open(t)
  const bystander = await openBystander(t, port)
  const hello = await readHello()
  let isOver = false
  t.teardown(() => (isOver = true))
  const sendRecords = async (): Promise<void> => {
    const socket = tls.connect({ port, rejectUnauthorized: false })
    socket.on('error', () => {}).resume()
    await once(socket, 'secureConnect')
    socket.write('POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
    // Each write is a record of its own.
    while (!isOver && !socket.destroyed) {
      for (let count = 0; count < 1_000; count++) socket.write('1')
      await sleep(1)
    }
    socket.destroy()
  }
  /** The first message in records of one byte. */
  const fragments = Buffer.concat(
    Array.from(hello.subarray(5), byte => Buffer.of(0x16, 3, 1, 0, 1, byte)),
  )
  const sendFragments = async (): Promise<void> => {
    while (!isOver) {
      const socket = await openSilent(port, fragments)
      await sleep(1)
      socket.destroy()
    }
  }
  const floods = [sendRecords(), sendRecords(), sendFragments(), sendFragments()]
  await sleep(200)
  take()
  const endMs = performance.now() + 500
  const before = bystander.count()
  while (performance.now() < endMs) await bystander.ask()
  const { longestCpuSeconds } = take()
  isOver = true
  await Promise.all(floods)
  t.ok(longestCpuSeconds * 1_000 <= TURN_MS_MAX, `a turn of ${longestCpuSeconds * 1_000} ms`)
  t.ok(bystander.count() > before)
})
