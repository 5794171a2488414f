import t from 'tap'
import type { Route } from '../../../src/shared/http.js'
import {
  connect,
  exchange,
  openTestServer,
  post,
  replyCount,
  statusOf,
} from '../../fixtures/server/server.js'
import { openSocket } from '../../fixtures/server/socket.js'

t.test('malformed and unknown requests', async t => {
  const { port } = await openTestServer(t, [
    { contentType: 'application/json' },
    { method: 'GET', pattern: '/health', bodyBytesMax: 0 },
  ])
  const chunked = 'Transfer-Encoding: chunked'
  const chunk = '2\r\nhi\r\n0\r\n\r\n'
  const raw = (...lines: string[]): string => lines.join('\r\n')
  const P = 'POST /t HTTP/1.1'
  const H = 'Host: a'
  const L = 'Content-Length: 2'
  // The last column: whether the connection stays open.
  const cases: [name: string, request: string, status: string, isOpen: boolean][] = [
    ['a plain request', raw(P, H, L, '', 'hi'), '200', true],
    ['a chunked request', raw(P, H, chunked, '', chunk), '200', true],
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
    ['Content-Length and chunked', raw(P, H, L, chunked, '', chunk), '400', false],
    ['xchunked', raw(P, H, 'Transfer-Encoding: xchunked', '', chunk), '400', false],
    ['gzip, chunked', raw(P, H, 'Transfer-Encoding: gzip, chunked', '', chunk), '400', false],
    ['chunked, gzip', raw(P, H, 'Transfer-Encoding: chunked, gzip', '', chunk), '400', false],
    ['an empty coding', raw(P, H, 'Transfer-Encoding: ', chunked, '', chunk), '400', false],
    ['identity', raw(P, H, 'Transfer-Encoding: identity', '', ''), '400', false],
    ['chunked twice', raw(P, H, chunked, chunked, '', chunk), '400', false],
    ['two Hosts', raw(P, H, H, L, '', 'hi'), '400', false],
    ['two Hosts on a preflight', raw('OPTIONS /t HTTP/1.1', H, H, '', ''), '400', false],
    ['two Hosts on an unknown path', raw('GET /a/b HTTP/1.1', H, H, '', ''), '400', false],
    ['no Host', raw(P, L, '', 'hi'), '400', false],
    ['an unknown path', raw('GET /a/b HTTP/1.1', H, '', ''), '404', true],
    ['another method', raw('GET /t HTTP/1.1', H, '', ''), '405', true],
    ['an unknown method', raw('BREW /t HTTP/1.1', H, '', ''), '405', true],
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
      t.equal(statusOf(received), expected, received)
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
    await exchange(port, raw('POST /a/b HTTP/1.1', H, L, '', 'hi')),
    /404 Not Found[^]*\{"error":\{"message":"Not found"\}\}$/,
  )
})

t.test('preflights are answered on any path', async t => {
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

t.test('a slash at the end of a path makes no difference', async t => {
  const seen: string[] = []
  const route = (pattern: string): Partial<Route> => ({
    pattern,
    open: request => void seen.push(`${pattern} ${request.path}`),
  })
  const { port } = await openTestServer(
    t,
    [
      route('/:token'),
      route('/relay'),
      route('/:token/relay'),
      { method: 'GET', pattern: '/health', bodyBytesMax: 0 },
    ],
    {
      sockets: [
        {
          pattern: '/:token',
          frameBytesMax: 1_000,
          open: request => void seen.push(request.path),
          onOpen() {},
          onMessage: (_, socket, message) => void socket.send(Buffer.from(message)),
          onClose() {},
        },
      ],
    },
  )
  for (const [path, expected] of [
    ['/t', '/:token /t'],
    ['/t/', '/:token /t/'],
    ['/relay/', '/relay /relay/'],
    ['/t/relay/', '/:token/relay /t/relay/'],
    ['/t/relay/?api-key=x', '/:token/relay /t/relay/'],
  ] as const) {
    t.equal(statusOf(await exchange(port, post(path, 'hi'))), '200', path)
    t.strictSame(seen.splice(0), [expected])
  }
  for (const [request, status] of [
    ['GET /health/ HTTP/1.1\r\nHost: a\r\n\r\n', '200'],
    ['GET /relay/ HTTP/1.1\r\nHost: a\r\n\r\n', '405'],
    ['GET /relay// HTTP/1.1\r\nHost: a\r\n\r\n', '404'],
  ] as const)
    t.equal(statusOf(await exchange(port, request)), status, request)
  const socket = await openSocket(port, { path: '/t/' })
  socket.send('hi')
  t.equal(await socket.next(), 'hi')
  t.strictSame(seen, ['/t/'])
  socket.destroy()
})
