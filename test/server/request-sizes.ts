// Requests over a limit, and clients that send on while they are refused.
import http from 'node:http'
import net from 'node:net'
import t from 'tap'
import { request } from 'undici'
import { connect, exchange, openTestServer, post, statusOf } from '../fixtures/server/server.js'

t.test('clients that send a body over the bound read the 413', async t => {
  const { port } = await openTestServer(t, [{}])
  const url = `http://127.0.0.1:${port}/t`
  const body = Buffer.alloc(30_000_000)
  const byHttp = (isChunked: boolean): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const request = http.request(url, { method: 'POST', agent: false })
      request.on('response', response => resolve(response.resume().statusCode))
      request.on('error', reject)
      if (!isChunked) request.setHeader('content-length', body.length)
      request.end(body)
    })
  for (let round = 0; round < 10; round++) {
    t.equal(await byHttp(false), 413, 'http')
    t.equal(await byHttp(true), 413, 'http, chunked')
    const fetched = await fetch(url, { method: 'POST', body })
    t.equal(fetched.status, 413, 'fetch')
    t.match(await fetched.text(), 'Body exceeds 1000 bytes')
    const undici = await request(url, { method: 'POST', body })
    t.equal(undici.statusCode, 413, 'undici')
    t.match(await undici.body.text(), 'Body exceeds 1000 bytes')
  }
})

t.test('the rest of a refused body is bounded', async t => {
  const { port } = await openTestServer(t, [{}], { options: { lingerBytesMax: 1_000_000 } })
  const claiming = await connect(port)
  claiming.socket.write('POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 1000001\r\n\r\n')
  await claiming.closed
  t.equal(statusOf(claiming.received()), '413')
  const endless = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const closed = new Promise(resolve => endless.once('close', resolve))
  endless.on('error', () => {}).resume()
  endless.write('POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
  const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`
  const write = (): void => {
    if (!endless.destroyed) endless.write(chunk, () => setImmediate(write))
  }
  write()
  await closed
  t.ok(endless.bytesWritten < 20_000_000, `${endless.bytesWritten} bytes were written`)
})

t.test('a path and query over 8 KiB is 414', async t => {
  const { port } = await openTestServer(t, [{ pattern: '/:token' }])
  const urlOf = (length: number, query: string): string => `/${'a'.repeat(length - 1)}${query}`
  for (const [length, query, expected] of [
    [8_192, '', '200'],
    [8_193, '', '414'],
    [8_000, `?${'b'.repeat(191)}`, '200'],
    [8_000, `?${'b'.repeat(193)}`, '414'],
  ] as const) {
    const received = await exchange(port, post(urlOf(length, query), 'x'))
    t.equal(statusOf(received), expected, `${length + query.length} bytes`)
    if (expected === '414') t.match(received, 'The path and query exceed 8192 bytes')
  }
})
