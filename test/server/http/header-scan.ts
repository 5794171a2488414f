import t from 'tap'
import type { HttpRequest } from 'uWebSockets.js'
import { HeaderScan } from '../../../src/server/http/header-scan.js'
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

t.test('the words of a header decide, not their number', t => {
  const headers = (lines: readonly [name: string, value: string][]): HttpRequest =>
    ({
      forEach: (visit: (name: string, value: string) => void) =>
        lines.forEach(line => visit(...line)),
    }) as HttpRequest
  const host: [string, string] = ['host', 'a']
  const scan = new HeaderScan()
  t.equal(scan.scan(headers([host, ['content-length', '5'], ['content-type', 'a/b']])), true)
  t.match(scan, { contentLength: 5, contentType: 'a/b', isChunked: false })
  t.equal(scan.scan(headers([host])), true)
  t.match(
    scan,
    { contentLength: undefined, contentType: '', isChunked: false },
    'nothing is left of the last',
  )
  t.equal(scan.scan(headers([host, ['x-content-length', ''], ['hosts', 'b']])), true)
  t.equal(scan.scan(headers([host, ['transfer-encoding', 'chunked']])), true)
  t.equal(scan.isChunked, true)
  t.equal(
    scan.scan(headers([host, ['transfer-encoding', 'chunked'], ['transfer-encoding', 'gzip']])),
    false,
  )
  t.equal(scan.scan(headers([])), false)
  t.end()
})
