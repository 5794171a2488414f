import net from 'node:net'
import http from 'node:http'
import t from 'tap'
import type { Reply, Route } from '../../src/shared/http.js'
import { RpcError } from '../../src/shared/errors.js'
import { openServer } from '../../src/server/server.js'
import { probePort } from '../../src/server/port.js'
import {
  connect,
  eventually,
  exchange,
  openTestServer,
  post,
  replyCount,
  splitReplies,
  text,
} from '../fixtures/server.js'

const status = (received: string): string => received.slice(9, 12)

t.test('what is no request of ours', async t => {
  const { port } = await openTestServer(t, [
    { contentType: 'application/json' },
    { method: 'GET', pattern: '/health', bodyBytesMax: 0 },
  ])
  const chunked = 'Transfer-Encoding: chunked'
  const piece = '2\r\nhi\r\n0\r\n\r\n'
  const raw = (...lines: string[]): string => lines.join('\r\n')
  const P = 'POST /t HTTP/1.1'
  const H = 'Host: a'
  const L = 'Content-Length: 2'
  // The last column: whether the connection stays open.
  const cases: [name: string, request: string, status: string, isOpen: boolean][] = [
    ['a plain request', raw(P, H, L, '', 'hi'), '200', true],
    ['a chunked request', raw(P, H, chunked, '', piece), '200', true],
    ['no body', raw(P, H, '', ''), '200', true],
    ['two equal Content-Length', raw(P, H, L, L, '', 'hi'), '400', false],
    ['two different Content-Length', raw(P, H, L, 'Content-Length: 5', '', 'hi'), '400', false],
    ['an empty Content-Length', raw(P, H, 'Content-Length: ', '', 'hi'), '400', false],
    ['a signed Content-Length', raw(P, H, 'Content-Length: +2', '', 'hi'), '400', false],
    [
      'a huge Content-Length',
      raw(P, H, 'Content-Length: 9223372036854775808', '', ''),
      '400',
      false,
    ],
    ['Content-Length and chunked', raw(P, H, L, chunked, '', piece), '400', false],
    ['xchunked', raw(P, H, 'Transfer-Encoding: xchunked', '', piece), '400', false],
    ['gzip, chunked', raw(P, H, 'Transfer-Encoding: gzip, chunked', '', piece), '400', false],
    ['identity', raw(P, H, 'Transfer-Encoding: identity', '', ''), '400', false],
    ['chunked twice', raw(P, H, chunked, chunked, '', piece), '400', false],
    ['two Hosts', raw(P, H, H, L, '', 'hi'), '400', false],
    ['two Hosts on a preflight', raw('OPTIONS /t HTTP/1.1', H, H, '', ''), '400', false],
    ['two Hosts on an unknown path', raw('GET /a/b HTTP/1.1', H, H, '', ''), '400', false],
    ['no Host', raw(P, L, '', 'hi'), '400', false],
    ['an unknown path', raw('GET /a/b HTTP/1.1', H, '', ''), '404', true],
    ['another method', raw('GET /t HTTP/1.1', H, '', ''), '405', true],
    ['a method nobody knows', raw('BREW /t HTTP/1.1', H, '', ''), '405', true],
    ['a lower-case method', raw('post /t HTTP/1.1', H, L, '', 'hi'), '405', true],
    ['another method where GET is known', raw('PUT /health HTTP/1.1', H, L, '', 'hi'), '405', true],
    ['JSON', raw(P, H, L, 'Content-Type: application/json', '', 'hi'), '200', true],
    [
      'JSON with a parameter',
      raw(P, H, L, 'Content-Type: Application/JSON; charset=utf-8', '', 'hi'),
      '200',
      true,
    ],
    ['text', raw(P, H, L, 'Content-Type: text/plain', '', 'hi'), '415', true],
    [
      'what only begins like JSON',
      raw(P, H, L, 'Content-Type: application/jsonp', '', 'hi'),
      '415',
      true,
    ],
  ]
  for (const [name, request, expected, isOpen] of cases) {
    t.test(name, async t => {
      const connection = await connect(port)
      connection.socket.write(request)
      const received = await connection.until(now => replyCount(now) > 0)
      t.equal(status(received), expected, received)
      if (isOpen) {
        connection.socket.write(post('/t', 'again'))
        t.equal(replyCount(await connection.until(now => replyCount(now) === 2)), 2)
        connection.socket.destroy()
      } else {
        await connection.closed
        t.match(received, /^connection: close$/im)
        t.notMatch(received, /keep-alive/i)
      }
    })
  }
  t.match(await exchange(port, raw('GET /t HTTP/1.1', H, '', '')), /^Allow: POST, OPTIONS\r$/m)
  t.match(
    await exchange(port, raw('POST /health/ HTTP/1.1', H, L, '', 'hi')),
    /404 Not Found[^]*\{"error":\{"message":"Not found"\}\}$/,
  )
})

t.test('a request smuggled behind a refused one is never served', async t => {
  const paths: string[] = []
  const { port } = await openTestServer(t, [
    { open: request => (paths.push(request.path), request.path) },
  ])
  const smuggled = post('/smuggled', 'x')
  for (const lines of ['Content-Length: ', 'Content-Length: 0\r\nContent-Length: 40', 'Host: a']) {
    const connection = await connect(port)
    connection.socket.write(`POST /first HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\n${smuggled}`)
    await connection.closed
    t.ok(['400', ''].includes(status(connection.received())))
  }
  t.strictSame(paths, [])
})

t.test('the bytes of a reply', async t => {
  const { port } = await openTestServer(t, [
    {
      handle: () => ({ ...text('né', 201), headers: { 'Retry-After': '1', 'X-Bundle-ID': 'b' } }),
    },
    { method: 'GET', pattern: '/health', bodyBytesMax: 0, handle: () => text('ok') },
  ])
  const dated = /^Date: .{29}\r\n/m
  const got = (await exchange(port, post('/t', 'x'))).replace(dated, '')
  t.equal(
    Buffer.from(got, 'latin1').toString(),
    [
      'HTTP/1.1 201 Created',
      'Content-Type: text/plain',
      'Keep-Alive: timeout=8',
      'Access-Control-Allow-Origin: *',
      'Access-Control-Expose-Headers: Retry-After, X-Bundle-ID, X-Relay-Submission-ID, X-Lander-Findings, X-RateLimit-Method-Limit, X-RateLimit-Method-Remaining',
      'Retry-After: 1',
      'X-Bundle-ID: b',
      'Content-Length: 3',
      '',
      'né',
    ].join('\r\n'),
  )
  const health = await exchange(port, 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n')
  t.match(health, /^HTTP\/1.1 200 OK\r\nContent-Type: text\/plain\r\n[^]*\r\n\r\nok$/)
  t.notMatch(health, /uwebsockets/i, 'no advertisement')

  const connection = await connect(port)
  connection.socket.write(
    'HEAD /health HTTP/1.1\r\nHost: a\r\n\r\nGET /health HTTP/1.1\r\nHost: a\r\n\r\n',
  )
  const both = await connection.until(now => now.endsWith('ok'))
  t.equal(both.split('\r\n\r\n').length, 3, 'HEAD has no body')
  t.equal(both.match(/content-length: 2\r/gi)?.length, 2)
  connection.socket.destroy()

  const unknown = await connect(port)
  unknown.socket.write('HEAD /a/b HTTP/1.1\r\nHost: a\r\n\r\nHEAD /t HTTP/1.1\r\nHost: a\r\n\r\n')
  const heads = await unknown.until(now => now.split('\r\n\r\n').length === 3)
  t.match(heads, /^HTTP\/1.1 404 [^]*\r\n\r\nHTTP\/1.1 405 [^]*\r\n\r\n$/)
  unknown.socket.destroy()
})

t.test('a preflight, on any path', async t => {
  const { port } = await openTestServer(t, [{}])
  for (const path of ['/t', '/', '/a/b/c']) {
    const connection = await connect(port)
    connection.socket.write(`OPTIONS ${path} HTTP/1.1\r\nHost: a\r\nOrigin: https://b\r\n\r\n`)
    const received = await connection.until(now => now.includes('\r\n\r\n'))
    t.match(received, /^HTTP\/1.1 204 No Content\r\nAccess-Control-Allow-Origin: \*\r\n/)
    t.match(received, /^Access-Control-Allow-Methods: POST, GET, OPTIONS\r$/m)
    t.match(
      received,
      /^Access-Control-Allow-Headers: content-type, solana-client, authorization, x-token, x-api-key\r$/m,
    )
    t.match(received, /^Access-Control-Max-Age: 86400\r$/m)
    connection.socket.destroy()
  }
  for (const path of ['/t', '/a/b']) {
    t.match(await exchange(port, post(path, 'x')), /^Access-Control-Allow-Origin: \*\r$/m)
  }
})

t.test('bodies at their limit', async t => {
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
      ['chunked in pieces', chunk(body, 777)],
    ] as const) {
      seen.length = 0
      t.equal(status(await exchange(port, request)), expected, `${name}, ${length} bytes`)
      t.ok(expected === '413' ? seen.length === 0 : seen[0] === body, 'byte for byte')
    }
  }

  const connection = await connect(port)
  // uWebSockets.js wants the request line in one packet (docs/decisions/0001).
  const whole = chunk(bodyOf(60), 1)
  connection.socket.write(whole.slice(0, 20))
  await new Promise(setImmediate)
  for (let at = 20; at < whole.length; at += 3) {
    connection.socket.write(whole.slice(at, at + 3))
    await new Promise(setImmediate)
  }
  await connection.until(now => replyCount(now) > 0)
  t.equal(seen[0], bodyOf(60), 'in many packets')
  connection.socket.destroy()

  const claiming = await connect(port)
  claiming.socket.write('POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 200001\r\n\r\n')
  t.match(await claiming.until(now => replyCount(now) > 0), /^HTTP\/1.1 413 [^]*200000 bytes/)
  await claiming.closed
  await eventually(() => server.stats().requestsInFlight === 0)
  t.equal(server.stats().bodyBytesInFlight, 0)
})

t.test('a client that sends 30 MB too many still hears 413', async t => {
  const { port } = await openTestServer(t, [{}])
  const heard = await new Promise<number | undefined>((resolve, reject) => {
    const request = http.request({ port, host: '127.0.0.1', path: '/t', method: 'POST' })
    request.on('response', response => resolve(response.statusCode))
    request.on('error', reject)
    request.setHeader('content-length', 30_000_000)
    request.end(Buffer.alloc(30_000_000))
  })
  t.equal(heard, 413)
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
  t.equal(status(await connection.until(now => replyCount(now) > 0)), '401', 'before the body')
  connection.socket.destroy()
  t.equal(status(await exchange(port, post('/t', 'x', ['X-Token: yes']))), '200')
  const pair = await connect(port)
  pair.socket.write(post('/t', 'first') + post('/t', 'second', ['x-token: yes']))
  const replies = splitReplies(await pair.until(now => replyCount(now) === 2))
  t.strictSame(
    replies.map(reply => reply.body),
    ['no', 'ok'],
    'the connection goes on',
  )
  pair.socket.destroy()
  const chunked = await connect(port)
  chunked.socket.write(
    'POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n',
  )
  await chunked.closed
  t.equal(status(chunked.received()), '401', 'a body without end is cut off')
  t.equal(handledCount, 2)
  await eventually(() => server.stats().requestsInFlight === 0)
})

t.test('too many bodies in flight', async t => {
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
  await second.closed
  first.socket.write('x')
  t.equal(status(await first.until(now => replyCount(now) > 0)), '200')
  first.socket.destroy()
  await eventually(() => server.stats().bodyBytesInFlight === 0)
})

t.test('what a handler throws', async t => {
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
    [
      'a header that was not read in open',
      { handle: (_c, _b, request) => text(request.header('host')) },
      '500',
    ],
  ]
  for (const [name, route, expected] of cases) {
    t.test(name, async t => {
      const { port, server, lines } = await openTestServer(t, [route])
      const received = await exchange(port, post('/t', 'x'))
      t.equal(status(received), expected)
      t.notMatch(received, /boom/)
      if (expected === '500') t.match(received, /\{"error":\{"message":"Internal error"\}\}$/)
      if (expected !== '403' && expected !== '429')
        t.match(lines.join(''), /"requestId":"[0-9a-f-]{36}"/)
      t.equal(status(await exchange(port, post('/t', 'x'))), expected, 'the process lives')
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

t.test('an asynchronous handler', async t => {
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

t.test('a client that leaves', async t => {
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
  inHandler.socket.destroy()
  await eventually(() => server.stats().abortedCount === 2)
  t.equal(doneCount, 1, 'its handler still works')
  release(text(source))
  await eventually(() => server.stats().requestsInFlight === 0)
  t.equal(doneCount, 2)
  t.equal(closedCount, 1, 'the reply that nobody wants is closed')

  const inHeaders = await connect(port)
  inHeaders.socket.write('POST /t HTTP/1.1\r\nHos')
  inHeaders.socket.destroy()
  await eventually(() => server.stats().connections === 0)
  t.equal(server.stats().abortedCount, 2)
})

t.test('a client that pipelines and never reads', async t => {
  const body = 'x'.repeat(20_000)
  const { port, server, lines } = await openTestServer(t, [{ handle: () => text(body) }])
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  const closed = new Promise(resolve => socket.once('close', resolve))
  const before = process.memoryUsage.rss()
  const batch = Buffer.from(post('/t', 'x').repeat(1_000))
  const flood = setInterval(() => socket.destroyed || socket.write(batch), 5)
  await closed
  clearInterval(flood)
  const { requestsCount } = server.stats()
  t.ok(requestsCount < 3_000, `closed after ${requestsCount} replies of 20 kB`)
  t.ok(process.memoryUsage.rss() - before < 150e6)
  t.match(lines.join(''), /replies are not read/)
})

t.test('draining', async t => {
  let release: () => void = () => {}
  const { server, port } = await openTestServer(
    t,
    [
      { handle: () => new Promise<Reply>(resolve => (release = () => resolve(text('late')))) },
      { pattern: '/now/:a', handle: () => text('now') },
    ],
    { options: { drainQuietMs: 50 } },
  )
  const idle = await connect(port)
  const inFlight = await connect(port)
  const busy = await connect(port)
  inFlight.socket.write(post('/t', 'x'))
  busy.socket.write(post('/now/a', 'x'))
  await busy.until(now => replyCount(now) === 1)
  await eventually(() => server.stats().requestsInFlight === 1)
  const drained = server.drain()
  busy.socket.write(post('/now/a', 'x'))
  await busy.closed
  const [first, last] = splitReplies(busy.received())
  t.match(first?.head, /Keep-Alive/)
  t.match(last?.head, /Connection: close/, 'told with its last reply')
  await t.rejects(connect(port), 'no new connection')
  release()
  await drained
  await Promise.all([inFlight.closed, idle.closed])
  t.match(inFlight.received(), /late$/)
  t.match(server.stats(), { requestsInFlight: 0, connections: 0 })
})

t.test('draining ends at its deadline', async t => {
  const { server, port } = await openTestServer(
    t,
    [{ handle: () => new Promise<Reply>(() => {}) }],
    {
      options: { drainMs: 60 },
    },
  )
  const connection = await connect(port)
  connection.socket.write(post('/t', 'x'))
  await eventually(() => server.stats().requestsInFlight === 1)
  await server.drain()
  await connection.closed
  t.equal(server.stats().abortedCount, 1)
})

t.test('several listeners, and a port that cannot be had', async t => {
  const { server, port } = await openTestServer(t, [{}], {
    listeners: [
      { host: '127.0.0.1', port: 0 },
      { host: '127.0.0.1', port: 0 },
    ],
  })
  for (const each of server.ports) t.equal(status(await exchange(each, post('/t', 'x'))), '200')
  t.not(server.ports[0], server.ports[1])
  await t.rejects(probePort('127.0.0.1', port), {
    message: `Cannot listen on 127.0.0.1:${port}: the port is in use`,
  })

  const plain = net.createServer()
  await new Promise<void>(resolve => plain.listen(0, '127.0.0.1', resolve))
  const address = plain.address()
  const taken = typeof address === 'object' && address !== null ? address.port : 0
  await t.rejects(
    openServer({
      routes: [],
      listeners: [{ host: '127.0.0.1', port: taken }],
      log: (await import('../../src/shared/log.js')).createLog('test', () => {}),
      now: () => 0,
    }),
    { message: new RegExp(`^Cannot listen on 127\\.0\\.0\\.1:${taken}: [^\n]+$`) },
  )
  plain.close()
  server.close()
  await probePort('127.0.0.1', port)
})
