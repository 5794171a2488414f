import t, { type Test } from 'tap'
import type { Route } from '../../../src/shared/http.js'
import type { Options } from '../../../src/server/options.js'
import { UnreadReplyDetector } from '../../../src/server/http/unread-reply-detector.js'
import { openTestServer, post, text } from '../../fixtures/server/server.js'
import { dial } from '../../fixtures/server/transport.js'

const MIB = 1024 ** 2

/** Bytes of a reply whose requests are floods: a body, or only a head. */
const BODY_BYTES = 20_000
const HEAD_BYTES = 350

/** A client that pipelines requests and never reads. */
const flood = async (
  t: Test,
  options: Partial<Options>,
  request = post('/t', 'x'),
  replyBytes = BODY_BYTES,
) => {
  const body = 'x'.repeat(BODY_BYTES)
  const routes: Partial<Route>[] = [
    { handle: () => text(body) },
    { method: 'GET', pattern: '/empty', bodyBytesMax: 0, handle: () => text('') },
  ]
  const { port, server, lines } = await openTestServer(t, routes, { options })
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
  const { requestsCount, unreadCount } = server.stats()
  const mib = (requestsCount * replyBytes) / MIB
  t.ok(mib < 60, `closed after ${requestsCount} replies, ${mib.toFixed(0)} MiB`)
  t.ok(process.memoryUsage.rss() - before < 150e6)
  return { logged: lines.join(''), unreadCount }
}

t.test('a client that pipelines requests and never reads is disconnected', async t => {
  await flood(t, {})
})

t.test('so is one whose replies have no body', async t => {
  const floods = ['HEAD /empty', 'OPTIONS /t', 'GET /empty'].map(first =>
    flood(t, {}, `${first} HTTP/1.1\r\nHost: a\r\n\r\n`, HEAD_BYTES),
  )
  await Promise.all(floods)
})

t.test('one reply per this many bytes is a probe, and failed probes are bounded by address', t => {
  let nowMs = 0
  const detector = new UnreadReplyDetector(
    { unreadProbeBytes: 100, unreadProbesMax: 2, unreadForgetMs: 1_000 },
    () => nowMs,
  )
  const probes = Array.from({ length: 8 }, () => detector.countReply(30))
  t.strictSame(probes, [false, false, false, true, false, false, false, true])
  t.strictSame(
    [detector.recordUnread('a'), detector.recordUnread('a'), detector.recordUnread('b')],
    [false, false, false],
  )
  t.equal(detector.recordUnread('a'), true)
  nowMs = 1_000
  t.equal(detector.recordUnread('a'), false, 'failed probes are forgotten')
  t.end()
})
