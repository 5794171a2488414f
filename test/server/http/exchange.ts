import t from 'tap'
import { RpcError } from '../../../src/shared/errors.js'
import type { Reply, Route } from '../../../src/shared/http.js'
import {
  connect,
  eventually,
  exchange,
  openTestServer,
  post,
  replyCount,
  splitReplies,
  statusOf,
  text,
} from '../../fixtures/server/server.js'
import { reset } from '../../fixtures/server/transport.js'

t.test('a body up to the limit is accepted, a longer one is 413', async t => {
  const seen: string[] = []
  const { port, server } = await openTestServer(t, [
    {
      bodyBytesMax: 200_000,
      handle: (_context, body) => (seen.push(Buffer.from(body).toString()), text('ok')),
    },
  ])
  const chunk = (body: string, size: number): string => {
    const parts: string[] = []
    for (let at = 0; at < body.length; at += size) {
      const part = body.slice(at, at + size)
      parts.push(`${part.length.toString(16)}\r\n${part}\r\n`)
    }
    return `POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${parts.join('')}0\r\n\r\n`
  }
  const bodyOf = (length: number): string =>
    Array.from({ length }, (_, index) => String.fromCharCode(97 + (index % 23))).join('')
  for (const [length, expected] of [
    [0, '200'],
    [1, '200'],
    [199_999, '200'],
    [200_000, '200'],
    [200_001, '413'],
  ] as const) {
    const body = bodyOf(length)
    for (const [name, request] of [
      ['Content-Length', post('/t', body)],
      ['chunked in one', chunk(body, length)],
      ['chunked', chunk(body, 777)],
    ] as const) {
      seen.length = 0
      t.equal(statusOf(await exchange(port, request)), expected, `${name}, ${length} bytes`)
      t.ok(expected === '200' ? seen[0] === body : seen.length === 0, 'byte for byte')
    }
  }

  const connection = await connect(port)
  const whole = chunk(bodyOf(60), 1)
  for (let at = 0; at < whole.length; at += 3) {
    connection.socket.write(whole.slice(at, at + 3))
    await new Promise(setImmediate)
  }
  await connection.until(now => replyCount(now) > 0)
  t.equal(seen[0], bodyOf(60), 'in many packets')
  connection.socket.destroy()

  const claiming = await connect(port)
  claiming.socket.write('POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 200001\r\n\r\n')
  const refused = await claiming.until(now => replyCount(now) > 0)
  t.match(refused, /^HTTP\/1.1 413 [^]*200000 bytes/)
  claiming.socket.write(`${bodyOf(200_001)}${post('/t', 'next')}`)
  t.match(refused, /\r\nConnection: close\r\n/)
  await claiming.closed
  t.equal(replyCount(claiming.received()), 1, 'nothing behind it is answered')
  await eventually(() => server.stats().requestsInFlight === 0)
  t.equal(server.stats().bodyBytesInFlight, 0)
})

t.test('a refusal at the headers reads no body', async t => {
  let handledCount = 0
  const { port, server } = await openTestServer(t, [
    {
      bodyBytesMax: 10_000_000,
      open: request => (request.header('x-token') === 'yes' ? 1 : text('no', 401)),
      handle: () => (handledCount++, text('ok')),
    },
  ])
  const connection = await connect(port)
  connection.socket.write('POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\nxx')
  t.equal(statusOf(await connection.until(now => replyCount(now) > 0)), '401', 'before the body')
  connection.socket.destroy()
  t.equal(statusOf(await exchange(port, post('/t', 'x', ['X-Token: yes']))), '200')
  const pair = await connect(port)
  pair.socket.write(post('/t', 'first') + post('/t', 'second', ['x-token: yes']))
  const replies = splitReplies(await pair.until(now => replyCount(now) === 2))
  t.strictSame(
    replies.map(reply => reply.body),
    ['no', 'ok'],
    'the connection stays open',
  )
  pair.socket.destroy()
  const chunked = await connect(port)
  chunked.socket.write(
    'POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n',
  )
  await chunked.closed
  t.equal(statusOf(chunked.received()), '401', 'a body without end is cut off')
  t.equal(handledCount, 2)
  await eventually(() => server.stats().requestsInFlight === 0)
})

t.test('over the bound of bodies in flight: 503', async t => {
  const { port, server } = await openTestServer(
    t,
    [{ bodyBytesMax: 1_000_000, handle: () => text('ok') }],
    { options: { bodiesInFlightBytesMax: 300_000, bodyStepBytesMax: 65_536 } },
  )
  const first = await connect(port)
  first.socket.write(
    `POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 250001\r\n\r\n${'x'.repeat(250_000)}`,
  )
  await eventually(() => server.stats().bodyBytesInFlight >= 250_000)
  t.ok(server.stats().bodyBytesInFlight <= 300_000)
  const second = await connect(port)
  second.socket.write(
    `POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 250001\r\n\r\n${'x'.repeat(250_000)}`,
  )
  t.match(await second.until(now => replyCount(now) > 0), /^HTTP\/1.1 503 [^]*Retry-After: 1\r/)
  second.socket.destroy()
  first.socket.write('x')
  t.equal(statusOf(await first.until(now => replyCount(now) > 0)), '200')
  first.socket.destroy()
  await eventually(() => server.stats().bodyBytesInFlight === 0)
})

t.test('slow bodies and unread replies of one owner leave room for those of another', async t => {
  const bodyBytesMax = 16 * 1024 ** 2
  const replyBytesMax = 128 * 1024 ** 2
  // More than the buffers of a connection take while nobody reads: 4 MiB to send, and the window.
  const large = Buffer.alloc(8 * 1024 ** 2)
  const { port, server } = await openTestServer(
    t,
    [
      {
        pattern: '/:token',
        bodyBytesMax: 8 * 1024 ** 2,
        open: request => request.path,
        ownerOf: path => String(path),
        handle: (_path, body) => text(body.byteLength > 10 ? 'ok' : large),
      },
    ],
    { options: { bodiesInFlightBytesMax: bodyBytesMax, repliesInFlightBytesMax: replyBytesMax } },
  )
  const send = async (path: string, claimed: number, sent: number) => {
    const connection = await connect(port)
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${claimed}\r\n\r\n`
    connection.socket.write(head)
    connection.socket.write(Buffer.alloc(sent))
    return connection
  }
  const slow = await Promise.all(
    Array.from({ length: 32 }, () => send('/flood', 1_000_001, 1_000_000)),
  )
  await eventually(() => slow.some(one => statusOf(one.received()) === '503'))
  const other = await send('/other', 1_000_000, 1_000_000)
  t.equal(statusOf(await other.until(now => replyCount(now) > 0)), '200')
  t.ok(server.stats().bodyBytesInFlight <= bodyBytesMax / 2, 'the flood has no more than half')
  for (const { socket } of slow) socket.destroy()
  await eventually(() => server.stats().bodyBytesInFlight === 0)

  const unread = await Promise.all(
    Array.from({ length: 32 }, async () => {
      const connection = await send('/flood', 1, 1)
      connection.socket.pause()
      return connection
    }),
  )
  await eventually(() => server.stats().replyBytesInFlight > replyBytesMax / 3)
  const reader = await send('/other', 1, 1)
  const reply = await reader.until(now => now.length > large.byteLength)
  t.equal(statusOf(reply), '200')
  t.ok(server.stats().replyBytesInFlight <= replyBytesMax / 2)
  for (const { socket } of unread) socket.destroy()
})

t.test('the head can be read until the reply', async t => {
  const handle: Route['handle'] = async (_context, _body, request) => {
    await new Promise(setImmediate)
    return text(`${request.path} ${request.query} ${request.header('host')}`)
  }
  const { port } = await openTestServer(t, [{ handle }])
  t.match(await exchange(port, post('/t?a=b', 'x')), /\/t a=b a$/)
})

t.test('a handler that throws is answered with its failure or 500', async t => {
  const boom = (): never => {
    throw new Error('boom slt_secret')
  }
  const asReply = (value: unknown): Reply => value as Reply
  const cases: [name: string, route: Partial<Route>, status: string][] = [
    ['open', { open: boom }, '500'],
    [
      'open, with a failure of the table',
      {
        open: () => {
          throw new RpcError('forbidden')
        },
      },
      '403',
    ],
    ['handle', { handle: boom }, '500'],
    [
      'handle, with a failure of the table',
      {
        handle: () => {
          throw new RpcError('tooManyRequests')
        },
      },
      '429',
    ],
    ['handle, later', { handle: async () => (await new Promise(setImmediate), boom()) }, '500'],
    ['a reply that is none', { handle: () => asReply(undefined) }, '500'],
    ['a reply without a body', { handle: () => asReply({ status: 200, contentType: 'a' }) }, '500'],
    [
      'a header with a line break',
      { handle: () => ({ ...text(''), headers: { a: 'b\r\nc: d' } }) },
      '500',
    ],
    [
      'a content type with a line break',
      { handle: () => ({ ...text(''), contentType: 'a\nb' }) },
      '500',
    ],
    ['a status that is none', { handle: () => text('', 99) }, '500'],
    ['done', { done: boom }, '200'],
    [
      'a source, at once',
      { handle: () => text({ byteLength: 9, read: boom, close: () => {} }) },
      '500',
    ],
    [
      'a source, later',
      {
        handle: () =>
          text({ byteLength: 9, read: () => Promise.reject(new Error('boom')), close: () => {} }),
      },
      '500',
    ],
  ]
  for (const [name, route, expected] of cases) {
    t.test(name, async t => {
      const { port, server, lines } = await openTestServer(t, [route])
      const received = await exchange(port, post('/t', 'x'))
      t.equal(statusOf(received), expected)
      t.notMatch(received, /boom/)
      if (expected === '500') t.match(received, /\{"error":\{"message":"Internal error"\}\}$/)
      if (expected !== '403' && expected !== '429')
        t.match(lines.join(''), /"requestId":"[0-9a-f-]{36}"/)
      t.equal(
        statusOf(await exchange(port, post('/t', 'x'))),
        expected,
        'the process still answers',
      )
      await eventually(() => server.stats().requestsInFlight === 0)
    })
  }
})

t.test('pipelined requests are answered in order', async t => {
  const { port } = await openTestServer(t, [
    { open: request => request.path, handle: path => text(String(path)) },
  ])
  const connection = await connect(port)
  const paths = Array.from({ length: 32 }, (_, index) => `/${index}`)
  connection.socket.write(paths.map(path => post(path, 'body')).join(''))
  const replies = splitReplies(await connection.until(now => replyCount(now) === 32))
  t.strictSame(
    replies.map(reply => reply.body),
    paths,
  )
  connection.socket.destroy()
})

t.test('an asynchronous handler is answered when it settles', async t => {
  const done: unknown[] = []
  const { port, server } = await openTestServer(t, [
    {
      open: request => request.query,
      handle: async (query, body) => {
        const length = body.byteLength
        await new Promise(setImmediate)
        return text(`${query} ${length}`)
      },
      done: context => done.push(context),
    },
  ])
  t.match(await exchange(port, post('/t?a=1', 'four')), /a=1 4$/)
  t.strictSame(done, ['a=1'])
  t.equal(server.stats().bodyBytesInFlight, 0)
})

t.test('a client that disconnects releases its request', async t => {
  let release: (reply: Reply) => void = () => {}
  const waiting = { handle: () => new Promise<Reply>(resolve => (release = resolve)) }
  let closedCount = 0
  let doneCount = 0
  const source = { byteLength: 10, read: () => 0, close: () => void closedCount++ }
  const { port, server } = await openTestServer(t, [
    { ...waiting, bodyBytesMax: 1_000_000, done: () => void doneCount++ },
  ])

  const inBody = await connect(port)
  inBody.socket.write(
    `POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n${'x'.repeat(300_000)}`,
  )
  await eventually(() => server.stats().bodyBytesInFlight > 0)
  inBody.socket.destroy()
  await eventually(() => server.stats().requestsInFlight === 0)
  t.match(server.stats(), { bodyBytesInFlight: 0, abortedCount: 1 }, 'while its body is read')
  t.equal(doneCount, 1)

  const inHandler = await connect(port)
  inHandler.socket.write(post('/t', 'x'))
  await eventually(() => server.stats().requestsInFlight === 1)
  reset(inHandler.socket)
  await eventually(() => server.stats().abortedCount === 2)
  t.equal(doneCount, 1, 'its handler still works')
  release(text(source))
  await eventually(() => server.stats().requestsInFlight === 0)
  t.equal(doneCount, 2)
  t.equal(closedCount, 1, 'a reply without a client is closed')

  const inHeaders = await connect(port)
  inHeaders.socket.write('POST /t HTTP/1.1\r\nHos')
  inHeaders.socket.destroy()
  await eventually(() => server.stats().connections === 0)
  t.equal(server.stats().abortedCount, 2)
})

t.test('refusalHeaders are on every refusal of a route', async t => {
  let made = 0
  const { port } = await openTestServer(t, [
    {
      contentType: 'application/json',
      bodyBytesMax: 10,
      open: ({ path }) =>
        path === '/no'
          ? { status: 401, contentType: 'text/plain', body: '', headers: { 'X-Own': 'a' } }
          : path,
      refusalHeaders: () => ({ 'X-Refused': String(made++) }),
    },
  ])
  const refusals: [request: string, status: string][] = [
    [post('/no', '{}'), '401'],
    [post('/t', '{}', ['Content-Type: text/plain']), '415'],
    [post('/t', 'x'.repeat(11)), '413'],
    [post('/t', '{}').replace('POST', 'PUT'), '405'],
  ]
  for (const [index, [request, status]] of refusals.entries()) {
    const received = await exchange(port, request)
    t.equal(statusOf(received), status)
    t.match(received, `X-Refused: ${index}\r\n`)
    t.equal(received.includes('X-Own: a\r\n'), status === '401')
  }
  t.notMatch(
    await exchange(port, post('/t', '{}')),
    'X-Refused',
    'an admitted request has its own headers',
  )
})
