import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'undici'
import { connect, openTestServer } from '../../fixtures/server/server.js'

t.test('the first subprotocol that a client asks for is selected', async t => {
  const { port } = await openTestServer(t, [], {
    sockets: [
      {
        pattern: '/:token',
        frameBytesMax: 1_000,
        open: () => undefined,
        onOpen() {},
        onMessage() {},
        onClose() {},
      },
    ],
  })
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
