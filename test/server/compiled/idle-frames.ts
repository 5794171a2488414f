import t from 'tap'
import type { SocketRoute } from '../../../src/shared/socket.js'
import { eventually, openTestServer } from '../../fixtures/server/server.js'
import { encodeFrame, openSocket } from '../../fixtures/server/socket.js'

t.test('frames that are no message are reported, messages are not', async t => {
  let idle = 0
  let messages = 0
  const route: SocketRoute = {
    pattern: '/:token',
    frameBytesMax: 100_000,
    open: () => ({}),
    onOpen: () => {},
    onMessage: () => void messages++,
    onIdleFrames: (_context, _socket, count) => {
      idle += count
    },
    onClose: () => {},
  }
  const { port } = await openTestServer(t, [], { sockets: [route] })
  const fragment = (body: string): Buffer => encodeFrame(body, { opcode: 0, isLast: false })
  const last = encodeFrame('', { opcode: 0 })
  const first = encodeFrame('1', { isLast: false })
  const cases: [name: string, frame: Buffer, counted: number, first: Buffer, last: Buffer][] = [
    ['empty fragments', fragment(''), 96, first, last],
    ['fragments of one byte', fragment('1'), 96, first, last],
    ['fragments of 1 KiB', fragment('1'.repeat(1_024)), 0, first, last],
    ['pings', encodeFrame('', { opcode: 9 }), 96, last.subarray(0, 0), encodeFrame('1')],
    ['unasked pongs', encodeFrame('', { opcode: 10 }), 96, last.subarray(0, 0), encodeFrame('1')],
    ['messages', encodeFrame('1'), 0, first, last],
  ]
  for (const [name, frame, counted, begin, end] of cases) {
    const client = await openSocket(port, { path: '/a' })
    idle = 0
    messages = 0
    const isMessage = name === 'messages'
    const bytes = isMessage
      ? [...Array<Buffer>(96).fill(frame), frame]
      : [begin, ...Array<Buffer>(96).fill(frame), end]
    client.socket.write(Buffer.concat(bytes))
    await eventually(() => messages === (isMessage ? 97 : 1))
    t.equal(idle, counted, name)
    client.destroy()
  }
})

t.test('a socket that is closed because of them is not read further', async t => {
  const counts: number[] = []
  const route: SocketRoute = {
    pattern: '/:token',
    frameBytesMax: 1_000,
    open: () => ({}),
    onOpen: () => {},
    onMessage: () => t.fail('a message after the close'),
    onIdleFrames: (_context, socket, count) => {
      counts.push(count)
      socket.close(1013, 'over a limit')
    },
    onClose: () => {},
  }
  const { port, server } = await openTestServer(t, [], { sockets: [route] })
  const client = await openSocket(port, { path: '/a' })
  const ping = encodeFrame('', { opcode: 9 })
  client.socket.write(Buffer.concat([...Array<Buffer>(100).fill(ping), encodeFrame('x')]))
  t.strictSame(await client.closed, { code: 1013, reason: 'over a limit' })
  t.strictSame(counts, [16])
  await eventually(() => server.stats().sockets === 0)
})
