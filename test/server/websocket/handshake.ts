import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'undici'
import type { SocketRoute } from '../../../src/shared/socket.js'
import { connect, openTestServer } from '../../fixtures/server/server.js'
import { encodeFrame } from '../../fixtures/server/socket.js'

const ROUTE: SocketRoute = {
  pattern: '/:token',
  frameBytesMax: 1_000,
  open: () => undefined,
  onOpen() {},
  onMessage() {},
  onClose() {},
}

t.test('the first subprotocol that a client asks for is selected', async t => {
  const { port } = await openTestServer(t, [], { sockets: [ROUTE] })
  for (const [asked, selected] of [
    [['solana.v1'], 'solana.v1'],
    [['one', 'two'], 'one'],
    [[], ''],
  ] as const) {
    const client = new WebSocket(`ws://127.0.0.1:${port}/a`, [...asked])
    await once(client, 'open')
    t.equal(client.protocol, selected)
    client.close()
    await once(client, 'close')
  }
  for (const [header, selected] of [
    [' one ,two', 'one'],
    ['', undefined],
    [',two', undefined],
    ['o(e', undefined],
  ] as const) {
    const { socket, until } = await connect(port)
    const lines = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13'
    const key = `Sec-WebSocket-Key: ${'a'.repeat(24)}\r\nSec-WebSocket-Protocol: ${header}`
    socket.write(`GET /a HTTP/1.1\r\nHost: a\r\n${lines}\r\n${key}\r\n\r\n`)
    const received = await until(now => now.includes('\r\n\r\n'))
    t.match(received, /^HTTP\/1.1 101 /)
    t.equal(/^sec-websocket-protocol: (.*)$/im.exec(received)?.[1], selected, header)
    socket.destroy()
  }
})

t.test('compression is used where it is configured', async t => {
  const offer = { headers: { 'Sec-WebSocket-Extensions': 'permessage-deflate' }, path: '/a' }
  for (const socketCompression of ['none', 'shared']) {
    const { port } = await openTestServer(t, [], {
      sockets: [{ ...ROUTE, onMessage: (_, socket, message) => void socket.send(message) }],
      options: { socketCompression },
    })
    const client = await connect(port)
    client.socket.write(
      'GET /a HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
        `Sec-WebSocket-Extensions: ${offer.headers['Sec-WebSocket-Extensions']}\r\n\r\n`,
      'latin1',
    )
    const head = await client.until(received => received.includes('\r\n\r\n'))
    t.equal(/permessage-deflate/.test(head), socketCompression === 'shared', socketCompression)
    client.socket.write(encodeFrame('a'.repeat(900)))
    const all = await client.until(received => received.length > head.length + 10)
    const isPacked = ((all.charCodeAt(head.length) ?? 0) & 0x40) !== 0
    t.equal(isPacked, socketCompression === 'shared')
    client.socket.destroy()
  }
})
