import t from 'tap'
import { connect, exchange, openTestServer, post, text } from '../../fixtures/server/server.js'

t.test('status and headers are written as expected', async t => {
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
      'Access-Control-Allow-Origin: *',
      'Access-Control-Expose-Headers: Retry-After, X-Bundle-ID, X-Relay-Submission-ID, X-Lander-Findings, X-Race-Lanes, X-RateLimit-Method-Limit, X-RateLimit-Method-Remaining',
      'Retry-After: 1',
      'X-Bundle-ID: b',
      'Keep-Alive: timeout=75',
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
