import t from 'tap'
import { createApp } from '../../../src/server/compiled/library.js'
import { connect } from '../../fixtures/server/server.js'

const BODY = 'abcdefghij'.repeat(20)
const HEAD = 'POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'

/** A server that answers with the body, and the bytes of its pieces. */
const openApp = () => {
  const app = createApp({
    idleSeconds: 10,
    connectionsMax: 10,
    connectionsPerAddressMax: 10,
    socketQueueBytesMax: 1_000,
    socketsQueuedBytesMax: 1_000,
    socketStallMs: 1_000,
    socketCloseMs: 1_000,
    isProxy: () => false,
    keepAlive: '',
    lingerBytesMax: 0,
    badRequest: '',
    headTooLarge: '',
    urlTooLong: '',
    versionUnsupported: '',
  })
  const pieces: number[] = []
  let body = ''
  app.on('POST', '/t', response => {
    response.onAborted(() => {})
    response.onData((chunk, isLast) => {
      pieces.push(chunk.byteLength)
      body += Buffer.from(chunk).toString()
      if (isLast) response.end(body)
    })
  })
  const listener = app.listen('127.0.0.1', 0)
  const port = listener === undefined ? 0 : app.localPort(listener)
  return { port, pieces, close: () => app.close() }
}

const SIZES = [1, 3, 7, 20, BODY.length] as const

for (const size of SIZES)
  t.test(`chunks of ${size} bytes in one packet are one piece`, async t => {
    const { port, pieces, close } = openApp()
    t.teardown(close)
    const chunks = BODY.match(new RegExp(`.{1,${size}}`, 'g')) ?? []
    const wire = chunks.map(chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
    const { socket, until } = await connect(port)
    socket.write(`${HEAD}${wire}0\r\n\r\n`)
    const received = await until(now => now.endsWith(BODY))
    t.match(received, /^HTTP\/1\.1 200 /)
    t.strictSame(pieces, [BODY.length, 0], 'the body, and its end')
    socket.destroy()
  })
