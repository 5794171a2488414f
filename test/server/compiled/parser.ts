// What the patched parser reads otherwise than that of uWebSockets, over real sockets: without the
// patches each test fails, and some of the smuggled requests are answered.
import { once } from 'node:events'
import t from 'tap'
import {
  connect,
  eventually,
  exchange,
  openTestServer,
  post,
  replyCount,
  statusOf,
  text,
} from '../../fixtures/server/server.js'
import { dial } from '../../fixtures/server/transport.js'

const HEAD = 'POST /t HTTP/1.1\r\nHost: a\r\n'
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`
/** A request that must never be answered behind a malformed one. */
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'

const routes = (paths: string[]) => [
  { open: (request: { path: string }) => (paths.push(request.path), request.path) },
  {
    method: 'GET' as const,
    pattern: '/smuggled',
    bodyBytesMax: 0,
    open: () => paths.push('/smuggled'),
    handle: () => text('smuggled'),
  },
]

t.test('chunked bodies', async t => {
  const paths: string[] = []
  const { port } = await openTestServer(t, routes(paths))
  const cases: [name: string, body: string, status: string][] = [
    ['two chunks', '2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n', '200'],
    [
      'upper and lower case digits',
      `A\r\n${'x'.repeat(10)}\r\nb\r\n${'x'.repeat(11)}\r\n0\r\n\r\n`,
      '200',
    ],
    ['leading zeros', '0002\r\nhi\r\n000\r\n\r\n', '200'],
    ['an extension', '2;a=b\r\nhi\r\n0\r\n\r\n', '200'],
    ['no digits', `\r\n${SMUGGLED}`, '400'],
    ['an extension without digits', `;a=b\r\n\r\n${SMUGGLED}`, '400'],
    [
      'a size whose lower 32 bits are 2',
      `100000002\r\nhi\r\n0\r\n\r\n${SMUGGLED}${'x'.repeat(1_000)}`,
      '413',
    ],
    ['a sign', '+2\r\nhi\r\n0\r\n\r\n', '400'],
    ['a prefix', '0x2\r\nhi\r\n0\r\n\r\n', '400'],
    ['a digit that is none', 'g\r\n0123456789abcdef\r\n0\r\n\r\n', '400'],
    ['an underscore', '0_2\r\nhi\r\n0\r\n\r\n', '400'],
    ['a space before the line end', '2 \r\nhi\r\n0\r\n\r\n', '400'],
    ['a size that overflows', `${'f'.repeat(17)}2\r\nhi\r\n0\r\n\r\n`, '400'],
    ['a line feed alone', '2\nhi\r\n0\r\n\r\n', '400'],
    ['a line feed in an extension', `2;\nhi\r\n0\r\n\r\n`, '400'],
    ['a carriage return in an extension', `2;a\rb\r\nhi\r\n0\r\n\r\n`, '400'],
    ['a long extension', `2;${'a'.repeat(300)}\r\nhi\r\n0\r\n\r\n`, '400'],
    ['more data than the size', `2\r\nhi!!0\r\n\r\n${SMUGGLED}`, '400'],
    ['no line end after the data', `2\r\nhiXX0\r\n\r\n${SMUGGLED}`, '400'],
    ['no line end after the last chunk', `0\r\nXX${SMUGGLED}`, '400'],
    ['a trailer', `0\r\nX: ${SMUGGLED}`, '400'],
    ['a request as trailer', `0\r\n${SMUGGLED}`, '400'],
  ]
  for (const [name, body, expected] of cases) {
    const whole = await exchange(port, CHUNKED + body)
    t.equal(statusOf(whole), expected, name)
    const pieces = await connect(port)
    for (const byte of CHUNKED + body) pieces.socket.write(byte)
    const received = await pieces.until(now => replyCount(now) > 0)
    t.equal(statusOf(received), expected, `${name}, byte by byte`)
    pieces.socket.destroy()
  }
  t.notOk(paths.includes('/smuggled'))
})

t.test('a head that packets cut anywhere', async t => {
  const { port } = await openTestServer(t, routes([]))
  const requests = [
    post('/t', 'hi'),
    `${HEAD}Content-Length: 0\r\n\r\n`,
    `${CHUNKED}2\r\nhi\r\n0\r\n\r\n`,
    'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /smuggled HTTP/1.0\r\n\r\n',
  ]
  for (const request of requests)
    for (let cut = 1; cut < request.length; cut++) {
      const connection = await connect(port)
      connection.socket.write(request.slice(0, cut))
      await new Promise(resolve => setImmediate(() => setImmediate(resolve)))
      connection.socket.write(request.slice(cut))
      const received = await connection.until(now => replyCount(now) > 0)
      if (statusOf(received) !== '200')
        t.fail(`${JSON.stringify(request)} cut at ${cut}: ${received}`)
      connection.socket.destroy()
    }
  t.end()
})

t.test('malformed heads are refused at once, in the form of the other errors', async t => {
  const paths: string[] = []
  const { port } = await openTestServer(t, routes(paths))
  const cases: [name: string, request: string, status: string][] = [
    ['no method', ' /t HTTP/1.1\r\nHost: a\r\n\r\n', '400'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00', '400'],
    ['a target that is no path', 'GET t HTTP/1.1\r\nHost: a\r\n\r\n', '400'],
    ['a newer version', 'GET /t HTTP/2.0\r\nHost: a\r\n\r\n', '505'],
    ['no version', 'GET /t\r\nHost: a\r\n\r\n', '400'],
    ['a word that is no version', 'GET /t HTTP/x.1\r\nHost: a\r\n\r\n', '400'],
    ['two spaces', 'GET /t  HTTP/1.1\r\nHost: a\r\n\r\n', '400'],
    ['a line feed alone', 'GET /t HTTP/1.1\nHost: a\n\n', '400'],
    ['a field without a name', `${HEAD}: x\r\n\r\n`, '400'],
    ['a space before the colon', `${HEAD}X : x\r\n\r\n`, '400'],
    ['a folded line', `${HEAD}X: x\r\n y\r\n\r\n`, '400'],
    ['a carriage return in a value', `${HEAD}X: a\rb\r\n\r\n`, '400'],
    ['a zero byte in a value', `${HEAD}X: a\0b\r\n\r\n`, '400'],
    ['a carriage return in place of the end', `${HEAD}X: a\r\n\rb\r\n\r\n`, '400'],
    ['a field name with an underscore', `${HEAD}X_Y: a\r\nContent-Length: 0\r\n\r\n`, '200'],
    ['two Content-Length', `${HEAD}Content-Length: 0\r\nContent-Length: 0\r\n\r\n`, '400'],
    ['a Content-Length of 18 digits', `${HEAD}Content-Length: 888888888888888885\r\n\r\nhi`, '400'],
    ['a Content-Length that is no number', `${HEAD}Content-Length: 1e1\r\n\r\n`, '400'],
    ['150 fields', `${HEAD}${'X: y\r\n'.repeat(150)}\r\n`, '431'],
    ['20 KB in one packet', `${HEAD}X: ${'y'.repeat(20_000)}\r\n\r\n`, '431'],
    ['15 KB in one packet', `${HEAD}X: ${'y'.repeat(15_000)}\r\nContent-Length: 0\r\n\r\n`, '200'],
  ]
  for (const [name, request, expected] of cases) {
    const connection = await connect(port)
    connection.socket.write(request, 'latin1')
    const received = await connection.until(now => replyCount(now) > 0)
    t.equal(statusOf(received), expected, name)
    if (expected !== '200') {
      t.match(received, /\r\nContent-Type: application\/json\r\n/, name)
      t.match(received, /\r\nConnection: close\r\n/, name)
      t.match(received, /\r\n\r\n\{"error":\{"message":".+"\}\}$/, name)
      await connection.closed
    }
    connection.socket.destroy()
  }
})

t.test('a head over 16 KiB is 431, also of a handshake and in packets', async t => {
  const { port } = await openTestServer(t, routes([]), {
    sockets: [
      {
        pattern: '/socket',
        frameBytesMax: 1_000,
        open: () => undefined,
        onOpen() {},
        onMessage() {},
        onClose() {},
      },
    ],
  })
  const handshake = [
    'GET /socket HTTP/1.1',
    'Host: a',
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${'a'.repeat(22)}==`,
  ].join('\r\n')
  const LIMIT = 16 * 1024
  const padded = (head: string, bytes: number): string => {
    const rest = bytes - `${head}\r\nX: \r\n\r\n`.length
    return `${head}\r\nX: ${'y'.repeat(rest)}\r\n\r\n`
  }
  const get = 'GET /smuggled HTTP/1.1\r\nHost: a'
  for (const [head, accepted] of [
    [get, '200'],
    [handshake, '101'],
  ] as const)
    for (const [bytes, expected] of [
      [LIMIT, accepted],
      [LIMIT + 1, '431'],
      [10 * LIMIT, '431'],
    ] as const)
      for (const packetBytes of [Infinity, 1_000]) {
        const connection = await connect(port)
        connection.socket.setNoDelay()
        const request = padded(head, bytes)
        for (let at = 0; at < request.length; at += packetBytes) {
          connection.socket.write(request.slice(at, at + packetBytes))
          await new Promise(resolve => setImmediate(resolve))
        }
        const received = await connection.until(now => now.includes('\r\n\r\n'))
        t.equal(statusOf(received), expected, `${accepted}: ${bytes} bytes in ${packetBytes}`)
        if (expected === '431') await connection.closed
        connection.socket.destroy()
      }
})

t.test('a refusal is read by a client that has sent more than was read', async t => {
  const { port } = await openTestServer(t, routes([]))
  const rest = Buffer.alloc(4 * 1024 ** 2, 'x')
  for (const [name, head, expected] of [
    ['a malformed head', 'GET t HTTP/1.1\r\n', '400'],
    ['a malformed chunk', `${CHUNKED}x`, '400'],
    ['a head that is too long', `${HEAD}X: ${'y'.repeat(20_000)}`, '431'],
    ['a path that is too long', `GET /${'y'.repeat(9_000)}`, '414'],
    ['a body without end', `${CHUNKED}400000\r\n`, '413'],
    ['a body for HTTP/1.0', 'POST /t HTTP/1.0\r\nContent-Length: 4194304\r\n\r\n', '413'],
  ] as const) {
    for (let round = 0; round < 5; round++) {
      const { socket, closed, received } = await connect(port)
      let isReset = false
      socket.on('error', () => {
        isReset = true
      })
      socket.write(head)
      socket.write(rest)
      await closed
      t.equal(statusOf(received()), expected, name)
      t.notOk(isReset, `${name}: no reset`)
    }
  }
})

t.test('HTTP/1.0 is answered and closed', async t => {
  const { port } = await openTestServer(t, routes([]))
  for (const lines of ['', 'Host: a\r\n', 'Connection: keep-alive\r\n']) {
    const connection = await connect(port)
    connection.socket.write(`GET /smuggled HTTP/1.0\r\n${lines}\r\n`)
    await connection.closed
    t.match(connection.received(), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nsmuggled$/)
    t.notMatch(connection.received(), /keep-alive/i)
  }
  const chunked = await exchange(
    port,
    'POST /t HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  )
  t.equal(statusOf(chunked), '400', 'it has no chunks')
})

t.test('an error is never taken for the reply to an earlier request', async t => {
  const { port } = await openTestServer(t, [
    { handle: () => new Promise(resolve => setTimeout(() => resolve(text('late')), 50)) },
  ])
  const connection = await connect(port)
  connection.socket.write(`${post('/t', 'x')}\0`)
  await connection.closed
  t.match(connection.received(), /^HTTP\/1\.1 200 OK[^]*\r\n\r\nlateHTTP\/1\.1 400 /)
  const answered = await connect(await openEcho(t))
  answered.socket.write(`${post('/t', 'x')}\0`)
  await answered.closed
  t.match(answered.received(), /^HTTP\/1\.1 200 OK[^]*\r\n\r\n1HTTP\/1\.1 400 /)
})

const openEcho = async (t: Parameters<typeof openTestServer>[0]): Promise<number> =>
  (await openTestServer(t, [{}])).port

t.test('connections are closed when they idle, but not before the time in Keep-Alive', async t => {
  const { port } = await openTestServer(t, [{}], { options: { idleSeconds: 4 } })
  const idle = await connect(port)
  idle.socket.write(post('/t', 'x'))
  t.match(await idle.until(now => replyCount(now) > 0), /\r\nKeep-Alive: timeout=4\r\n/)
  const repliedAt = performance.now()
  await idle.closed
  const seconds = (performance.now() - repliedAt) / 1_000
  t.ok(seconds > 4 && seconds < 13, `${seconds} s`)
})

t.test('the rest of a head must follow within 10 s, also of a trickling client', async t => {
  const { port, server } = await openTestServer(t, [{}], { options: { idleSeconds: 75 } })
  const slow = await connect(port)
  slow.socket.write('POST /t HTTP/1.1\r\nHost: ')
  const timer = setInterval(() => slow.socket.write('a'), 500)
  const startedAt = performance.now()
  // The server has ended this one, whose client neither sends nor closes.
  const ended = dial({ port, host: '127.0.0.1', allowHalfOpen: true })
  ended.write('GET /t HTTP/1.0\r\n\r\n')
  await once(ended.resume(), 'end')
  ended.on('error', () => {})
  t.equal(server.stats().connections, 2)
  await slow.closed
  await eventually(() => server.stats().connections === 0)
  ended.destroy()
  clearInterval(timer)
  const seconds = (performance.now() - startedAt) / 1_000
  t.ok(seconds < 15, `${seconds} s`)
})
