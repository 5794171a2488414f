import t, { type Test } from 'tap'
import type { Route } from '../../src/shared/http.js'
import { openTestServer, post, text } from '../fixtures/server/server.js'
import { dial } from '../fixtures/server/transport.js'

const MIB = 1024 ** 2

/** Bytes of a reply whose requests are floods: a body, or only a head. */
const BODY_BYTES = 20_000
const HEAD_BYTES = 350

/** A client that pipelines requests and never reads. */
const flood = async (t: Test, request = post('/t', 'x'), replyBytes = BODY_BYTES) => {
  const body = 'x'.repeat(BODY_BYTES)
  const routes: Partial<Route>[] = [
    { handle: () => text(body) },
    { method: 'GET', pattern: '/empty', bodyBytesMax: 0, handle: () => text('') },
  ]
  const { port, server } = await openTestServer(t, routes)
  const socket = dial({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  socket.pause()
  const closed = new Promise(resolve => socket.once('close', resolve))
  const before = process.memoryUsage.rss()
  const batch = Buffer.from(request.repeat(1_000))
  // Bounded by the socket's own buffer: this process has both ends, and its memory is measured.
  const timer = setInterval(() => {
    if (!socket.destroyed && !socket.writableNeedDrain) socket.write(batch)
  }, 5)
  await closed
  clearInterval(timer)
  const { requestsCount } = server.stats()
  const mib = (requestsCount * replyBytes) / MIB
  t.ok(mib < 60, `closed after ${requestsCount} replies, ${mib.toFixed(0)} MiB`)
  t.ok(process.memoryUsage.rss() - before < 150e6)
}

t.test('a client that pipelines requests and never reads is disconnected', async t => {
  await flood(t)
})

t.test('so is one whose replies have no body', async t => {
  const floods = ['HEAD /empty', 'OPTIONS /t', 'GET /empty'].map(first =>
    flood(t, `${first} HTTP/1.1\r\nHost: a\r\n\r\n`, HEAD_BYTES),
  )
  await Promise.all(floods)
})
