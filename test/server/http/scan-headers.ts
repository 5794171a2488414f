import t from 'tap'
import { HttpRequest } from '../../../src/server/compiled/request.js'
import { scanHeaders } from '../../../src/server/http/scan-headers.js'
import { connect, openTestServer, post, statusOf } from '../../fixtures/server/server.js'

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
    t.ok(['400', ''].includes(statusOf(connection.received())))
  }
  t.strictSame(paths, [])
})

const requestOf = (...lines: [name: string, value: string][]): HttpRequest =>
  new HttpRequest(['POST', '/t', '', '1.1', ...lines.flat()].join('\n'))

t.test('ambiguous headers are not well-formed', t => {
  const host: [string, string] = ['host', 'a']
  const chunked: [string, string] = ['transfer-encoding', 'chunked']
  t.match(scanHeaders(requestOf(host, ['content-length', '5'], ['content-type', 'a/b'])), {
    isWellFormed: true,
    contentLength: 5,
    contentType: 'a/b',
    isChunked: false,
  })
  t.match(scanHeaders(requestOf(host)), {
    isWellFormed: true,
    contentLength: undefined,
    contentType: '',
    isForwarded: false,
  })
  t.match(scanHeaders(requestOf(host, chunked)), { isWellFormed: true, isChunked: true })
  t.equal(scanHeaders(requestOf(host, ['x-content-length', ''], ['hosts', 'b'])).isWellFormed, true)
  const refused: [string, string][][] = [
    [],
    [host, host],
    [host, chunked, ['transfer-encoding', 'gzip']],
    [host, ['content-length', '']],
    [host, ['content-length', '5x']],
    [host, ['content-length', '5'], ['content-length', '5']],
  ]
  for (const lines of refused)
    t.equal(scanHeaders(requestOf(...lines)).isWellFormed, false, JSON.stringify(lines))
  t.end()
})
